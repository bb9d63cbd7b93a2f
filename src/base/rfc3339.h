// Dates as our own answers and log lines write them (RFC 3339 in UTC). Pure; any thread. Reading
// what others write is web/dates.h.
#pragma once

#include "base/clock.h"

#include <cstdint>
#include <string>

namespace sluice {

enum class DateDigits : std::uint8_t { kSeconds, kMilliseconds };

// "2026-11-23T09:12:00Z", or with milliseconds "2026-11-23T09:12:00.250Z"; what is finer is cut.
// For the years 0 to 9999: what a WallTime holds lies within them.
std::string rfc3339(WallTime time, DateDigits digits = DateDigits::kSeconds);

}  // namespace sluice
