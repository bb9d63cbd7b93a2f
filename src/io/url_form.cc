#include "io/url_form.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>

namespace sluice::io {

namespace {

bool is_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool is_visible(char c) {
    return c > 0x20 && c < 0x7F;
}

// "example.org", "example.org:8080", "[::1]:8080".
bool is_host_and_port(std::string_view text) {
    std::size_t host_end = text.find(':');
    if (text.starts_with('[')) {
        const std::size_t close = text.find(']');
        host_end = close == std::string_view::npos ? 0 : close + 1;
    }
    const std::string_view host = text.substr(0, host_end);
    const std::string_view rest = text.substr(host.size());
    return !host.empty() && host != "[]" &&
           (rest.empty() || (rest.starts_with(':') && is_port(rest.substr(1))));
}

}  // namespace

bool is_port(std::string_view text) {
    std::uint16_t port = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, port);
    return error == std::errc() && stop == end && port != 0;
}

bool has_whole_escapes(std::string_view text) {
    for (std::size_t at = text.find('%'); at != std::string_view::npos;
         at = text.find('%', at + 1)) {
        if (at + 2 >= text.size() || !is_hex(text[at + 1]) || !is_hex(text[at + 2])) {
            return false;
        }
    }
    return true;
}

bool is_http_url(std::string_view url) {
    const bool tls = url.starts_with("https://");
    if (!tls && !url.starts_with("http://")) {
        return false;
    }
    const std::string_view rest = url.substr(tls ? 8 : 7);
    std::string_view authority = rest.substr(0, rest.find_first_of("/?#\\"));
    if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
        authority.remove_prefix(at + 1);
    }
    return is_host_and_port(authority) && std::ranges::all_of(url, is_visible) &&
           has_whole_escapes(url);
}

}  // namespace sluice::io
