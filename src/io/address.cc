#include "io/address.h"

#include <algorithm>
#include <arpa/inet.h>
#include <charconv>
#include <cstddef>
#include <cstring>

namespace sluice::io {

namespace {

constexpr unsigned kV4Bits = 32;
constexpr unsigned kV6Bits = 128;
constexpr unsigned kMappedBits = 96;  // of ::ffff:0:0/96, before the IPv4 address
constexpr std::size_t kV6Groups = 8;
// The longest text of an address: eight groups of four digits, the last two as a dotted quad.
constexpr std::size_t kLongestText = 45;

unsigned width(Address::Family family) {
    return family == Address::Family::kV4 ? kV4Bits : kV6Bits;
}

bool is_mapped(const std::array<std::uint8_t, 16>& bytes) {
    constexpr std::array<std::uint8_t, 12> kPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return std::equal(kPrefix.begin(), kPrefix.end(), bytes.begin());
}

bool is_colon_form(std::string_view text) {
    return text.find(':') != std::string_view::npos;
}

// A decimal without a sign or leading zeros, at most `max`.
std::optional<unsigned> parse_prefix(std::string_view text, unsigned max) {
    if (text.empty() || (text.size() > 1 && text.front() == '0')) {
        return std::nullopt;
    }
    unsigned bits = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, bits);
    if (error != std::errc() || stop != end || bits > max) {
        return std::nullopt;
    }
    return bits;
}

void append_v4(std::string& out, const std::uint8_t* octets) {
    for (std::size_t i = 0; i < 4; ++i) {
        if (i > 0) {
            out += '.';
        }
        out += std::to_string(octets[i]);
    }
}

struct Run {
    std::size_t start = 0;
    std::size_t length = 0;
};

// The first of the longest runs of zero groups.
Run longest_zero_run(const std::array<std::uint16_t, kV6Groups>& groups) {
    Run best;
    Run current;
    for (std::size_t i = 0; i < kV6Groups; ++i) {
        if (groups[i] != 0) {
            current = {i + 1, 0};
            continue;
        }
        current.length += 1;
        if (current.length > best.length) {
            best = current;
        }
    }
    return best;
}

void append_group(std::string& out, std::uint16_t group) {
    char digits[4];
    const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), group, 16);
    out.append(digits, end);
}

void append_v6(std::string& out, const std::array<std::uint8_t, 16>& bytes) {
    std::array<std::uint16_t, kV6Groups> groups{};
    for (std::size_t i = 0; i < kV6Groups; ++i) {
        groups[i] = static_cast<std::uint16_t>(bytes[2 * i] << 8 | bytes[2 * i + 1]);
    }
    const Run zeros = longest_zero_run(groups);
    // RFC 5952 section 4.2.2: one group alone is never shortened.
    const bool shorten = zeros.length > 1;
    for (std::size_t i = 0; i < kV6Groups; ++i) {
        if (shorten && i == zeros.start) {
            out += "::";
            i += zeros.length - 1;
            continue;
        }
        if (!out.empty() && out.back() != ':') {
            out += ':';
        }
        append_group(out, groups[i]);
    }
}

}  // namespace

Address Address::from_v4(const std::array<std::uint8_t, 4>& bytes) {
    Address address;
    address.family = Family::kV4;
    std::copy(bytes.begin(), bytes.end(), address.bytes.begin());
    return address;
}

Address Address::from_v6(const std::array<std::uint8_t, 16>& bytes) {
    if (is_mapped(bytes)) {
        return from_v4({bytes[12], bytes[13], bytes[14], bytes[15]});
    }
    Address address;
    address.family = Family::kV6;
    address.bytes = bytes;
    return address;
}

std::optional<Address> Address::parse(std::string_view text) {
    // inet_pton wants a terminator, so a NUL inside the text would hide what follows it.
    if (text.empty() || text.size() > kLongestText || text.find('\0') != std::string_view::npos) {
        return std::nullopt;
    }
    char terminated[kLongestText + 1] = {};
    std::memcpy(terminated, text.data(), text.size());
    if (is_colon_form(text)) {
        std::array<std::uint8_t, 16> bytes{};
        if (inet_pton(AF_INET6, terminated, bytes.data()) != 1) {
            return std::nullopt;
        }
        return from_v6(bytes);
    }
    std::array<std::uint8_t, 4> bytes{};
    if (inet_pton(AF_INET, terminated, bytes.data()) != 1) {
        return std::nullopt;
    }
    return from_v4(bytes);
}

std::string Address::to_string() const {
    std::string out;
    switch (family) {
        case Family::kUnspecified:
            out = "unix";
            break;
        case Family::kV4:
            append_v4(out, bytes.data());
            break;
        case Family::kV6:
            append_v6(out, bytes);
            break;
    }
    return out;
}

bool Address::is_loopback() const {
    if (family == Family::kV4) {
        return bytes[0] == 127;
    }
    constexpr std::array<std::uint8_t, 16> kOne = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    return family == Family::kV6 && bytes == kOne;
}

std::optional<Network> Network::parse(std::string_view text) {
    const std::size_t slash = text.find('/');
    const std::string_view address_text = text.substr(0, slash);
    const std::optional<Address> address = Address::parse(address_text);
    if (!address) {
        return std::nullopt;
    }
    Network network{*address, width(address->family)};
    if (slash == std::string_view::npos) {
        return network;
    }
    // The prefix counts in the family that was written: ::ffff:10.0.0.0/104 is 10.0.0.0/8. A
    // shorter one than /96 has bits of "ffff" beyond its prefix.
    const unsigned skipped =
        is_colon_form(address_text) && address->family == Address::Family::kV4 ? kMappedBits : 0;
    const auto bits = parse_prefix(text.substr(slash + 1), network.prefix_bits + skipped);
    if (!bits || *bits < skipped) {
        return std::nullopt;
    }
    network.prefix_bits = *bits - skipped;
    if (mask(network.base, network.prefix_bits) != network.base) {
        return std::nullopt;
    }
    return network;
}

bool Network::contains(const Address& address) const {
    return base.family != Address::Family::kUnspecified && address.family == base.family &&
           mask(address, prefix_bits) == base;
}

Address mask(const Address& address, unsigned prefix_bits) {
    Address masked = address;
    for (unsigned byte = 0; byte < masked.bytes.size(); ++byte) {
        const unsigned before = byte * 8;
        const unsigned kept = prefix_bits <= before ? 0 : std::min(prefix_bits - before, 8U);
        masked.bytes[byte] &= static_cast<std::uint8_t>(0xff00U >> kept);
    }
    return masked;
}

}  // namespace sluice::io
