// What a provider's own count of our calls leads to: moments of patience for a pace, a long rest
// for a quota, and blame for nobody who is not to blame.
#include "web/pacing.h"

#include <gtest/gtest.h>

#include <vector>

namespace sluice::web {
namespace {

using namespace std::chrono_literals;

RateWindow window(Millis length, std::int64_t limit, std::int64_t remaining, Millis reset) {
    RateWindow made;
    made.length = length;
    made.limit = limit;
    made.remaining = remaining;
    made.reset = reset;
    return made;
}

constexpr Millis kMonth = std::chrono::hours(24 * 30);

// Room in every window asks for nothing.
TEST(PacingTest, RoomAsksForNothing) {
    EXPECT_FALSE(rest_after({}));
    const std::vector<RateWindow> windows{window(1s, 1, 1, 1s), window(kMonth, 2000, 5, 389223s)};
    EXPECT_FALSE(rest_after(windows));
}

// A pace that is reached lets the key rest for moments; the quota is untouched.
TEST(PacingTest, PaceIsAShortRest) {
    const std::vector<RateWindow> windows{window(1s, 1, 0, 1s),
                                          window(kMonth, 2000, 1977, 389223s)};
    const auto rest = rest_after(windows);
    ASSERT_TRUE(rest);
    EXPECT_EQ(rest->status, KeyStatus::kCooling);
    EXPECT_EQ(rest->time, 1s);
}

// A quota that is used up exhausts the key until the window begins anew, whatever the pace says.
TEST(PacingTest, QuotaIsALongRest) {
    const std::vector<RateWindow> windows{window(1s, 1, 0, 1s), window(kMonth, 2000, 0, 389223s)};
    const auto rest = rest_after(windows);
    ASSERT_TRUE(rest);
    EXPECT_EQ(rest->status, KeyStatus::kExhausted);
    EXPECT_EQ(rest->time, 389223s);
}

// A single window is judged by its length, not by being the only one.
TEST(PacingTest, OneWindowIsJudgedByItsLength) {
    EXPECT_EQ(rest_after(std::vector<RateWindow>{window(1s, 50, 0, 1s)})->status,
              KeyStatus::kCooling);
    EXPECT_EQ(rest_after(std::vector<RateWindow>{window(kMonth, 50, 0, 60s)})->status,
              KeyStatus::kExhausted);
}

// What an answer says is not believed beyond reason: no limit is no limit, a pace never rests
// longer than its window, a quota never longer than a month.
TEST(PacingTest, AbsurdWindowsAreBounded) {
    EXPECT_FALSE(rest_after(std::vector<RateWindow>{window(1s, 0, 0, 1s)}));
    EXPECT_EQ(rest_after(std::vector<RateWindow>{window(1s, 5, -3, 9000s)})->time, 1s);
    EXPECT_EQ(rest_after(std::vector<RateWindow>{window(1s, 5, 0, -5s)})->time, 1ms);
    EXPECT_EQ(rest_after(std::vector<RateWindow>{window(0ms, 5, 0, 9000s)})->time, 1ms);
    EXPECT_EQ(rest_after(std::vector<RateWindow>{window(kMonth, 5, 0, Millis::max())})->time,
              kLongestWindow);
}

// Of two rests the one that ends later counts.
TEST(PacingTest, LongerRestCounts) {
    const KeyRest pace{KeyStatus::kCooling, 1s, Reach::kKey};
    const KeyRest refused{KeyStatus::kQuarantined, 900s, Reach::kAccount};
    EXPECT_EQ(longer(pace, refused)->status, KeyStatus::kQuarantined);
    EXPECT_EQ(longer(refused, pace)->status, KeyStatus::kQuarantined);
    EXPECT_EQ(longer(std::nullopt, pace)->status, KeyStatus::kCooling);
    EXPECT_FALSE(longer(std::nullopt, std::nullopt));
}

}  // namespace
}  // namespace sluice::web
