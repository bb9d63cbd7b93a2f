#include "surface/all.h"

#include <utility>

namespace sluice::surface {

std::vector<Route> all_routes(SearchDoor& search, OpsDoor& ops, KeysDoor& keys, UsageDoor& usage,
                              PageAdminDoor& pages) {
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
    for (Route& route : key_routes(keys)) {
        routes.push_back(std::move(route));
    }
    for (Route& route : page_admin_routes(pages)) {
        routes.push_back(std::move(route));
    }
    return routes;
}

}  // namespace sluice::surface
