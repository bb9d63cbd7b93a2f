#include "access/spending.h"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>

namespace sluice::access {
namespace {

using namespace std::chrono;

// A price that binary fractions can't hold exactly is still the right number of millionths.
TEST(Spending, DollarsBecomeExactMillionths) {
    EXPECT_EQ(to_micro_usd(0.1), 100'000);
    EXPECT_EQ(to_micro_usd(0.000001), 1);
    EXPECT_EQ(to_micro_usd(4.35), 4'350'000);
    EXPECT_EQ(to_micro_usd(1e9), 1'000'000'000'000'000);
}

// People read dollars without trailing zeros.
TEST(Spending, MillionthsAreShownAsDollars) {
    EXPECT_EQ(format_usd(0), "0");
    EXPECT_EQ(format_usd(1), "0.000001");
    EXPECT_EQ(format_usd(12'500'000), "12.5");
    EXPECT_EQ(format_usd(3'000'000), "3");
}

// A sum that has no room ends at the largest number and does not turn negative.
TEST(Spending, SumsDoNotOverflow) {
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    Spent spent{kMost - 1, 5, kMost};
    spent += Spent{2, 5, 1};
    EXPECT_EQ(spent, (Spent{kMost, 10, kMost}));
}

// A provider's word about a cost is believed within bounds only.
TEST(Spending, ACostIsBounded) {
    EXPECT_EQ(bounded(Spent{7, -3, -1}), (Spent{1, 0, 0}));
    EXPECT_EQ(bounded(Spent{1, 1'000'000'000, kMaxCallMicroUsd + 1}),
              (Spent{1, kMaxCallUnits, kMaxCallMicroUsd}));
}

// A day's budget is whole again at the next midnight, a month's on the next first, the total never.
TEST(Spending, BudgetsResetWithTheCalendar) {
    const UtcDay day = 2026y / December / 31;
    EXPECT_EQ(resets_at(Period::kDay, day), UtcDay(2027y / January / 1));
    EXPECT_EQ(resets_at(Period::kMonth, UtcDay(2026y / December / 1)), UtcDay(2027y / January / 1));
    EXPECT_EQ(resets_at(Period::kTotal, day), std::nullopt);
}

// A token's own limit wins, its 0 lifts the default, and what it does not say is the default's.
TEST(Spending, OwnLimitsGoOverDefaults) {
    Limits defaults;
    defaults.calls = {10, 20, 30};
    defaults.micro_usd = {100, 200, 300};
    OwnLimits own;
    own.calls[index_of(Period::kDay)] = 5;
    own.micro_usd[index_of(Period::kMonth)] = 0;
    const Limits limits = own.over(defaults);
    EXPECT_EQ(limits.calls, (std::array<std::int64_t, 3>{5, 20, 30}));
    EXPECT_EQ(limits.micro_usd, (std::array<std::int64_t, 3>{100, 0, 300}));
}

}  // namespace
}  // namespace sluice::access
