// The seam to time. Everything that decides by time takes a Clock or an Instant; only clock.cc
// reads the system's clocks. Tests use tests/support/manual_clock.h.
#pragma once

#include "base/task.h"

#include <chrono>

namespace sluice {

using Duration = std::chrono::nanoseconds;
using Millis = std::chrono::milliseconds;
using Instant = std::chrono::steady_clock::time_point;   // monotonic: deadlines, ages, latencies
using WallTime = std::chrono::system_clock::time_point;  // dates, fixed windows, quota resets

// Thread-safe. Owned by app/wire.cc, outlives everything that holds a reference to it.
class Clock {
 public:
    virtual ~Clock() = default;
    virtual Instant now() const = 0;
    virtual WallTime wall_now() const = 0;

    // Completes at or after `deadline`. Cancelled early it throws, as every cancelled Asio
    // operation does in a Task.
    virtual Task<void> sleep_until(Instant deadline) = 0;
};

class SystemClock final : public Clock {
 public:
    Instant now() const override;
    WallTime wall_now() const override;
    Task<void> sleep_until(Instant deadline) override;
};

}  // namespace sluice
