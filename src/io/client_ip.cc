#include "io/client_ip.h"

#include "base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace sluice::io {

namespace {

constexpr std::size_t kMaxEntries = 32;  // that are walked; the next one stops the walk
constexpr std::string_view kForwardedFor = "x-forwarded-for";
// What a proxy adds, in small letters.
constexpr std::array<std::string_view, 6> kForwardingHeaders = {
    kForwardedFor, "forwarded", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via",
};

std::string_view trim_blanks(std::string_view text) {
    constexpr std::string_view kBlanks = " \t";
    const std::size_t first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

bool is_port(std::string_view text) {
    std::uint16_t port = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, port);
    return !text.empty() && error == std::errc() && stop == end;
}

// The rest of an entry after its address: nothing, or a port.
bool is_empty_or_port(std::string_view text) {
    return text.empty() || (text.front() == ':' && is_port(text.substr(1)));
}

std::optional<Address> parse_bracketed(std::string_view entry) {
    const std::size_t close = entry.find(']');
    if (close == std::string_view::npos || !is_empty_or_port(entry.substr(close + 1))) {
        return std::nullopt;
    }
    const std::string_view inside = entry.substr(1, close - 1);
    if (inside.find(':') == std::string_view::npos) {
        return std::nullopt;  // brackets are for IPv6 only
    }
    return Address::parse(inside);
}

// 1.2.3.4, 1.2.3.4:567, 2001:db8::1, [2001:db8::1] or [2001:db8::1]:567, with blanks around.
std::optional<Address> parse_entry(std::string_view raw) {
    const std::string_view entry = trim_blanks(raw);
    if (entry.empty()) {
        return std::nullopt;
    }
    if (entry.front() == '[') {
        return parse_bracketed(entry);
    }
    const std::size_t colon = entry.find(':');
    const bool v4_with_port =
        colon != std::string_view::npos && entry.find('.') < colon && colon == entry.rfind(':');
    if (!v4_with_port) {
        return Address::parse(entry);
    }
    if (!is_port(entry.substr(colon + 1))) {
        return std::nullopt;
    }
    return Address::parse(entry.substr(0, colon));
}

// Gives the entries of all X-Forwarded-For lines from the last to the first, as if the lines had
// been joined with commas, without joining them.
class EntriesFromTheRight {
 public:
    explicit EntriesFromTheRight(std::span<const HeaderField> headers)
        : headers_(headers), next_line_(headers.size()) {}

    std::optional<std::string_view> next() {
        if (!rest_ && !find_line()) {
            return std::nullopt;
        }
        const std::size_t comma = rest_->rfind(',');
        if (comma == std::string_view::npos) {
            return std::exchange(rest_, std::nullopt);
        }
        const std::string_view entry = rest_->substr(comma + 1);
        rest_ = rest_->substr(0, comma);
        return entry;
    }

 private:
    bool find_line() {
        while (next_line_ > 0) {
            const HeaderField& field = headers_[--next_line_];
            if (equals_ignoring_case(field.name, kForwardedFor)) {
                rest_ = field.value;
                return true;
            }
        }
        return false;
    }

    std::span<const HeaderField> headers_;
    std::size_t next_line_;                 // lines before this one were not read yet
    std::optional<std::string_view> rest_;  // of the line being read, left of what was given
};

}  // namespace

TrustedProxies::TrustedProxies(std::vector<Network> networks) : networks_(std::move(networks)) {}

TrustedProxies TrustedProxies::read(ConfigReader& in) {
    constexpr std::string_view kKey = "trusted_proxy_cidrs";
    std::vector<std::string> texts;
    in.list({.key = kKey,
             .help = "networks of the reverse proxies whose X-Forwarded-For is believed",
             .env_alias = "TRUSTED_PROXY_CIDRS",
             .needs_restart = false},
            texts);
    std::vector<Network> networks;
    for (const std::string& text : texts) {
        if (const auto network = Network::parse(text)) {
            networks.push_back(*network);
            continue;
        }
        in.fail(kKey,
                "expected a network such as 10.0.0.0/8 or fd00::/8, with no bits set beyond "
                "its prefix, instead of \"" +
                    text + "\"");
    }
    return TrustedProxies(std::move(networks));
}

bool TrustedProxies::trusts(const Address& address) const {
    for (const Network& network : networks_) {
        if (network.contains(address)) {
            return true;
        }
    }
    return false;
}

Address TrustedProxies::client_of(const Address& peer, std::span<const HeaderField> headers) const {
    if (!trusts(peer)) {
        return peer;
    }
    Address last_good = peer;
    EntriesFromTheRight entries(headers);
    for (std::size_t walked = 0; walked < kMaxEntries; ++walked) {
        const auto entry = entries.next();
        if (!entry) {
            return last_good;
        }
        // What is left of an entry that can't be read is the sender's to invent, so it is not
        // skipped: the hop that handed it over is the best that is known.
        const auto address = parse_entry(*entry);
        if (!address) {
            return last_good;
        }
        last_good = *address;
        if (!trusts(last_good)) {
            return last_good;
        }
    }
    return last_good;
}

bool is_forwarded(std::span<const HeaderField> headers) {
    return std::any_of(headers.begin(), headers.end(), [](const HeaderField& field) {
        return std::any_of(
            kForwardingHeaders.begin(), kForwardingHeaders.end(), [&field](std::string_view name) {
                return field.name.size() == name.size() && equals_ignoring_case(field.name, name);
            });
    });
}

std::string bucket_of(const Address& client, unsigned ipv6_prefix_bits) {
    if (client.family != Address::Family::kV6) {
        return client.to_string();
    }
    return mask(client, ipv6_prefix_bits).to_string() + "/" + std::to_string(ipv6_prefix_bits);
}

}  // namespace sluice::io
