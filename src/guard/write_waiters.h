// Tasks that wait until a store has written something down. Writes are numbered by who makes them.
#pragma once

#include "base/clock.h"
#include "base/task.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace sluice::guard {

// How long a call waits for a write; after that the store counts as lost.
inline constexpr Millis kMaxWriteWait{250};

// What a wait for a write came to.
enum class WriteEnd : std::uint8_t {
    kWritten,
    kLost,       // the store failed, or takes too long
    kDeadline,   // the waiting task's own, which says nothing about the store
    kCancelled,  // the waiting task was cancelled; its next asynchronous operation throws
};

// Belongs to one executor; outlives the tasks that wait.
class WriteWaiters {
 public:
    static constexpr std::uint64_t kEveryWrite = std::numeric_limits<std::uint64_t>::max();

    // Until that write is told of, at most until `enough`, which makes it kLost, and not past
    // `deadline`. Does not throw when it is cancelled.
    Task<WriteEnd> wait(Clock& clock, std::uint64_t write, Instant enough, Instant deadline);

    // Those that wait for `write` or an earlier one: how it ended. Returns how many they were.
    std::size_t tell(std::uint64_t write, bool written);

    bool empty() const { return waiting_.empty(); }

 private:
    struct Waiting;
    class Entry;
    std::vector<Waiting*> waiting_;  // in frames of wait()
};

}  // namespace sluice::guard
