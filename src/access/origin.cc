#include "access/origin.h"

#include "base/text.h"

#include <algorithm>
#include <charconv>

namespace sluice::access {

namespace {

bool is_letter_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// Underscores are no letters of host names, but containers and Windows machines have them.
bool is_name(std::string_view text) {
    constexpr std::size_t kMaxNameBytes = 253;  // RFC 1035 section 2.3.4, as text
    const bool empty_label =
        text.starts_with('.') || text.ends_with('.') || text.find("..") != std::string_view::npos;
    return !text.empty() && text.size() <= kMaxNameBytes && !empty_label &&
           std::all_of(text.begin(), text.end(), [](char c) {
               return is_letter_or_digit(c) || c == '-' || c == '.' || c == '_';
           });
}

std::string_view without_final_dot(std::string_view name) {
    return name.ends_with('.') ? name.substr(0, name.size() - 1) : name;
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
    std::uint16_t port = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, port);
    if (error != std::errc() || stop != end) {
        return std::nullopt;
    }
    return port;
}

bool is_ipv6(std::string_view text) {
    return text.find(':') != std::string_view::npos && io::Address::parse(text).has_value();
}

std::optional<std::uint16_t> default_port(std::string_view scheme) {
    if (equals_ignoring_case(scheme, "http")) {
        return 80;
    }
    if (equals_ignoring_case(scheme, "https")) {
        return 443;
    }
    return std::nullopt;
}

// "[::1]" -> "::1"; everything else as it is.
std::string_view without_brackets(std::string_view host) {
    const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
    return bracketed ? host.substr(1, host.size() - 2) : host;
}

bool same_host(std::string_view a, std::string_view b) {
    if (equals_ignoring_case(a, b)) {
        return true;
    }
    const auto address = io::Address::parse(a);
    return address && address == io::Address::parse(b);
}

}  // namespace

std::optional<HostPort> parse_host(std::string_view text) {
    std::string_view host = text;
    std::string_view rest;
    if (text.starts_with('[')) {
        const std::size_t close = text.find(']');
        if (close == std::string_view::npos) {
            return std::nullopt;
        }
        host = text.substr(1, close - 1);
        rest = text.substr(close + 1);
        if (!is_ipv6(host)) {
            return std::nullopt;
        }
    } else {
        const std::size_t colon = std::min(text.find(':'), text.size());
        host = without_final_dot(text.substr(0, colon));
        rest = text.substr(colon);
        if (!is_name(host)) {
            return std::nullopt;
        }
    }
    if (rest.empty()) {
        return HostPort{host, std::nullopt};
    }
    const auto port = rest.front() == ':' ? parse_port(rest.substr(1)) : std::nullopt;
    if (!port) {
        return std::nullopt;
    }
    return HostPort{host, port};
}

std::optional<Origin> parse_origin(std::string_view text) {
    constexpr std::string_view kSeparator = "://";
    const std::size_t end = text.find(kSeparator);
    if (end == std::string_view::npos || end == 0) {
        return std::nullopt;
    }
    const std::string_view scheme = text.substr(0, end);
    const bool plain = std::all_of(scheme.begin(), scheme.end(), [](char c) {
        return is_letter_or_digit(c) || c == '+' || c == '-' || c == '.';
    });
    const auto host = parse_host(text.substr(end + kSeparator.size()));
    if (!plain || !host) {
        return std::nullopt;
    }
    return Origin{scheme, host->host, host->port ? host->port : default_port(scheme)};
}

bool same_origin(const Origin& a, const Origin& b) {
    return equals_ignoring_case(a.scheme, b.scheme) && same_host(a.host, b.host) &&
           a.port == b.port;
}

bool is_origin_of(const Origin& origin, const HostPort& host) {
    const auto port = host.port ? host.port : default_port(origin.scheme);
    return same_host(origin.host, host.host) && origin.port == port;
}

bool is_loopback_name(std::string_view host) {
    constexpr std::string_view kLocalhost = "localhost";
    if (equals_ignoring_case(host, kLocalhost)) {
        return true;
    }
    constexpr std::string_view kBelowLocalhost = ".localhost";
    if (host.size() > kBelowLocalhost.size() &&
        equals_ignoring_case(host.substr(host.size() - kBelowLocalhost.size()), kBelowLocalhost)) {
        return true;
    }
    const auto address = io::Address::parse(host);
    return address && address->is_loopback();
}

HostList::HostList(const std::vector<std::string>& hosts) {
    for (const std::string& host : hosts) {
        const std::string_view bare = without_brackets(host);
        if (const auto address = io::Address::parse(bare)) {
            const bool wildcard = std::all_of(address->bytes.begin(), address->bytes.end(),
                                              [](std::uint8_t byte) { return byte == 0; });
            if (!wildcard) {
                addresses_.push_back(*address);
            }
        } else if (is_host(host)) {
            names_.emplace_back(without_final_dot(bare));
        }
    }
}

bool HostList::contains(std::string_view host) const {
    // A handful of entries: looking through them is quicker than hashing.
    if (const auto address = io::Address::parse(host)) {
        return std::find(addresses_.begin(), addresses_.end(), *address) != addresses_.end();
    }
    return std::any_of(names_.begin(), names_.end(), [host](const std::string& name) {
        return equals_ignoring_case(name, host);
    });
}

bool HostList::is_host(std::string_view text) {
    return is_name(without_final_dot(text)) || is_ipv6(without_brackets(text));
}

}  // namespace sluice::access
