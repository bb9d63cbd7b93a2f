#include "web/dates.h"

#include "base/text.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <vector>

namespace sluice::web {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::sys_seconds;
using std::chrono::year_month_day;

// No provider writes a longer date; it bounds the words that are looked at.
constexpr std::size_t kMaxDateBytes = 64;

constexpr std::array<std::string_view, 12> kMonths = {
    "january", "february", "march",     "april",   "may",      "june",
    "july",    "august",   "september", "october", "november", "december"};
constexpr std::array<std::string_view, 7> kWeekdays = {
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"};

// A whole number of `min` to `max` digits and nothing else.
std::optional<int> digits(std::string_view text, std::size_t min, std::size_t max) {
    if (text.size() < min || text.size() > max) {
        return std::nullopt;
    }
    int value = 0;
    for (const char c : text) {
        if (c < '0' || c > '9') {
            return std::nullopt;
        }
        value = value * 10 + (c - '0');
    }
    return value;
}

// Position of the name that `word` abbreviates to at least three letters, "Sept." included.
template <std::size_t N>
std::optional<std::size_t> named(const std::array<std::string_view, N>& names,
                                 std::string_view word) {
    if (word.ends_with('.')) {
        word.remove_suffix(1);
    }
    if (word.size() < 3) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < N; ++i) {
        if (word.size() <= names[i].size() &&
            equals_ignoring_case(word, names[i].substr(0, word.size()))) {
            return i;
        }
    }
    return std::nullopt;
}

std::optional<sys_days> day_of(std::optional<int> year, std::optional<int> month,
                               std::optional<int> day) {
    if (!year || !month || !day || *year < 1) {
        return std::nullopt;
    }
    const year_month_day date{std::chrono::year(*year),
                              std::chrono::month(static_cast<unsigned>(*month)),
                              std::chrono::day(static_cast<unsigned>(*day))};
    if (!date.ok()) {
        return std::nullopt;
    }
    return sys_days(date);
}

// "2026-11-23"
std::optional<sys_days> iso_day(std::string_view text) {
    if (text.size() != 10 || text[4] != '-' || text[7] != '-') {
        return std::nullopt;
    }
    return day_of(digits(text.substr(0, 4), 4, 4), digits(text.substr(5, 2), 2, 2),
                  digits(text.substr(8, 2), 2, 2));
}

// "09:12" or "09:12:00", with any fraction of a second, which is dropped.
std::optional<seconds> time_of_day(std::string_view text) {
    if (const auto point = text.find_first_of(".,"); point != std::string_view::npos) {
        if (point != 8 || !digits(text.substr(point + 1), 1, 9)) {
            return std::nullopt;
        }
        text = text.substr(0, point);
    }
    if ((text.size() != 5 && text.size() != 8) || text[2] != ':' ||
        (text.size() == 8 && text[5] != ':')) {
        return std::nullopt;
    }
    const auto hour = digits(text.substr(0, 2), 2, 2);
    const auto minute = digits(text.substr(3, 2), 2, 2);
    const auto second = text.size() == 8 ? digits(text.substr(6, 2), 2, 2) : std::optional<int>(0);
    if (!hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 59) {
        return std::nullopt;
    }
    return std::chrono::hours(*hour) + minutes(*minute) + seconds(*second);
}

// What is east of Greenwich is positive: "Z", "GMT", "+0100", "-05:30".
std::optional<minutes> zone_offset(std::string_view text) {
    for (const std::string_view utc : {"Z", "GMT", "UTC", "UT"}) {
        if (equals_ignoring_case(text, utc)) {
            return minutes(0);
        }
    }
    if (text.size() < 5 || (text[0] != '+' && text[0] != '-')) {
        return std::nullopt;
    }
    const std::string_view minute_text = text.substr(text[3] == ':' ? 4 : 3);
    const auto hour = digits(text.substr(1, 2), 2, 2);
    const auto minute = digits(minute_text, 2, 2);
    if (!hour || !minute || *hour > 23 || *minute > 59) {
        return std::nullopt;
    }
    const auto offset = std::chrono::hours(*hour) + minutes(*minute);
    return text[0] == '-' ? -offset : offset;
}

std::optional<sys_seconds> from_iso(std::string_view text) {
    const auto day = iso_day(text.substr(0, 10));
    if (!day) {
        return std::nullopt;
    }
    std::string_view rest = text.substr(10);
    if (rest.empty()) {
        return *day;
    }
    if (rest[0] != 'T' && rest[0] != 't' && rest[0] != ' ') {
        return std::nullopt;
    }
    rest.remove_prefix(1);
    const auto zone_at = rest.find_first_of("Zz+-");
    const auto time = time_of_day(trim(rest.substr(0, zone_at)));
    const auto offset = zone_at == std::string_view::npos ? std::optional<minutes>(0)
                                                          : zone_offset(rest.substr(zone_at));
    if (!time || !offset) {
        return std::nullopt;
    }
    return *day + *time - *offset;
}

// Words separated by spaces; a comma after a word is dropped.
std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words = split_list(text, ' ');
    for (std::string_view& word : words) {
        if (word.ends_with(',')) {
            word.remove_suffix(1);
        }
    }
    return words;
}

