// So many calls per interval, with bursts up to as many: what a provider allows us.
#pragma once

#include "base/clock.h"

#include <cstdint>
#include <optional>

namespace sluice::guard {

struct TokenBucketConfig {
    std::int64_t tokens = 1;  // in a full bucket; 1 to 1,000,000
    Duration interval{};      // in which an empty bucket fills up; 1 us to 366 days, and at
                              // least 1 ns a token
};

// The time in which one token flows in, rounded up to a nanosecond. The settings are in bounds.
Duration time_per_token(const TokenBucketConfig& config);

// Starts full and fills evenly. It never gives more than `tokens` at once, nor in the long run more
// than `tokens` per interval: the time for one token is rounded up to a nanosecond.
//
// Not thread-safe. A `now` that is earlier than one before counts as that one. Amounts are
// positive.
class TokenBucket {
 public:
    explicit TokenBucket(TokenBucketConfig config);

    // Takes `amount` if they are there, else nothing.
    bool try_take(std::int64_t amount, Instant now);

    // When try_take(amount) would succeed if nobody else took any: `now` if it would right away.
    // Nothing for more than a full bucket holds.
    std::optional<Instant> earliest(std::int64_t amount, Instant now) const;

    // Whole tokens there now.
    std::int64_t available(Instant now) const;

 private:
    // The whole state is one instant: when the bucket will be full. Each token taken moves it by
    // the time that a token needs.
    Instant full_at(Instant now) const;

    std::int64_t tokens_;
    Duration per_token_;
    Instant full_at_;
    Instant latest_now_;
};

}  // namespace sluice::guard
