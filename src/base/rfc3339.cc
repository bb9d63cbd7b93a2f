#include "base/rfc3339.h"

#include <chrono>
#include <cstddef>

namespace sluice {

namespace {

void append_padded(std::string& out, unsigned value, int width) {
    char digits[4];
    for (int i = width - 1; i >= 0; --i) {
        digits[i] = static_cast<char>('0' + value % 10);
        value /= 10;
    }
    out.append(digits, static_cast<std::size_t>(width));
}

}  // namespace

std::string rfc3339(WallTime time, DateDigits digits) {
    const auto day = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date{day};
    const std::chrono::hh_mm_ss clock{std::chrono::floor<Millis>(time - day)};
    std::string out;
    out.reserve(sizeof("2000-01-01T00:00:00.000Z"));
    append_padded(out, static_cast<unsigned>(static_cast<int>(date.year())), 4);
    out += '-';
    append_padded(out, static_cast<unsigned>(date.month()), 2);
    out += '-';
    append_padded(out, static_cast<unsigned>(date.day()), 2);
    out += 'T';
    append_padded(out, static_cast<unsigned>(clock.hours().count()), 2);
    out += ':';
    append_padded(out, static_cast<unsigned>(clock.minutes().count()), 2);
    out += ':';
    append_padded(out, static_cast<unsigned>(clock.seconds().count()), 2);
    if (digits == DateDigits::kMilliseconds) {
        out += '.';
        append_padded(out, static_cast<unsigned>(clock.subseconds().count()), 3);
    }
    out += 'Z';
    return out;
}

}  // namespace sluice
