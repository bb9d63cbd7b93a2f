// Title search for programs: GET /v1/pages/search?q=. The same steps as the page at /search, with
// windows of its own.
#pragma once

#include "access/access.h"
#include "io/http_message.h"
#include "surface/common/router.h"
#include "titles/search.h"

#include <string>
#include <vector>

namespace sluice::surface {

inline constexpr std::string_view kPageSearchPath = "/v1/pages/search";

// Any thread. Needs the scope search. 200 {"query", "total_matched", "truncated", "results":
// [{"id", "title", "slug", "score", "updated_at"}]}, the best first, scores to six decimals;
// refusals are problems as surface/common/errors.h has them.
class PageSearchDoor {
 public:
    // References outlive it.
    PageSearchDoor(titles::TitleSearch& search, access::Access& access);

    io::HttpReply get(const io::HttpRequest& request);

 private:
    titles::TitleSearch& search_;
    access::Access& access_;
};

// The routes of this door, which outlives them.
std::vector<Route> page_search_routes(PageSearchDoor& door);

// The body of a search that found something, or nothing.
std::string render_title_hits(const titles::TitleAnswer& answer);

}  // namespace sluice::surface
