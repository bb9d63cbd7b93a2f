#include "surface/common/router.h"

#include "base/text.h"
#include "surface/common/accepts.h"
#include "surface/common/errors.h"
#include "surface/common/responses.h"

#include <algorithm>
#include <set>
#include <utility>

namespace sluice::surface {

namespace {

void add_common_headers(io::HttpResponse& response, std::string_view cors_origin) {
    response.headers += "X-Content-Type-Options: nosniff\r\n";
    if (!cors_origin.empty()) {
        response.headers.append("Access-Control-Allow-Origin: ").append(cors_origin);
        response.headers +=
            "\r\nVary: Origin\r\nAccess-Control-Expose-Headers: Retry-After, "
            "X-Request-Id\r\n";
    }
}

Task<io::HttpResponse> with_common_headers(Task<io::HttpResponse> task, std::string cors_origin) {
    io::HttpResponse response = co_await std::move(task);
    add_common_headers(response, cors_origin);
    co_return response;
}

// Not kept: what is at a path may change. A query may be what somebody searches for.
io::HttpResponse moved_to(std::string_view path, std::string_view query) {
    io::HttpResponse response;
    response.status = 308;
    response.headers.append("Location: ").append(path);
    if (!query.empty()) {
        response.headers.append("?").append(query);
    }
    response.headers.append("\r\n").append(kPrivateHeaders);
    return response;
}

}  // namespace

std::optional<std::string_view> path_parameter(std::string_view pattern, std::string_view path) {
    const std::size_t open = pattern.find('{');
    const std::size_t close = pattern.find('}');
    SLUICE_ASSERT(open != std::string_view::npos && close != std::string_view::npos);
    const std::string_view before = pattern.substr(0, open);
    const std::string_view after = pattern.substr(close + 1);
    if (path.size() <= before.size() + after.size() || !path.starts_with(before) ||
        !path.ends_with(after)) {
        return std::nullopt;
    }
    const std::string_view value =
        path.substr(before.size(), path.size() - before.size() - after.size());
    return value.find('/') == std::string_view::npos ? std::optional(value) : std::nullopt;
}

Router::Router(std::vector<Route> routes, access::Access& access, RefusalPage refusal_page)
    : access_(access), refusal_page_(std::move(refusal_page)) {
    for (Route& route : routes) {
        const auto [found, added] = endpoints_.try_emplace(route.path);
        Endpoint& endpoint = found->second;
        SLUICE_ASSERT(added || endpoint.admin_socket_only == route.admin_socket_only);
        endpoint.admin_socket_only = route.admin_socket_only;
        endpoint.routes.push_back(std::move(route));
    }
    for (auto& [path, endpoint] : endpoints_) {
        if (path.find('{') != std::string::npos) {
            patterns_.push_back(path);
        }
        std::set<std::string_view> methods = {"OPTIONS"};
        for (const Route& route : endpoint.routes) {
            methods.insert(to_string(route.method));
            if (route.method == io::Method::kGet) {
                methods.insert("HEAD");
            }
        }
        for (std::string_view method : methods) {
            endpoint.allow.append(endpoint.allow.empty() ? "" : ", ").append(method);
        }
    }
}

const Router::Endpoint* Router::find(std::string_view path) const {
    const auto exact = endpoints_.find(path);
    if (exact != endpoints_.end()) {
        return &exact->second;
    }
    for (const std::string& pattern : patterns_) {
        if (path_parameter(pattern, path)) {
            return &endpoints_.find(pattern)->second;
        }
    }
    return nullptr;
}

// Where `request` may go; null: for it there is nothing at its path.
const Router::Endpoint* Router::visible(const io::HttpRequest& request) const {
    const Endpoint* const found = find(request.path);
    const bool hidden = found != nullptr && found->admin_socket_only && !request.over_unix_socket;
    return hidden ? nullptr : found;
}

// The one place where it is decided what a refusal looks like that no door gave.
io::HttpResponse Router::refused(const io::HttpRequest& request, const Error& error) const {
    return refusal_page_ && prefers_html(request) ? refusal_page_(request, error)
                                                  : problem(error, request.context.id);
}

io::HttpResponse Router::not_found(const io::HttpRequest& request) const {
    const std::string_view path = request.path;
    if (path.size() > 1 && path.ends_with('/')) {
        const std::string_view shorter = path.substr(0, path.size() - 1);
        const Endpoint* const meant = find(shorter);
        const Route* const route = meant == nullptr ? nullptr : meant->route_for(request.method);
        if (route != nullptr && route->is_page &&
            std::ranges::all_of(shorter, is_printable_ascii)) {
            return moved_to(shorter, request.query);
        }
    }
    return refused(
        request,
        Error{Code::kNotFound, Blame::kCaller, "no such path; /openapi.json lists them", {}});
}

std::string_view Router::cors_origin_of(const io::HttpRequest& request) const {
    return request.header("Origin") ? access_.allowed_origin(access_.credentials_of(request))
                                    : std::string_view();
}

io::HttpReply Router::handle(const io::HttpRequest& request) {
    const Endpoint* const found = visible(request);
    if (found == nullptr) {
        io::HttpResponse response = not_found(request);
        add_common_headers(response, {});
        return response;
    }
    const std::string_view cors_origin = cors_origin_of(request);
    io::HttpReply reply = dispatch(*found, request);
    if (auto* response = std::get_if<io::HttpResponse>(&reply)) {
        add_common_headers(*response, cors_origin);
        return reply;
    }
    return with_common_headers(std::get<Task<io::HttpResponse>>(std::move(reply)),
                               std::string(cors_origin));
}

std::optional<io::HttpResponse> Router::refuse_head(const io::HttpRequest& request) {
    const Endpoint* const found = visible(request);
    const Route* const route = found == nullptr ? nullptr : found->route_for(request.method);
    if (route == nullptr) {
        return std::get<io::HttpResponse>(handle(request));  // no door is asked
    }
    if (route->method == io::Method::kGet || route->takes_form) {
        return std::nullopt;  // some take anybody, and none of those reads a large body
    }
    std::optional<Error> error = check_json_body(request);
    if (!error) {
        // The least that a door with a body asks for.
        auto caller = access_.identify(access_.credentials_of(request), access::Scope::kSearch);
        if (caller.ok()) {
            return std::nullopt;
        }
        error = std::move(caller).error();
    }
    io::HttpResponse response = problem(*error, request.context.id);
    add_common_headers(response, cors_origin_of(request));
    return response;
}

const Route* Router::Endpoint::route_for(io::Method method) const {
    const io::Method served_as = method == io::Method::kHead ? io::Method::kGet : method;
    const auto found = std::ranges::find(routes, served_as, &Route::method);
    return found == routes.end() ? nullptr : &*found;
}

io::HttpReply Router::dispatch(const Endpoint& endpoint, const io::HttpRequest& request) {
    if (const Route* const route = endpoint.route_for(request.method)) {
        return route->handler(request);
    }
    io::HttpResponse response;
    if (request.method == io::Method::kOptions) {
        response.status = 204;
        response.headers = "Allow: " + endpoint.allow +
                           "\r\nAccess-Control-Allow-Methods: " + endpoint.allow +
                           "\r\nAccess-Control-Allow-Headers: Authorization, Content-Type, "
                           "X-Api-Key, traceparent\r\nAccess-Control-Max-Age: 600\r\n";
        response.headers += kPrivateHeaders;
        return response;
    }
    response = refused(
        request,
        Error{Code::kMethodNotAllowed, Blame::kCaller, "this path takes " + endpoint.allow, {}});
    response.headers += "Allow: " + endpoint.allow + "\r\n";
    return response;
}

io::HttpResponse Router::refuse(const Error& error, const RequestId& id) {
    io::HttpResponse response = problem(error, id);
    add_common_headers(response, {});
    return response;
}

}  // namespace sluice::surface
