#include "web/host.h"

#include "base/ascii.h"
#include "base/text.h"
#include "io/address.h"

#include <algorithm>
#include <charconv>
#include <idn2.h>
#include <memory>

namespace sluice::web {
namespace {

constexpr std::size_t kMaxLabelBytes = 63;
// Of a host as it is spelled: every byte of the longest one percent-encoded, and some that vanish.
constexpr std::size_t kMaxSpelledBytes = 4 * kMaxHostBytes;

constexpr bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

constexpr bool is_label_byte(char c) {
    return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_';
}

std::string_view last_label(std::string_view host) {
    return host.substr(host.rfind('.') + 1);
}

// Browsers take a host for an IPv4 address when its last label is a number, "0x7f" included.
bool ends_in_number(std::string_view host) {
    const std::string_view last = last_label(host);
    return std::ranges::all_of(last, is_digit) ||
           (last.starts_with("0x") && last.find_first_not_of("0123456789abcdef", 2) == last.npos);
}

bool has_labels(std::string_view host) {
    while (true) {
        const std::string_view label = host.substr(0, host.find('.'));
        if (label.empty() || label.size() > kMaxLabelBytes ||
            !std::ranges::all_of(label, is_label_byte)) {
            return false;
        }
        if (label.size() == host.size()) {
            return true;
        }
        host.remove_prefix(label.size() + 1);
    }
}

// Whether `host` is a name or IPv4 address in its one spelling already.
bool is_normal(std::string_view host) {
    return host.size() <= kMaxHostBytes && has_labels(host) &&
           (!ends_in_number(host) || io::Address::parse(host).has_value());
}

// The dots of other scripts (UTS 46) as the one of ASCII.
std::string with_plain_dots(std::string host) {
    for (const std::string_view dot : {"\u3002", "\uFF0E", "\uFF61"}) {
        for (auto at = host.find(dot); at != host.npos; at = host.find(dot, at + 1)) {
            host.replace(at, dot.size(), ".");
        }
    }
    return host;
}

struct FreeIdn {
    void operator()(char* text) const { idn2_free(text); }
};

// "münchen" -> "xn--mnchen-3ya". Labels in ASCII are what they are, those in "xn--" included.
std::optional<std::string> ascii_label(std::string_view label) {
    if (is_ascii(label)) {
        return to_lower(label);
    }
    char* found = nullptr;
    const int error = idn2_to_ascii_8z(std::string(label).c_str(), &found, IDN2_NONTRANSITIONAL);
    const std::unique_ptr<char, FreeIdn> ascii(found);
    if (error != IDN2_OK) {
        return std::nullopt;
    }
    return std::string(ascii.get());
}

std::optional<std::string> ascii_name(std::string_view name) {
    std::string out;
    while (true) {
        const std::string_view label = name.substr(0, name.find('.'));
        const auto ascii = ascii_label(label);
        if (!ascii) {
            return std::nullopt;
        }
        out += *ascii;
        if (label.size() == name.size()) {
            return out;
        }
        out += '.';
        name.remove_prefix(label.size() + 1);
    }
}

std::optional<std::string> normal_v6(std::string_view bracketed) {
    if (bracketed.size() < 2 || !bracketed.ends_with(']')) {
        return std::nullopt;
    }
    const std::string_view inner = bracketed.substr(1, bracketed.size() - 2);
    const auto address = io::Address::parse(inner);
    if (!address || inner.find(':') == inner.npos) {
        return std::nullopt;
    }
    return "[" + address->to_string() + "]";
}

}  // namespace

std::optional<std::string> normal_host(std::string_view spelled) {
    if (is_normal(spelled)) {
        return std::string(spelled);
    }
    if (spelled.size() > kMaxSpelledBytes) {
        return std::nullopt;
    }
    if (spelled.starts_with('[')) {
        return normal_v6(spelled);
    }
    auto text = percent_decode(spelled, PlusIsSpace::kNo);
    // A NUL would end the text for the library.
    if (!text || !is_valid_utf8(*text) || text->find('\0') != text->npos) {
        return std::nullopt;
    }
    auto host = ascii_name(with_plain_dots(*std::move(text)));
    if (host && host->ends_with('.')) {
        host->pop_back();
    }
    if (!host || !is_normal(*host)) {
        return std::nullopt;
    }
    return host;
}

bool is_host(std::string_view spelled) {
    return is_normal(spelled) || normal_host(spelled).has_value();
}

std::optional<UrlParts> split_url(std::string_view url) {
    constexpr std::string_view kMark = "://";
    const std::size_t scheme = url.find(kMark);
    if (scheme == url.npos) {
        return std::nullopt;
    }
    const std::string_view rest = url.substr(scheme + kMark.size());
    std::string_view authority = rest.substr(0, rest.find_first_of("/?#\\"));
    UrlParts parts;
    parts.tail = rest.substr(authority.size());
    parts.user = authority.substr(0, authority.rfind('@') + 1);
    authority.remove_prefix(parts.user.size());
    // A colon after the closing bracket of an IPv6 address, or the only one, begins the port.
    const std::size_t bracket = authority.rfind(']');
    const std::size_t colon = authority.rfind(':');
    const bool has_port = colon != authority.npos && (bracket == authority.npos || colon > bracket);
    parts.host = authority.substr(0, has_port ? colon : authority.npos);
    parts.port = authority.substr(parts.host.size());
    return parts;
}

std::optional<std::uint16_t> port_number(std::string_view port) {
    const std::string_view digits = port.substr(port.empty() ? 0 : 1);
    if (digits.empty()) {
        return 0;
    }
    std::uint16_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size() || number == 0) {
        return std::nullopt;
    }
    return number;
}

std::string host_of(std::string_view url) {
    const auto parts = split_url(url);
    return (parts ? normal_host(parts->host) : std::nullopt).value_or(std::string());
}

}  // namespace sluice::web
