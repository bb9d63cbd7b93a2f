// How far a figure in a store runs ahead of what is counted, so that counting needs no write until
// the block is used up, and a crash forgets nothing: what the store says is never less than what
// happened.
#pragma once

#include "base/clock.h"

#include <algorithm>
#include <cstdint>

namespace sluice::guard {

// Calls that a block has room for: at least so many and up to twice what was made lately between
// two writes, but never more than a hundredth of a limit. A crash loses that much of a limit at the
// most.
inline constexpr std::int64_t kMinBlockCalls = 16;
inline constexpr std::int64_t kMaxBlockCalls = 10'000;
inline constexpr std::int64_t kBlockShare = 100;
// What nobody used for so long gives its block back.
inline constexpr Millis kBlockIdle{60'000};

enum class Ahead : std::uint8_t {
    kBlock,  // with room for further calls
    kExact,  // what happened and is under way
};

// The size of blocks, by the load. A value; holds no clock.
class BlockPace {
 public:
    void count_call(Instant now) {
        calls_since_write_ += 1;
        last_used_ = now;
    }
    // Forgotten bit by bit: a write soon after another one says little about the load.
    void begin_write() {
        pace_ = std::max(calls_since_write_, pace_ - pace_ / 4);
        calls_since_write_ = 0;
    }
    // Without a limit.
    std::int64_t block_calls() const {
        return std::clamp(2 * pace_, kMinBlockCalls, kMaxBlockCalls);
    }
    // The most that a block may take of a limit that has so much room left. May be negative.
    static std::int64_t most_of(std::int64_t limit, std::int64_t room) {
        return std::min(room, limit / kBlockShare);
    }

    Instant idle_at() const { return last_used_ + kBlockIdle; }
    bool is_idle(Instant now) const { return now >= idle_at(); }

 private:
    std::int64_t calls_since_write_ = 0;
    std::int64_t pace_ = 0;  // calls between two writes, lately
    Instant last_used_{};
};

}  // namespace sluice::guard
