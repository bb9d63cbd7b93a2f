#include "web/pacific_time.h"

#include "base/rfc3339.h"
#include "case_file.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::web {
namespace {

struct Row {
    std::string_view now;
    std::string_view midnight;
};

// Midnight is at 08:00 UTC in winter and at 07:00 UTC in summer, on the days of change as well.
TEST(PacificTime, NextMidnight) {
    constexpr Row kRows[] = {
        {"2026-11-30T12:00:00Z", "2026-12-01T08:00:00Z"},
        {"2026-12-01T07:59:59Z", "2026-12-01T08:00:00Z"},
        {"2026-12-01T08:00:00Z", "2026-12-02T08:00:00Z"},
        {"2026-07-01T06:59:59Z", "2026-07-01T07:00:00Z"},
        {"2026-07-01T07:00:00Z", "2026-07-02T07:00:00Z"},
        // Daylight saving time begins on 8 March 2026 at 10:00 UTC.
        {"2026-03-08T07:59:59Z", "2026-03-08T08:00:00Z"},
        {"2026-03-08T08:00:00Z", "2026-03-09T07:00:00Z"},
        {"2026-03-08T10:00:00Z", "2026-03-09T07:00:00Z"},
        // It ends on 1 November 2026 at 09:00 UTC.
        {"2026-11-01T06:59:59Z", "2026-11-01T07:00:00Z"},
        {"2026-11-01T07:00:00Z", "2026-11-02T08:00:00Z"},
        {"2026-11-01T09:00:00Z", "2026-11-02T08:00:00Z"},
        // The earliest and the latest days that the rule knows: 8 to 14 March, 1 to 7 November.
        {"2027-03-14T12:00:00Z", "2027-03-15T07:00:00Z"},
        {"2027-03-13T12:00:00Z", "2027-03-14T08:00:00Z"},
        {"2027-11-07T12:00:00Z", "2027-11-08T08:00:00Z"},
        {"2027-11-06T12:00:00Z", "2027-11-07T07:00:00Z"},
        // Across a year.
        {"2026-12-31T20:00:00Z", "2027-01-01T08:00:00Z"},
        {"2028-02-29T08:00:00Z", "2028-03-01T08:00:00Z"},
    };
    for (const Row& row : kRows) {
        EXPECT_EQ(rfc3339(next_pacific_midnight(testing::read_time(row.now))), row.midnight)
            << row.now;
    }
}

}  // namespace
}  // namespace sluice::web
