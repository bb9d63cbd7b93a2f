#include "base/calendar.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string_view>

namespace sluice {
namespace {

using namespace std::chrono;
using namespace std::chrono_literals;

// A day begins at midnight UTC and not a moment earlier.
TEST(Calendar, ADayBeginsAtMidnightUtc) {
    const UtcDay new_year = 2027y / January / 1;
    EXPECT_EQ(utc_day(new_year), new_year);
    EXPECT_EQ(utc_day(WallTime(new_year) - 1us), UtcDay(2026y / December / 31));
}

// Months have their own lengths, and December is followed by another year.
TEST(Calendar, MonthsEndWhereTheyEnd) {
    EXPECT_EQ(first_of_month(2026y / November / 30), UtcDay(2026y / November / 1));
    EXPECT_EQ(first_of_month(2026y / November / 1), UtcDay(2026y / November / 1));
    EXPECT_EQ(first_of_next_month(2026y / December / 31), UtcDay(2027y / January / 1));
    EXPECT_EQ(first_of_next_month(2028y / February / 29), UtcDay(2028y / March / 1));
}

// What is written can be read again.
TEST(Calendar, DaysSurviveBeingWritten) {
    for (const UtcDay day : {UtcDay(1970y / January / 1), UtcDay(2028y / February / 29)}) {
        EXPECT_EQ(parse_day(format_day(day)), day);
    }
    EXPECT_EQ(format_day(2026y / March / 7), "2026-03-07");
    // What nanoseconds can't count.
    EXPECT_EQ(format_day(9999y / December / 31), "9999-12-31");
    EXPECT_EQ(format_day(1y / January / 1), "0001-01-01");
}

// Nothing but a day of the calendar is taken for one.
TEST(Calendar, OnlyDaysAreRead) {
    for (const std::string_view text :
         {"", "2026-11", "2026-11-3", "2026-13-01", "2027-02-29", "2026-00-10", "2026/11/30",
          "20261130", "-026-11-30", "2026-+1-30", "2026-11-30T00:00:00Z", "today"}) {
        EXPECT_EQ(parse_day(text), std::nullopt) << text;
    }
}

}  // namespace
}  // namespace sluice
