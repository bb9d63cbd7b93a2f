#include "guard/retry_after.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace sluice::guard {
namespace {

using namespace std::chrono_literals;

// Sun, 06 Nov 1994 08:49:37 GMT, the date of the RFC's own examples.
constexpr WallTime kExample{784'111'777s};

struct Case {
    const char* value;
    std::optional<Millis> wait;  // asked ten seconds before kExample
};

// Every form that servers may send, and the limits that keep a strange one from parking a key.
TEST(RetryAfter, ParsesEveryForm) {
    const Case cases[] = {
        {"0", 1s},
        {"1", 1s},
        {"120", 120s},
        {"  30\t", 30s},
        {"007", 7s},
        {"86400", 24h},
        {"86401", 24h},
        {"99999999999999999999999999", 24h},
        {"Sun, 06 Nov 1994 08:49:37 GMT", 10s},
        {"Sunday, 06-Nov-94 08:49:37 GMT", 10s},
        {"Sun Nov  6 08:49:37 1994", 10s},
        {"Sun Nov 06 08:49:37 1994", 10s},
        {"Sun, 06 Nov 1994 08:49:27 GMT", 1s},
        {"Sun, 06 Nov 1994 00:00:00 GMT", 1s},
        {"Thu, 01 Jan 1970 00:00:00 GMT", 1s},
        {"Mon, 07 Nov 1994 08:49:37 GMT", 24h},
        {"Fri, 31 Dec 2199 23:59:59 GMT", 24h},
        {"Mon, 01 Jan 1900 00:00:00 GMT", 1s},
        // As far as four digits go: a long rest is asked for, however long.
        {"Thu, 01 Jan 2201 00:00:00 GMT", 24h},
        {"Fri, 31 Dec 9999 23:59:59 GMT", 24h},
        {"Fri Dec 31 23:59:59 9999", 24h},
        {"Sat, 01 Jan 0000 00:00:00 GMT", 1s},
        {"Sun, 31 Dec 1899 23:59:59 GMT", 1s},
        {"Fri, 31 Feb 9999 23:59:59 GMT", std::nullopt},
        {"Fri, 31 Dec 10000 23:59:59 GMT", std::nullopt},
        // The day of the week does not have to be right.
        {"Mon, 06 Nov 1994 08:49:37 GMT", 10s},
        {"", std::nullopt},
        {" ", std::nullopt},
        {"-1", std::nullopt},
        {"+1", std::nullopt},
        {"1.5", std::nullopt},
        {"1s", std::nullopt},
        {"12 34", std::nullopt},
        {"soon", std::nullopt},
        {"Sun, 06 Nov 1994 08:49:37", std::nullopt},
        {"Sun, 06 Nov 1994 08:49:37 GMT+1", std::nullopt},
        {"Sun, 06 Nov 1994 08:49:37 CET", std::nullopt},
        {"Sun, 6 Nov 1994 08:49:37 GMT", std::nullopt},
        {"sun, 06 nov 1994 08:49:37 gmt", std::nullopt},
        {"Xyz, 06 Nov 1994 08:49:37 GMT", std::nullopt},
        {"Sun, 06 Now 1994 08:49:37 GMT", std::nullopt},
        {"Sun, 31 Feb 1994 08:49:37 GMT", std::nullopt},
        {"Sun, 00 Nov 1994 08:49:37 GMT", std::nullopt},
        {"Sun, 06 Nov 1994 24:00:00 GMT", std::nullopt},
        {"Sun, 06 Nov 1994 08:60:00 GMT", std::nullopt},
        {"Sun, 06 Nov 1994 08:49:61 GMT", std::nullopt},
        {"Sun, 06-Nov-94 08:49:37 GMT", std::nullopt},
        {"Sunday, 06 Nov 1994 08:49:37 GMT", std::nullopt},
        {"Sun Nov 6 08:49:37 1994", std::nullopt},
        {"Sun Nov  6 08:49:37 1994 GMT", std::nullopt},
    };
    for (const Case& c : cases) {
        EXPECT_EQ(parse_retry_after(c.value, kExample - 10s), c.wait) << '"' << c.value << '"';
    }
}

// Part of a second is waited for too, or the retry would come a moment early.
TEST(RetryAfter, RoundsUp) {
    EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", kExample - 2s + 1ns), 2000ms);
    EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:49:37 GMT", kExample - 2500ms), 2500ms);
}

// A leap second is a time like any other.
TEST(HttpDate, AcceptsLeapSeconds) {
    const auto leap = parse_http_date("Sat, 31 Dec 2016 23:59:60 GMT", kExample);
    ASSERT_TRUE(leap.has_value());
    EXPECT_EQ(*leap, *parse_http_date("Sat, 31 Dec 2016 23:59:59 GMT", kExample));
}

struct YearCase {
    int now;
    const char* two_digits;
    int year;
};

// Two digits of a year mean the past when they would be more than fifty years ahead.
TEST(HttpDate, CompletesYears) {
    const YearCase cases[] = {{1994, "94", 1994}, {1994, "44", 2044}, {1994, "45", 1945},
                              {2026, "94", 1994}, {2026, "76", 2076}, {2026, "77", 1977},
                              {2026, "00", 2000}, {2099, "00", 2100}, {2049, "99", 2099},
                              {2048, "99", 1999}};
    for (const YearCase& c : cases) {
        const WallTime now = std::chrono::sys_days(std::chrono::year(c.now) / 6 / 1);
        const auto date =
            parse_http_date("Sunday, 06-Nov-" + std::string(c.two_digits) + " 08:49:37 GMT", now);
        ASSERT_TRUE(date.has_value()) << c.now << " " << c.two_digits;
        const auto day = std::chrono::floor<std::chrono::days>(*date);
        EXPECT_EQ(static_cast<int>(std::chrono::year_month_day(day).year()), c.year)
            << c.now << " " << c.two_digits;
    }
}

}  // namespace
}  // namespace sluice::guard
