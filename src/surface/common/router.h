// Paths to doors. The one io::HttpHandler of the program: finds the route, answers OPTIONS, 404 and
// 405, adds the headers that every answer carries, and gives protocol errors their body. It decides
// nothing about a request's content.
#pragma once

#include "access/access.h"
#include "base/request_context.h"
#include "base/result.h"
#include "io/http_message.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::surface {

using RouteHandler = std::function<io::HttpReply(const io::HttpRequest&)>;
// A refusal as a page for people. Any thread.
using RefusalPage = std::function<io::HttpResponse(const io::HttpRequest&, const Error&)>;

struct Route {
    io::Method method;  // a kGet route answers HEAD too
    std::string path;   // "/v1/search"; a segment "{id}" stands for any that is not empty
    RouteHandler handler;
    bool admin_socket_only = false;  // elsewhere there is nothing at this path
    bool takes_form = false;         // a form that anybody may send, not JSON
    bool is_page = false;            // for people, who may type a slash at its end
};

// What stands in `path` for the one segment in braces of `pattern`, still percent-encoded; nothing
// when the path is not of that form.
std::optional<std::string_view> path_parameter(std::string_view pattern, std::string_view path);

// Immutable after construction; called on any thread.
class Router final : public io::HttpHandler {
 public:
    // `access` outlives it. Routes of one path have different methods and the same
    // admin_socket_only (asserted). `refusal_page` is empty where there are no pages for people.
    Router(std::vector<Route> routes, access::Access& access, RefusalPage refusal_page = {});

    // What the route's handler answers, or 204 to OPTIONS, 404 where there is no such path, 405
    // with Allow where the path takes other methods: as a page to whoever prefers one
    // (surface/common/accepts.h), as a problem to everybody else. A page with a slash too many is
    // a 308 to the page.
    io::HttpReply handle(const io::HttpRequest& request) override;
    // What needs no body to be refused: 404, 405, 415, and callers whom no door that reads a body
    // would let in.
    std::optional<io::HttpResponse> refuse_head(const io::HttpRequest& request) override;
    io::HttpResponse refuse(const Error& error, const RequestId& id) override;

 private:
    struct Endpoint {
        std::vector<Route> routes;  // one per method
        std::string allow;          // "GET, HEAD, OPTIONS, POST"
        bool admin_socket_only = false;

        const Route* route_for(io::Method method) const;
    };

    const Endpoint* find(std::string_view path) const;
    const Endpoint* visible(const io::HttpRequest& request) const;
    io::HttpResponse refused(const io::HttpRequest& request, const Error& error) const;
    io::HttpResponse not_found(const io::HttpRequest& request) const;
    std::string_view cors_origin_of(const io::HttpRequest& request) const;
    io::HttpReply dispatch(const Endpoint& endpoint, const io::HttpRequest& request);

    std::map<std::string, Endpoint, std::less<>> endpoints_;
    std::vector<std::string> patterns_;  // the paths in it that have a parameter
    access::Access& access_;
    const RefusalPage refusal_page_;
};

}  // namespace sluice::surface
