// For what must not take for ever, though it may get stuck.
#pragma once

#include "base/clock.h"

#include <functional>
#include <thread>

namespace sluice::app {

class Watchdog {
 public:
    // Calls `act` once, on a thread of its own, unless the watchdog is destroyed within `limit`.
    Watchdog(Millis limit, std::function<void()> act);
    // Waits for `act` if it has been called.
    ~Watchdog() = default;
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

 private:
    std::jthread thread_;
};

}  // namespace sluice::app
