#include "surface/common/responses.h"

#include <utility>

namespace sluice::surface {

io::HttpResponse json_response(std::string body) {
    io::HttpResponse response;
    response.headers = kJsonHeaders;
    response.lead = std::move(body);
    response.lead += '\n';
    return response;
}

Error invalid_request(std::string message) {
    return Error{Code::kInvalidRequest, Blame::kCaller, std::move(message), {}};
}

}  // namespace sluice::surface
