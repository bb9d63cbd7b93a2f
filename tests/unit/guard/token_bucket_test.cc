#include "guard/token_bucket.h"

#include "property.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

namespace sluice::guard {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart{1000h};

// A full bucket may be emptied at once; then tokens come back one by one, evenly.
TEST(TokenBucket, FillsEvenly) {
    TokenBucket bucket(TokenBucketConfig{4, 1s});
    EXPECT_EQ(bucket.available(kStart), 4);
    EXPECT_TRUE(bucket.try_take(4, kStart));
    EXPECT_FALSE(bucket.try_take(1, kStart));
    EXPECT_EQ(bucket.earliest(1, kStart), kStart + 250ms);
    EXPECT_EQ(bucket.earliest(4, kStart), kStart + 1s);
    EXPECT_FALSE(bucket.try_take(1, kStart + 250ms - 1ns));
    EXPECT_TRUE(bucket.try_take(1, kStart + 250ms));
    EXPECT_EQ(bucket.available(kStart + 1s), 3);
    EXPECT_EQ(bucket.available(kStart + 10h), 4) << "a bucket does not grow";
}

// What no full bucket holds is never there, and asking for it takes nothing.
TEST(TokenBucket, RefusesWhatItCannotHold) {
    TokenBucket bucket(TokenBucketConfig{2, 1s});
    EXPECT_EQ(bucket.earliest(3, kStart), std::nullopt);
    EXPECT_FALSE(bucket.try_take(3, kStart));
    EXPECT_EQ(bucket.available(kStart), 2);
}

// A clock that goes back neither gives tokens nor takes any away.
TEST(TokenBucket, ToleratesAClockThatGoesBack) {
    TokenBucket bucket(TokenBucketConfig{2, 1s});
    EXPECT_TRUE(bucket.try_take(1, kStart));
    EXPECT_TRUE(bucket.try_take(1, kStart - 1h));
    EXPECT_FALSE(bucket.try_take(1, kStart - 2h));
    EXPECT_EQ(bucket.earliest(1, kStart - 2h), kStart + 500ms);
    EXPECT_EQ(bucket.available(kStart - 2h), 0);
    EXPECT_TRUE(bucket.try_take(1, kStart + 500ms));
}

// An interval that tokens do not divide is rounded so that the limit is kept, not exceeded.
TEST(TokenBucket, RoundsAgainstTheCaller) {
    TokenBucket bucket(TokenBucketConfig{3, 10s});
    EXPECT_TRUE(bucket.try_take(3, kStart));
    EXPECT_FALSE(bucket.try_take(3, kStart + 10s));
    EXPECT_TRUE(bucket.try_take(3, kStart + 10s + 3ns));
    TokenBucket huge(TokenBucketConfig{1'000'000, 366 * 24h});
    EXPECT_TRUE(huge.try_take(1'000'000, kStart));
    EXPECT_FALSE(huge.try_take(1, kStart));
}

// The plain model: a level that rises with time and is capped.
TEST(TokenBucket, AgreesWithTheModel) {
    static constexpr std::int64_t kTokens = 7;
    static constexpr Duration kPerToken{142'857'143};  // a second by seven, rounded up
    run_property([] {
        return [bucket = std::make_shared<TokenBucket>(TokenBucketConfig{kTokens, 1s}),
                level = kTokens * kPerToken, now = kStart](Random& random) mutable {
            const Duration step(random.below(200'000'000));
            now += step;
            level = std::min(level + step, kTokens * kPerToken);
            const auto amount = static_cast<std::int64_t>(random.below(kTokens)) + 1;
            const Duration cost = amount * kPerToken;
            const Instant when = level >= cost ? now : now + (cost - level);
            ASSERT_EQ(bucket->earliest(amount, now), when);
            const bool taken = bucket->try_take(amount, now);
            ASSERT_EQ(taken, when == now);
            level -= taken ? cost : Duration::zero();
            ASSERT_EQ(bucket->available(now), level / kPerToken);
        };
    });
}

}  // namespace
}  // namespace sluice::guard
