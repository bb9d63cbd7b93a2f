#include "base/calendar.h"

#include <charconv>
#include <cstddef>

namespace sluice {

namespace {

using std::chrono::year_month_day;

constexpr std::size_t kDayTextSize = std::string_view("2026-11-30").size();

// All of `digits` as a number; nothing when one is no digit.
std::optional<unsigned> number_of(std::string_view digits) {
    unsigned number = 0;
    const char* end = digits.data() + digits.size();
    const auto [stopped, error] = std::from_chars(digits.data(), end, number);
    if (error != std::errc() || stopped != end) {
        return std::nullopt;
    }
    return number;
}

}  // namespace

UtcDay utc_day(WallTime time) {
    return std::chrono::floor<std::chrono::days>(time);
}

UtcDay first_of_month(UtcDay day) {
    const year_month_day date(day);
    return UtcDay(date.year() / date.month() / 1);
}

UtcDay first_of_next_month(UtcDay day) {
    const year_month_day first(first_of_month(day));
    return UtcDay(first + std::chrono::months(1));
}

// Not by way of rfc3339(): its nanoseconds end with the year 2262.
std::string format_day(UtcDay day) {
    const year_month_day date(day);
    std::string text(kDayTextSize, '-');
    const auto put = [&text](std::size_t end, unsigned value, std::size_t digits) {
        for (; digits > 0; --digits) {
            end -= 1;
            text[end] = static_cast<char>('0' + value % 10);
            value /= 10;
        }
    };
    put(4, static_cast<unsigned>(static_cast<int>(date.year())), 4);
    put(7, static_cast<unsigned>(date.month()), 2);
    put(10, static_cast<unsigned>(date.day()), 2);
    return text;
}

std::optional<UtcDay> parse_day(std::string_view text) {
    if (text.size() != kDayTextSize || text[4] != '-' || text[7] != '-') {
        return std::nullopt;
    }
    const auto year = number_of(text.substr(0, 4));
    const auto month = number_of(text.substr(5, 2));
    const auto day = number_of(text.substr(8, 2));
    if (!year || !month || !day) {
        return std::nullopt;
    }
    const year_month_day date{std::chrono::year(static_cast<int>(*year)),
                              std::chrono::month(*month), std::chrono::day(*day)};
    if (!date.ok()) {
        return std::nullopt;
    }
    return UtcDay(date);
}

}  // namespace sluice
