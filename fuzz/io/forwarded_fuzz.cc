// X-Forwarded-For comes from strangers and decides who pays for a request. The walk is compared
// with a plain one over the joined text.
#include "base/result.h"
#include "io/client_ip.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using sluice::io::Address;
using sluice::io::HeaderField;
using sluice::io::Network;
using sluice::io::TrustedProxies;

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (std::size_t from = 0; from <= text.size();) {
        const std::size_t to = std::min(text.find(separator, from), text.size());
        parts.push_back(text.substr(from, to - from));
        from = to + 1;
    }
    return parts;
}

const TrustedProxies& trusted() {
    static const TrustedProxies proxies(
        {*Network::parse("10.0.0.0/8"), *Network::parse("fd00::/8")});
    return proxies;
}

// The address that one entry names, or nothing when it can't be read: an entry that is not used
// gives back the peer, whichever that is.
std::optional<Address> read_entry(std::string_view entry) {
    const std::vector<HeaderField> headers = {{"X-Forwarded-For", entry}};
    const Address first = trusted().client_of(*Address::parse("10.1.1.1"), headers);
    const Address second = trusted().client_of(*Address::parse("10.2.2.2"), headers);
    return first == second ? std::optional(first) : std::nullopt;
}

Address walk_plainly(const Address& peer, std::string_view joined) {
    const std::vector<std::string_view> entries = split(joined, ',');
    Address last_good = peer;
    for (std::size_t i = entries.size(); i > 0 && entries.size() - i < 32; --i) {
        const std::optional<Address> hop = read_entry(entries[i - 1]);
        if (!hop) {
            break;
        }
        last_good = *hop;
        if (!trusted().trusts(last_good)) {
            break;
        }
    }
    return last_good;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const Address peer = *Address::parse("10.0.0.1");

    std::vector<HeaderField> lines;
    std::string joined;
    for (const std::string_view line : split(text, '\n')) {
        lines.push_back({"X-Forwarded-For", line});
        joined.append(lines.size() > 1 ? "," : "").append(line);
    }
    const Address client = trusted().client_of(peer, lines);
    SLUICE_ASSERT(client == walk_plainly(peer, joined));

    SLUICE_ASSERT(Address::parse(client.to_string()) == client);
    SLUICE_ASSERT(Network::parse(sluice::io::bucket_of(client)).has_value());
    const Address stranger = *Address::parse("203.0.113.7");
    SLUICE_ASSERT(trusted().client_of(stranger, lines) == stranger);

    if (const auto address = Address::parse(text)) {
        SLUICE_ASSERT(Address::parse(address->to_string()) == *address);
    }
    if (const auto network = Network::parse(text)) {
        SLUICE_ASSERT(network->contains(network->base));
    }
    return 0;
}
