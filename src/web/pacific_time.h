// The day in California, by which Google counts. The rule of the United States since 2007 is
// written out here, since no time-zone database can be relied on. Pure function.
#pragma once

#include "base/clock.h"

namespace sluice::web {

// The first midnight in Pacific time after `now`: 08:00 UTC in winter, 07:00 UTC while daylight
// saving time is in force (from the second Sunday of March to the first one of November, at two in
// the morning).
WallTime next_pacific_midnight(WallTime now);

}  // namespace sluice::web
