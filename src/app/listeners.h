// What the addresses that a gateway listens on mean for who reaches it. Any thread.
#pragma once

#include "app/config.h"

#include <string>
#include <vector>

namespace sluice::app {

bool listens_on_loopback_only(const Config& config);
// Without ports: "127.0.0.1:8080" -> "127.0.0.1", "[::1]:8080" -> "::1".
std::vector<std::string> listen_hosts(const Config& config);

// Whether others than programs of this machine reach a gateway that is set up so.
bool is_reached_from_elsewhere(const Config& config);
// What that means for callers without a token, where it leaves more open than an operator may know;
// else empty.
std::string warn_of_strangers(const Config& config);

}  // namespace sluice::app
