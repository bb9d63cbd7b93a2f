// Something that happens once and that one task waits for, at most until a deadline. What lanes and
// flights are built on.
#pragma once

#include "base/clock.h"
#include "base/task.h"

#include <cstdint>

namespace sluice::guard {

enum class WaitEnd : std::uint8_t {
    kSet,        // it happened
    kDeadline,   // it had not happened by the deadline
    kCancelled,  // the waiting task was cancelled; its next asynchronous operation throws
};

// Not thread-safe: set() and the waiting task share one executor's thread. Must stay where it is
// while a task waits; a task that is destroyed while it waits no longer counts as waiting.
class Event {
 public:
    Event() = default;
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;

    // The waiting task runs later, from its executor. Calling it again changes nothing.
    void set();
    bool is_set() const { return set_; }

    // For one task at a time. If it has happened that is the answer, whatever else is true too.
    // Does not throw when it is cancelled.
    Task<WaitEnd> wait_until(Clock& clock, Instant deadline);

 private:
    class Waiting;
    bool set_ = false;
    Waiting* waiting_ = nullptr;  // in the frame of the waiting task
};

}  // namespace sluice::guard
