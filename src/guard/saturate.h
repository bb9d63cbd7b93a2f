// Arithmetic on points in time that ends at the last one instead of overflowing.
#pragma once

#include <chrono>

namespace sluice::guard {

// `from` + `length`, or the last representable point in time if that is beyond it. `length` is not
// negative.
template <class Clock, class Unit>
constexpr std::chrono::time_point<Clock, Unit> add_saturating(
    std::chrono::time_point<Clock, Unit> from, Unit length) {
    constexpr auto kLast = std::chrono::time_point<Clock, Unit>::max();
    if (from.time_since_epoch() > Unit::zero() && length > kLast - from) {
        return kLast;
    }
    return from + length;
}

}  // namespace sluice::guard
