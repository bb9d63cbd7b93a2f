// How many files the system lets this process open, and what that leaves for clients.
#pragma once

#include <cstddef>

namespace sluice::app {

// Files beside the clients' connections: those to upstreams, stores, listeners, the admin socket.
inline constexpr std::size_t kOtherFiles = 512;

// Of a process that may open `limit` files; half of them where kOtherFiles would leave less.
constexpr std::size_t connections_within(std::size_t limit) {
    return limit >= 2 * kOtherFiles ? limit - kOtherFiles : limit / 2;
}

// The most that the system would grant, as `sluice serve` takes it.
std::size_t descriptor_limit();

// Takes as much as the system grants, and returns descriptor_limit().
std::size_t raise_descriptor_limit();

}  // namespace sluice::app
