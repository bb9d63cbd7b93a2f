#include "guard/retry_after.h"

#include "base/text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::guard {

namespace {

constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> kDays = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                                   "Friday", "Saturday", "Sunday"};
constexpr std::size_t kShortDayLength = 3;
constexpr int kFirstYear = 1900;
constexpr int kLastYear = 2200;

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// Reads a text from its front. Each step fails without an effect once an earlier one has failed, so
// a whole format is written down and asked once whether it fitted.
class Scanner {
 public:
    explicit Scanner(std::string_view text) : rest_(text) {}

    bool fits() const { return fits_ && rest_.empty(); }

    Scanner& literal(std::string_view text) {
        fits_ = fits_ && rest_.starts_with(text);
        advance(text.size());
        return *this;
    }

    Scanner& number(std::size_t digits, unsigned& out) {
        fits_ = fits_ && rest_.size() >= digits &&
                std::all_of(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(digits),
                            is_digit);
        if (fits_) {
            out = 0;
            for (const char c : rest_.substr(0, digits)) {
                out = out * 10 + static_cast<unsigned>(c - '0');
            }
        }
        advance(digits);
        return *this;
    }

    // asctime's day of the month: two characters, the first may be a space.
    Scanner& padded_day(unsigned& out) {
        if (fits_ && rest_.starts_with(' ')) {
            advance(1);
            return number(1, out);
        }
        return number(2, out);
    }

    Scanner& time(std::chrono::seconds& out) {
        unsigned hour = 0;
        unsigned minute = 0;
        unsigned second = 0;
        number(2, hour).literal(":").number(2, minute).literal(":").number(2, second);
        fits_ = fits_ && hour < 24 && minute < 60 && second <= 60;
        out = std::chrono::hours(hour) + std::chrono::minutes(minute) +
              std::chrono::seconds(std::min(second, 59U));
        return *this;
    }

    Scanner& month(unsigned& out) {
        for (std::size_t i = 0; fits_ && i < kMonths.size(); ++i) {
            if (rest_.starts_with(kMonths[i])) {
                out = static_cast<unsigned>(i) + 1;
                advance(kMonths[i].size());
                return *this;
            }
        }
        fits_ = false;
        return *this;
    }

    Scanner& short_day() { return day_name(kShortDayLength); }
    Scanner& long_day() { return day_name(std::string_view::npos); }

 private:
    Scanner& day_name(std::size_t length) {
        for (const std::string_view day : kDays) {
            const std::string_view name = day.substr(0, length);
            if (fits_ && rest_.starts_with(name)) {
                advance(name.size());
                return *this;
            }
        }
        fits_ = false;
        return *this;
    }

    void advance(std::size_t count) {
        if (fits_) {
            rest_.remove_prefix(count);
        }
    }

    std::string_view rest_;
    bool fits_ = true;
};

struct Date {
    unsigned year = 0;
    unsigned month = 0;
    unsigned day = 0;
    std::chrono::seconds time{};
};

std::optional<WallTime> to_time(const Date& date) {
    const std::chrono::year_month_day ymd{std::chrono::year(static_cast<int>(date.year)),
                                          std::chrono::month(date.month),
                                          std::chrono::day(date.day)};
    if (!ymd.ok()) {
        return std::nullopt;
    }
    // A WallTime in nanoseconds can't express all of four digits.
    if (ymd.year() < std::chrono::year(kFirstYear)) {
        return WallTime(std::chrono::sys_days(std::chrono::year(kFirstYear) / 1 / 1));
    }
    if (ymd.year() > std::chrono::year(kLastYear)) {
        return WallTime(std::chrono::sys_days(std::chrono::year(kLastYear) / 12 / 31));
    }
    return WallTime(std::chrono::sys_days(ymd)) + date.time;
}

unsigned full_year(unsigned two_digits, WallTime now) {
    const auto today = std::chrono::floor<std::chrono::days>(now);
    const int this_year = static_cast<int>(std::chrono::year_month_day(today).year());
    int year = this_year - this_year % 100 + static_cast<int>(two_digits);
    if (year > this_year + 50) {
        year -= 100;
    } else if (year + 100 <= this_year + 50) {
        year += 100;
    }
    return static_cast<unsigned>(std::max(year, 0));
}

// Whole seconds, as many digits as there may be.
std::optional<Millis> parse_seconds(std::string_view text) {
    if (text.empty() || !std::all_of(text.begin(), text.end(), is_digit)) {
        return std::nullopt;
    }
    constexpr std::int64_t kMax =
        std::chrono::duration_cast<std::chrono::seconds>(kMaxRetryAfter).count();
    std::int64_t seconds = 0;
    for (const char c : text) {
        seconds = std::min(seconds * 10 + (c - '0'), kMax);
    }
    return std::chrono::seconds(seconds);
}

}  // namespace

std::optional<WallTime> parse_http_date(std::string_view text, WallTime now) {
    Date date;
    // Sun, 06 Nov 1994 08:49:37 GMT
    if (Scanner(text)
            .short_day()
            .literal(", ")
            .number(2, date.day)
            .literal(" ")
            .month(date.month)
            .literal(" ")
            .number(4, date.year)
            .literal(" ")
            .time(date.time)
            .literal(" GMT")
            .fits()) {
        return to_time(date);
    }
    // Sunday, 06-Nov-94 08:49:37 GMT
    if (Scanner(text)
            .long_day()
            .literal(", ")
            .number(2, date.day)
            .literal("-")
            .month(date.month)
            .literal("-")
            .number(2, date.year)
            .literal(" ")
            .time(date.time)
            .literal(" GMT")
            .fits()) {
        date.year = full_year(date.year, now);
        return to_time(date);
    }
    // Sun Nov  6 08:49:37 1994
    if (Scanner(text)
            .short_day()
            .literal(" ")
            .month(date.month)
            .literal(" ")
            .padded_day(date.day)
            .literal(" ")
            .time(date.time)
            .literal(" ")
            .number(4, date.year)
            .fits()) {
        return to_time(date);
    }
    return std::nullopt;
}

std::optional<Millis> parse_retry_after(std::string_view value, WallTime now) {
    const std::string_view text = trim(value);
    std::optional<Millis> wait = parse_seconds(text);
    if (!wait) {
        const std::optional<WallTime> date = parse_http_date(text, now);
        if (!date) {
            return std::nullopt;
        }
        // Compared before it is subtracted, since far dates are too far apart to subtract.
        if (*date <= now) {
            return kMinRetryAfter;
        }
        if (*date >= now + kMaxRetryAfter) {
            return kMaxRetryAfter;
        }
        wait = std::chrono::ceil<Millis>(*date - now);
    }
    return std::clamp(*wait, kMinRetryAfter, kMaxRetryAfter);
}

}  // namespace sluice::guard
