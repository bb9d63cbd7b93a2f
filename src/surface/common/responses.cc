#include "surface/common/responses.h"

#include "base/text.h"

#include <utility>

namespace sluice::surface {

io::HttpResponse json_response(std::string body) {
    io::HttpResponse response;
    response.headers = kJsonHeaders;
    response.lead = std::move(body);
    response.lead += '\n';
    return response;
}

std::optional<Error> check_json_body(const io::HttpRequest& request) {
    const auto header = request.header("Content-Type");
    if (!header || header->empty()) {
        return std::nullopt;
    }
    const std::string type = to_lower(trim(header->substr(0, header->find(';'))));
    if (type == "application/json" || type == "text/json" ||
        (type.starts_with("application/") && type.ends_with("+json"))) {
        return std::nullopt;
    }
    return Error{Code::kUnsupportedMediaType,
                 Blame::kCaller,
                 "the body must be JSON; send the header 'Content-Type: application/json'",
                 {}};
}

std::string shown_name(std::string_view name) {
    constexpr std::size_t kMaxShownBytes = 40;
    std::string text;
    for (char c : name.substr(0, kMaxShownBytes)) {
        text.push_back(c >= 0x20 && c < 0x7f && c != '\'' ? c : '?');
    }
    return "'" + text + "'";
}

Error invalid_request(std::string message) {
    return Error{Code::kInvalidRequest, Blame::kCaller, std::move(message), {}};
}

}  // namespace sluice::surface
