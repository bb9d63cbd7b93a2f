// Dates as answers and log lines show them.
#include "base/rfc3339.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

using namespace std::chrono_literals;

// Every part has its fixed width, and what is finer than asked for is cut, not rounded.
TEST(Rfc3339Test, WritesFixedWidthsAndCuts) {
    const WallTime day = std::chrono::sys_days(std::chrono::year(2026) / 3 / 7);
    const WallTime time = day + 4h + 5min + 6s + 78ms + 999us;
    EXPECT_EQ(rfc3339(time), "2026-03-07T04:05:06Z");
    EXPECT_EQ(rfc3339(time, DateDigits::kMilliseconds), "2026-03-07T04:05:06.078Z");
}

// The day before the epoch is a day too.
TEST(Rfc3339Test, KnowsTimesBeforeTheEpoch) {
    EXPECT_EQ(rfc3339(WallTime{} - 1s), "1969-12-31T23:59:59Z");
}

}  // namespace
}  // namespace sluice