// "[Mon,] 23 Nov 2026 [09:12:00 GMT]" or "[Monday,] Sep 14, 2026 [09:12 GMT]"
std::optional<sys_seconds> from_words(std::string_view text) {
    std::vector<std::string_view> words = words_of(text);
    if (!words.empty() && named(kWeekdays, words.front())) {
        words.erase(words.begin());
    }
    if (words.size() != 3 && words.size() != 5) {
        return std::nullopt;
    }
    const bool month_first = named(kMonths, words[0]).has_value();
    const auto month = named(kMonths, words[month_first ? 0 : 1]);
    if (!month) {
        return std::nullopt;
    }
    const auto day = day_of(digits(words[2], 4, 4), static_cast<int>(*month) + 1,
                            digits(words[month_first ? 1 : 0], 1, 2));
    if (!day || words.size() == 3) {
        return day;
    }
    const auto time = time_of_day(words[3]);
    const auto offset = zone_offset(words[4]);
    if (!time || !offset) {
        return std::nullopt;
    }
    return *day + *time - *offset;
}

void append_padded(std::string& out, unsigned value, std::size_t width) {
    std::array<char, 10> digits_of_value;
    const auto end = std::to_chars(digits_of_value.data(),
                                   digits_of_value.data() + digits_of_value.size(), value)
                         .ptr;
    const auto size = static_cast<std::size_t>(end - digits_of_value.data());
    out.append(width > size ? width - size : 0, '0');
    out.append(digits_of_value.data(), size);
}

}  // namespace

std::optional<std::string> to_rfc3339(std::string_view text) {
    text = trim(text);
    if (text.empty() || text.size() > kMaxDateBytes) {
        return std::nullopt;
    }
    const bool iso = text.size() >= 10 && text[4] == '-';
    const auto instant = iso ? from_iso(text) : from_words(text);
    if (!instant) {
        return std::nullopt;
    }
    const sys_days day = std::chrono::floor<std::chrono::days>(*instant);
    const year_month_day date(day);
    const int year = static_cast<int>(date.year());
    if (year < 1 || year > 9999) {  // the zone moved it out of what four digits can say
        return std::nullopt;
    }
    const std::chrono::hh_mm_ss since_midnight(*instant - day);
    std::string out;
    append_padded(out, static_cast<unsigned>(year), 4);
    out += '-';
    append_padded(out, static_cast<unsigned>(date.month()), 2);
    out += '-';
    append_padded(out, static_cast<unsigned>(date.day()), 2);
    out += 'T';
    append_padded(out, static_cast<unsigned>(since_midnight.hours().count()), 2);
    out += ':';
    append_padded(out, static_cast<unsigned>(since_midnight.minutes().count()), 2);
    out += ':';
    append_padded(out, static_cast<unsigned>(since_midnight.seconds().count()), 2);
    out += 'Z';
    return out;
}

}  // namespace sluice::web
