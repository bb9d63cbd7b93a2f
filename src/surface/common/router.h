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
#include <string>
#include <vector>

namespace sluice::surface {

using RouteHandler = std::function<io::HttpReply(const io::HttpRequest&)>;

struct Route {
    io::Method method;  // a kGet route answers HEAD too
    std::string path;   // exact: "/v1/search"
    RouteHandler handler;
    bool admin_socket_only = false;  // elsewhere there is nothing at this path
};

// Immutable after construction; called on any thread.
class Router final : public io::HttpHandler {
 public:
    // `access` outlives it. Routes of one path have different methods and the same
    // admin_socket_only (asserted).
    Router(std::vector<Route> routes, access::Access& access);

    // What the route's handler answers, or 204 to OPTIONS, 404 (a problem) where there is no such
    // path, 405 with Allow where the path takes other methods.
    io::HttpReply handle(const io::HttpRequest& request) override;
    io::HttpResponse refuse(const Error& error, const RequestId& id) override;

 private:
    struct Endpoint {
        std::vector<Route> routes;  // one per method
        std::string allow;          // "GET, HEAD, OPTIONS, POST"
        bool admin_socket_only = false;
    };

    io::HttpReply dispatch(const Endpoint& endpoint, const io::HttpRequest& request);

    std::map<std::string, Endpoint, std::less<>> endpoints_;
    access::Access& access_;
};

}  // namespace sluice::surface
