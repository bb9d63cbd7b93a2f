// Answers that several doors give alike.
#pragma once

#include "base/result.h"
#include "io/http_message.h"

#include <optional>
#include <string>
#include <string_view>

namespace sluice::surface {

// Of an answer to one reader, in whatever form: refusals of every kind, and pages that only who
// asked may see. Nobody keeps it, no search engine lists it, and no other site learns of it.
inline constexpr std::string_view kPrivateHeaders =
    "Cache-Control: private, no-store\r\nReferrer-Policy: no-referrer\r\n"
    "X-Robots-Tag: noindex\r\n";

// Of an answer of the API that belongs to its request alone: proxies must not keep it.
inline constexpr std::string_view kJsonHeaders =
    "Content-Type: application/json\r\nCache-Control: no-store\r\n";

// 200 with `body`, which is one JSON value, and a line break.
io::HttpResponse json_response(std::string body);

// Nothing when the body of `request` may be JSON: it says so, or says nothing about it.
std::optional<Error> check_json_body(const io::HttpRequest& request);

// A name from the wire in quotes, cut and cleaned so that a message can show it.
std::string shown_name(std::string_view name);

// kInvalidRequest, the caller's to mend; `message` says which field and what was expected.
Error invalid_request(std::string message);

}  // namespace sluice::surface
