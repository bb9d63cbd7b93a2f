// How long what a run is made of can last.
#pragma once

#include "base/clock.h"

#include <chrono>

namespace sluice::sim {

// Every search that is under way is over by then, with all that it holds: the longest deadline.
inline constexpr Millis kLongestSearch{60'000};
// Every rest and every circuit is.
inline constexpr Millis kLongestRest = std::chrono::hours(24) * 33;

}  // namespace sluice::sim
