// Fixed windows: so many in each minute, hour or day of the wall clock. Windows are aligned to the
// Unix epoch, so every process that counts the same thing changes windows at the same moment.
#pragma once

#include "base/clock.h"

#include <cstdint>

namespace sluice::guard {

struct WindowVerdict {
    bool allowed = false;
    std::int64_t remaining = 0;  // of this window, after what was asked
    WallTime reset_at{};         // when the next window begins, always after the `now` asked with
                                 // unless the clock is being set back
};

// One window's use. The building block of WindowCounter and WindowTable.
struct WindowUse {
    std::int64_t index = 0;  // of the window, counted from the epoch
    std::int64_t used = 0;
};

// The number of the window that `now` is in; negative before the epoch. `length` is positive.
std::int64_t window_index(WallTime now, Duration length);
WallTime window_start(std::int64_t index, Duration length);

// A clock that is set back lends no budget: for a step into the window before, the later window
// goes on; for a longer one, what has been used counts in the window that it is in then, so that
// nobody waits for a date that was a mistake. Not thread-safe.
class WindowCounter {
 public:
    // A limit of 0 or less allows nothing. `length` is positive.
    WindowCounter(std::int64_t limit, Duration length);

    // Takes one if the window has one left.
    WindowVerdict take(WallTime now);
    // What take() would find, `remaining` as it is before.
    WindowVerdict peek(WallTime now) const;
    // Undoes a take() that came to nothing, unless its window is over.
    void give_back(WallTime now);

 private:
    WindowUse at(WallTime now) const;

    const std::int64_t limit_;
    const Duration length_;
    WindowUse use_;
};

}  // namespace sluice::guard
