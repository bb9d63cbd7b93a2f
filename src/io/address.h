// IP addresses and networks as values: no Asio, no sockets.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::io {

// An IPv4 or IPv6 address. IPv4-mapped IPv6 (::ffff:a.b.c.d) is IPv4 from the moment it is made.
struct Address {
    enum class Family : std::uint8_t { kUnspecified, kV4, kV6 };

    Family family = Family::kUnspecified;
    std::array<std::uint8_t, 16> bytes{};  // network order; an IPv4 address uses the first four

    // From the bytes of a socket address, in network order. These and parse() are the only makers
    // of addresses, so that a mapped address is IPv4 everywhere.
    static Address from_v4(const std::array<std::uint8_t, 4>& bytes);
    static Address from_v6(const std::array<std::uint8_t, 16>& bytes);

    // Strict: dotted quad without leading zeros, or RFC 4291 text without a zone or brackets.
    static std::optional<Address> parse(std::string_view text);
    // RFC 5952 text; "unix" when unspecified.
    std::string to_string() const;
    bool is_loopback() const;
    bool operator==(const Address&) const = default;
};

// "10.0.0.0/8", "fd00::/8". Bits beyond the prefix must be zero. IPv4 and IPv6 never contain each
// other: "::/0" is every IPv6 address and no IPv4 one.
struct Network {
    Address base;
    unsigned prefix_bits = 0;

    // An address without a prefix is the network of that one address.
    static std::optional<Network> parse(std::string_view text);
    bool contains(const Address& address) const;
};

// `address` with every bit beyond the first `prefix_bits` cleared.
Address mask(const Address& address, unsigned prefix_bits);

}  // namespace sluice::io
