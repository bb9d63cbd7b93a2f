// What an HTTP Retry-After header asks for (RFC 9110 section 10.2.3).
#pragma once

#include "base/clock.h"
#include "base/result.h"

#include <chrono>
#include <optional>
#include <string_view>

namespace sluice::guard {

inline constexpr Millis kMinRetryAfter = std::chrono::seconds(1);
inline constexpr Millis kMaxRetryAfter = std::chrono::hours(24);

// How long to wait from `now` on: seconds as they stand, or the time until a date in any of the
// three forms that RFC 9110 section 5.6.7 has. Kept between kMinRetryAfter and kMaxRetryAfter, so a
// date in the past is the former. Nothing when it is neither; white space around it is ignored.
std::optional<Millis> parse_retry_after(std::string_view value, WallTime now);

// An HTTP date: IMF-fixdate, RFC 850 (two digits of the year: the one that is at most 50 years
// ahead of `now`) or asctime. The day of the week must be one but is not checked against the date.
// A leap second counts as the second before it. What lies before 1900 or after 2200 is the first or
// the last of those days.
std::optional<WallTime> parse_http_date(std::string_view text, WallTime now);

}  // namespace sluice::guard
