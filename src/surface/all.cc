#include "surface/all.h"

#include <algorithm>
#include <iterator>

namespace sluice::surface {

std::vector<Route> all_routes(SearchDoor& search, OpsDoor& ops, KeysDoor& keys, UsageDoor& usage,
                              PageAdminDoor& pages, const std::optional<TitleDoors>& titles) {
    using io::HttpRequest;
    using io::Method;
    std::vector<Route> routes = {
        {Method::kPost, "/v1/search", [&](const HttpRequest& r) { return search.post(r); }},
        {Method::kGet, "/v1/search", [&](const HttpRequest& r) { return search.get(r); }},
        {Method::kGet, "/v1/status", [&](const HttpRequest& r) { return ops.status(r); }},
        {Method::kGet, "/v1/usage", [&](const HttpRequest& r) { return usage.get(r); }},
        {Method::kGet, "/healthz", [&](const HttpRequest& r) { return ops.healthz(r); }},
        {Method::kGet, "/readyz", [&](const HttpRequest& r) { return ops.readyz(r); }},
        {Method::kGet, "/metrics", [&](const HttpRequest& r) { return ops.metrics(r); }},
        {Method::kGet, "/openapi.json", [&](const HttpRequest& r) { return ops.openapi(r); }},
        {Method::kPost, "/admin/cache/purge",
         [&](const HttpRequest& r) { return ops.purge_cache(r); }, true},
    };
    auto add = [&routes](std::vector<Route> more) {
        std::ranges::move(more, std::back_inserter(routes));
    };
    add(key_routes(keys));
    add(page_admin_routes(pages));
    if (titles) {
        add(page_search_routes(titles->programs));
        add(pages_routes(titles->people));
    }
    return routes;
}

}  // namespace sluice::surface
