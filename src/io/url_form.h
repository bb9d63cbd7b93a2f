// Whether text has the form of what calls go to or through. Called on any thread.
#pragma once

#include <string_view>

namespace sluice::io {

// http:// or https://, perhaps user and password, a host, perhaps a port from 1 to 65535, a path
// and a query: ASCII without blanks and control characters, every % before two hexadecimal digits.
bool is_http_url(std::string_view url);

// "8080": from 1 to 65535.
bool is_port(std::string_view text);

// Whether every % is followed by two hexadecimal digits.
bool has_whole_escapes(std::string_view text);

}  // namespace sluice::io
