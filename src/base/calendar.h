// Days of the UTC calendar. Pure functions; any thread. Instants as text are base/rfc3339.h.
#pragma once

#include "base/clock.h"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

// A day of the UTC calendar, as days since 1970-01-01. The type converts to WallTime: its midnight.
using UtcDay = std::chrono::sys_days;

UtcDay utc_day(WallTime time);
UtcDay first_of_month(UtcDay day);
UtcDay first_of_next_month(UtcDay day);

// "2026-11-30", of the years 0 to 9999.
std::string format_day(UtcDay day);
// Exactly that form, of a day that exists; nothing for everything else.
std::optional<UtcDay> parse_day(std::string_view text);

}  // namespace sluice
