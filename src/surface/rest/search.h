// The native search door: POST and GET /v1/search. Parses, calls web::Search, renders.
#pragma once

#include "access/access.h"
#include "base/clock.h"
#include "io/http_message.h"
#include "web/search.h"

#include <memory>

namespace sluice::surface {

class SearchDoor {
 public:
    SearchDoor(web::Search& search, access::Access& access, const Clock& clock);

    // Any thread.
    io::HttpReply post(const io::HttpRequest& request);
    io::HttpReply get(const io::HttpRequest& request);

 private:
    io::HttpReply serve(Result<web::SearchRequest> parsed, const io::HttpRequest& request);

    web::Search& search_;
    access::Access& access_;
    const Clock& clock_;
};

// The part of an answer's body that every request shares: `"object":"search","query":...}`.
std::string render_shared(const web::SearchAnswer& answer);

}  // namespace sluice::surface
