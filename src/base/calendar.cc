#include "base/calendar.h"

#include "base/rfc3339.h"

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

std::string format_day(UtcDay day) {
    return rfc3339(day).substr(0, kDayTextSize);
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
