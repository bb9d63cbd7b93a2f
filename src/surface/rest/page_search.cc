#include "surface/rest/page_search.h"

#include "base/json.h"
#include "base/rfc3339.h"
#include "surface/common/errors.h"
#include "surface/common/responses.h"
#include "surface/common/title_answers.h"

#include <cmath>
#include <string>
#include <utility>

namespace sluice::surface {

namespace {

// To six decimals: what comes after them is not of the score but of how it was computed, and would
// differ from program to program.
double shown(double score) {
    constexpr double kParts = 1e6;
    return std::round(score * kParts) / kParts;
}

Task<io::HttpResponse> finish(Task<titles::TitleAnswer> work, RequestId id) {
    const titles::TitleAnswer answer = co_await std::move(work);
    const std::optional<Error> error = error_of(answer);
    io::HttpResponse response =
        error ? problem(*error, id) : json_response(render_title_hits(answer));
    append_rate_limit(response.headers, answer);
    co_return response;
}

}  // namespace

PageSearchDoor::PageSearchDoor(titles::TitleSearch& search, access::Access& access)
    : search_(search), access_(access) {}

io::HttpReply PageSearchDoor::get(const io::HttpRequest& request) {
    const auto caller = access_.identify(access_.credentials_of(request), access::Scope::kSearch);
    if (!caller.ok()) {
        return problem(caller.error(), request.context.id);
    }
    return finish(search_.answer(title_request(request, titles::BudgetKind::kApi)),
                  request.context.id);
}

std::vector<Route> page_search_routes(PageSearchDoor& door) {
    return {{io::Method::kGet, std::string(kPageSearchPath),
             [&](const io::HttpRequest& r) { return door.get(r); }}};
}

std::string render_title_hits(const titles::TitleAnswer& answer) {
    std::string body;
    JsonWriter json(body);
    json.begin_object();
    json.field("query", answer.query.display.reveal());
    json.field("total_matched", answer.total_matched);
    json.field("truncated", answer.is_truncated);
    json.key("results").begin_array();
    for (const titles::TitleHit& hit : answer.hits) {
        json.begin_object();
        json.field("id", hit.page->id).field("title", hit.page->title);
        json.field("slug", hit.page->slug).field("score", shown(hit.score));
        json.field("updated_at", rfc3339(hit.page->updated_at)).end_object();
    }
    json.end_array().end_object();
    return body;
}

}  // namespace sluice::surface
