// Dates as providers write them. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice::web {

// The instant as RFC 3339 in UTC, to the second: "2026-11-23T09:12:00Z". Understood are
//   2026-11-23, 2026-11-23T09:12:00.5+01:00   ISO 8601; without a zone it is UTC
//   Mon, 23 Nov 2026 09:12:00 GMT             RFC 1123, numeric zones too
//   Sep 14, 2026 and 14 September 2026        English, as search results show it
// A date without a time is its midnight. Anything that could mean two days gives nothing: relative
// words ("3 hours ago"), days and months as bare numbers, a month without a day, times of an
// unnamed zone.
std::optional<std::string> to_rfc3339(std::string_view text);

}  // namespace sluice::web
