#include "app/listeners.h"

#include "io/address.h"

#include <algorithm>
#include <string_view>

namespace sluice::app {

namespace {

// Of an address to listen on: "127.0.0.1:8080" -> "127.0.0.1", "[::1]:8080" -> "::1".
std::string host_of(std::string_view listen) {
    std::string_view host = listen.substr(0, listen.rfind(':'));
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
    }
    return std::string(host);
}

bool is_loopback(std::string_view listen) {
    const std::string host = host_of(listen);
    const auto address = io::Address::parse(host);
    return address ? address->is_loopback() : host == "localhost";
}

}  // namespace

bool listens_on_loopback_only(const Config& config) {
    return std::ranges::all_of(config.server.listen, is_loopback);
}

std::vector<std::string> listen_hosts(const Config& config) {
    std::vector<std::string> hosts;
    for (const std::string& listen : config.server.listen) {
        hosts.push_back(host_of(listen));
    }
    return hosts;
}

bool is_reached_from_elsewhere(const Config& config) {
    return access::is_reached_from_elsewhere(config.access, listens_on_loopback_only(config));
}

std::string warn_of_strangers(const Config& config) {
    const bool loopback_only = listens_on_loopback_only(config);
    if (!is_reached_from_elsewhere(config) ||
        access::anonymous_in_force(config.access, loopback_only) != access::Anonymous::kAll) {
        return {};
    }
    return std::string("auth.anonymous is all, and ") +
           (loopback_only
                ? "server.trusted_proxy_cidrs or server.allowed_hosts name a proxy in front"
                : "a listener is not on loopback") +
           ": everybody who gets that far searches at your cost and reads the status, without a "
           "token; leave it at auto, or set none or search";
}

}  // namespace sluice::app
