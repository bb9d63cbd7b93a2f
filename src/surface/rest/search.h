// The native search door: POST and GET /v1/search. Parses, calls web::Search, renders.
#pragma once

#include "access/access.h"
#include "base/clock.h"
#include "base/result.h"
#include "io/http_message.h"
#include "web/search.h"
#include "web/types.h"

#include <string>

namespace sluice::surface {

class SearchDoor {
 public:
    // References outlive it.
    SearchDoor(web::Search& search, access::Access& access, const Clock& clock);

    // Any thread. 200 with the answer, or a problem as surface/common/errors.h has it: 415 when the
    // body says that it is not JSON, 406 when Accept rules JSON out, 400 when the request is not
    // valid, and what web::Search::answer() fails with. With `explain` in the request the answer is
    // what would be done instead.
    io::HttpReply post(const io::HttpRequest& request);
    // The same by query string.
    io::HttpReply get(const io::HttpRequest& request);

 private:
    io::HttpReply explain(web::SearchRequest parsed, const io::HttpRequest& request);
    io::HttpReply serve(Result<web::SearchRequest> parsed, const io::HttpRequest& request);

    web::Search& search_;
    access::Access& access_;
    const Clock& clock_;
};

// The part of an answer's body that every request shares, without the brace that opens it:
// `"object":"search","query":...}` and a line break. Any thread.
std::string render_shared(const web::SearchAnswer& answer);

}  // namespace sluice::surface
