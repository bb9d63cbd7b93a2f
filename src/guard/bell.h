// Something that happens again and again, for one task that also does its work from time to time
// without it.
#pragma once

#include "base/clock.h"
#include "base/task.h"

#include <memory>

namespace sluice::guard {

// Not thread-safe: ring() and the waiting task share one executor's thread.
class Bell {
 public:
    // The waiting task runs later, from its executor. However often it rings before the task waits
    // again, the task wakes up once.
    void ring();

    // Completes at `deadline`, or when it rings, or at once if it rang since the last wait. Throws
    // when the waiting task is cancelled, as every Asio operation does.
    Task<void> wait_until(Clock& clock, Instant deadline);

 private:
    bool rang_ = false;
    std::shared_ptr<Alarm> alarm_;  // while a task waits
};

}  // namespace sluice::guard
