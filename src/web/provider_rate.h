// How often a provider may be called: a token bucket that every call of this process takes from.
// Whoever finds it empty waits for its turn, where its deadline allows that. Belongs to the control
// loop; holds no clock.
#pragma once

#include "base/clock.h"
#include "guard/token_bucket.h"
#include "web/provider.h"

#include <cstdint>
#include <optional>

namespace sluice::web {

class ProviderRate;

// A turn to make one call. Given back when it is destroyed without having been used. The rate
// outlives it.
class RateTurn {
 public:
    RateTurn(RateTurn&& other) noexcept;
    RateTurn& operator=(RateTurn&&) = delete;
    ~RateTurn();

    // When it comes; not before the instant that it was taken at.
    Instant at() const { return at_; }

    // The call is made: the turn is gone, unless give_back() follows, for one that never left.
    void use();
    void give_back();

 private:
    friend class ProviderRate;
    RateTurn(ProviderRate* rate, std::uint64_t bucket, Instant at)
        : rate_(rate), bucket_(bucket), at_(at) {}

    ProviderRate* rate_;  // null: moved from, or of a provider without a limit
    std::uint64_t bucket_;
    Instant at_;
    bool used_ = false;
};

class ProviderRate {
 public:
    ProviderRate() = default;
    ProviderRate(const ProviderRate&) = delete;
    ProviderRate& operator=(const ProviderRate&) = delete;

    // The next turn under `limit`, if it comes by `latest`. Turns come in the order in which they
    // were taken. A limit that is not the last call's begins with a full bucket.
    std::optional<RateTurn> take(const RateLimit& limit, Instant now, Instant latest);

    // When take() would give a turn, if nobody else took one.
    Instant next_turn(const RateLimit& limit, Instant now) const;

 private:
    friend class RateTurn;

    RateLimit limit_;
    std::optional<guard::TokenBucket> bucket_;  // nothing: no limit
    std::uint64_t number_ = 0;                  // of the bucket: a turn belongs to one
};

}  // namespace sluice::web
