// The seam to time. Everything that decides by time takes a Clock or an Instant; only clock.cc
// reads the system's clocks. Tests use tests/support/manual_clock.h.
#pragma once

#include "base/task.h"

#include <chrono>
#include <memory>

namespace sluice {

using Duration = std::chrono::nanoseconds;
using Millis = std::chrono::milliseconds;
using Instant = std::chrono::steady_clock::time_point;   // monotonic: deadlines, ages, latencies
using WallTime = std::chrono::system_clock::time_point;  // dates, fixed windows, quota resets

// What one task waits on: it goes off at an instant of a Clock, or earlier when somebody rings it.
// Shared with the clock while a task waits. Belongs to the thread of its executor.
class Alarm {
 public:
    explicit Alarm(Executor executor);

    // Ends the wait now. Without one it does nothing.
    void ring();

 private:
    friend class SystemClock;
    friend class ManualAlarms;
    Timer timer_;
};

// Thread-safe. Owned by app/wire.cc, outlives everything that holds a reference to it.
class Clock {
 public:
    virtual ~Clock() = default;
    virtual Instant now() const = 0;
    virtual WallTime wall_now() const = 0;

    // Completes at or after `deadline`, or when `alarm` is rung, or when the waiting task is
    // cancelled; which of them, the caller can tell. Does not throw (after a cancellation the
    // task's next asynchronous operation does).
    virtual Task<void> wait(std::shared_ptr<Alarm> alarm, Instant deadline) = 0;

    // Completes at or after `deadline`. Cancelled early it throws, as every cancelled Asio
    // operation does in a Task.
    Task<void> sleep_until(Instant deadline);
};

class SystemClock final : public Clock {
 public:
    Instant now() const override;
    WallTime wall_now() const override;
    Task<void> wait(std::shared_ptr<Alarm> alarm, Instant deadline) override;
};

}  // namespace sluice
