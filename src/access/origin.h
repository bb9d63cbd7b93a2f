// Hosts and origins as browsers send them: what tells a page of our own from a foreign one.
#pragma once

#include "io/address.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::access {

// A host with a port where it had one. Views into the text it was parsed from.
struct HostPort {
    std::string_view host;  // without brackets and without a final dot
    std::optional<std::uint16_t> port;
};

// The value of a Host header: a name, an IPv4 address or an IPv6 address in brackets, then perhaps
// a port. Nothing for everything else, user information included.
std::optional<HostPort> parse_host(std::string_view text);

// An origin (RFC 6454 section 7): scheme, host and port. Nothing for "null" and for everything with
// a path.
struct Origin {
    std::string_view scheme;
    std::string_view host;
    std::optional<std::uint16_t> port;  // the scheme's own where the text has none
};
std::optional<Origin> parse_origin(std::string_view text);

// Whether both name the same place. Case does not matter, nor does writing out the default port.
bool same_origin(const Origin& a, const Origin& b);

// Whether a page of `origin` was served under the Host header `host`. (Its scheme is not known
// here: TLS may end at a proxy.)
bool is_origin_of(const Origin& origin, const HostPort& host);

// Names that only this machine answers to: localhost, *.localhost and the loopback addresses. No
// DNS server can point them elsewhere.
bool is_loopback_name(std::string_view host);

// Hosts that a gateway answers to, whatever the port. Immutable.
class HostList {
 public:
    // `hosts` are names or addresses; what is_host() refuses is left out, and so is the wildcard
    // address, which is no name for anything.
    explicit HostList(const std::vector<std::string>& hosts);
    bool contains(std::string_view host) const;

    // A name or an address (IPv6 with or without brackets), without a port.
    static bool is_host(std::string_view text);

 private:
    std::vector<std::string> names_;
    std::vector<io::Address> addresses_;
};

}  // namespace sluice::access
