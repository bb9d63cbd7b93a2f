// Who a request comes from when it may have passed proxies: one rule for every door.
#pragma once

#include "base/config_reader.h"
#include "io/address.h"
#include "io/http_message.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::io {

class TrustedProxies {
 public:
    TrustedProxies() = default;
    explicit TrustedProxies(std::vector<Network> networks);

    // The key "trusted_proxy_cidrs" of the section "server"; alias TRUSTED_PROXY_CIDRS.
    static TrustedProxies read(ConfigReader& in);

    bool trusts(const Address& address) const;
    bool empty() const { return networks_.empty(); }

    // The client behind `peer`. X-Forwarded-For counts only when the peer is trusted: all its lines
    // are joined in order and walked from the right to the first address that is not trusted. An
    // entry that is not an address stops the walk at the last good hop; so does the 33rd entry.
    Address client_of(const Address& peer, std::span<const HeaderField> headers) const;

 private:
    std::vector<Network> networks_;
};

// Whether a proxy said something of itself or of who is behind it, whoever sent it.
bool is_forwarded(std::span<const HeaderField> headers);

// What limits count by: an IPv4 address in full, an IPv6 address as its network,
// "2001:db8:1:2::/64".
std::string bucket_of(const Address& client, unsigned ipv6_prefix_bits = 64);

}  // namespace sluice::io
