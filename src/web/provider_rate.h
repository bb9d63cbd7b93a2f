// How often a provider may be called: turns that every call of this process takes. Whoever finds
// none waits for its own, where its deadline allows that. Belongs to the control
// loop; holds no clock.
#pragma once

#include "base/clock.h"
#include "base/task.h"
#include "guard/turn_queue.h"
#include "web/provider.h"

#include <cstdint>
#include <deque>
#include <optional>

namespace sluice::web {

class ProviderRate;

// A turn to make one call. Given back when it is destroyed without a call. The rate outlives it.
class RateTurn {
 public:
    RateTurn(RateTurn&& other) noexcept;
    RateTurn& operator=(RateTurn&&) = delete;
    ~RateTurn();

    // When it comes; not before the instant that it was taken at.
    Instant at() const { return turn_.at; }

    // The call is made: the turn is gone, unless give_back() follows. False before at(), and where
    // a call that was late puts the turn off; then at() is later than it was.
    bool start(Instant now);
    // The call that was started, if it was, never left.
    void give_back();

 private:
    friend class ProviderRate;
    RateTurn(ProviderRate* rate, std::uint64_t queue, guard::TurnQueue::Turn turn)
        : rate_(rate), queue_(queue), turn_(turn) {}
    // Null when the limit that it was taken under has been forgotten.
    guard::TurnQueue* queue() const;

    ProviderRate* rate_;  // null: moved from, or of a provider without a limit
    std::uint64_t queue_;
    guard::TurnQueue::Turn turn_;
    bool started_ = false;
};

// Waits until `turn`, which outlives the task, lets the call start, and starts it. False when that
// would be after `latest`, or the task is cancelled.
Task<bool> start_in_turn(RateTurn& turn, Clock& clock, Instant latest);

class ProviderRate {
 public:
    ProviderRate() = default;
    ProviderRate(const ProviderRate&) = delete;
    ProviderRate& operator=(const ProviderRate&) = delete;

    // The next turn under `limit`, if it comes by `latest`. Turns come in the order in which they
    // were taken. After a change of the limit searches go on under the one that they began with:
    // what is started under either is gone from both. A new one begins without what was taken
    // under the one before.
    std::optional<RateTurn> take(const RateLimit& limit, Instant now, Instant latest);

    // When take() would give a turn, if nobody else took one.
    Instant next_turn(const RateLimit& limit, Instant now) const;

 private:
    friend class RateTurn;

    // The turns of one limit.
    struct Queue {
        RateLimit limit;
        std::uint64_t number = 0;
        guard::TurnQueue turns;
    };
    const Queue* find(const RateLimit& limit) const;
    Queue made_for(const RateLimit& limit, Instant now) const;
    void note_started(std::uint64_t queue, Instant now);

    std::deque<Queue> queues_;  // of the last limits, the latest first
    std::uint64_t number_ = 0;  // of the latest: a turn belongs to one
};

}  // namespace sluice::web
