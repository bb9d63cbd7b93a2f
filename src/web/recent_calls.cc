#include "web/recent_calls.h"

#include "base/result.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sluice::web {

void RecentCalls::add_success(Millis latency) {
    add_latency(latency);
    add_outcome(true);
}

void RecentCalls::add_cut_off(Millis elapsed) {
    const std::optional<Millis> slow = latency(kSlowShare);
    if (slow && elapsed >= *slow) {
        add_latency(elapsed);
    }
}

void RecentCalls::add_latency(Millis latency) {
    constexpr Millis::rep kLargest = std::numeric_limits<std::uint32_t>::max();
    latencies_ms_[successes_ % kRemembered] =
        static_cast<std::uint32_t>(std::clamp<Millis::rep>(latency.count(), 0, kLargest));
    successes_ += 1;
}

void RecentCalls::add_failure() {
    add_outcome(false);
}

void RecentCalls::add_outcome(bool success) {
    outcomes_[calls_ % kRemembered] = success;
    calls_ += 1;
}

std::optional<Millis> RecentCalls::latency(double share) const {
    SLUICE_ASSERT(share >= 0 && share <= 1);
    const std::size_t known = std::min(successes_, kRemembered);
    if (known < kEnough) {
        return std::nullopt;
    }
    std::array<std::uint32_t, kRemembered> sorted = latencies_ms_;
    // The smallest value that at least this share of them does not exceed.
    const auto wanted = static_cast<std::size_t>(std::ceil(share * static_cast<double>(known)));
    const auto place = static_cast<std::ptrdiff_t>(wanted == 0 ? 0 : wanted - 1);
    const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(known);
    std::nth_element(sorted.begin(), sorted.begin() + place, end);
    return Millis(sorted[static_cast<std::size_t>(place)]);
}

RecentCalls::Summary RecentCalls::summary() const {
    return {latency(0.5), latency(kSlowShare), success_ratio()};
}

std::optional<double> RecentCalls::success_ratio() const {
    const std::size_t known = std::min(calls_, kRemembered);
    if (known == 0) {
        return std::nullopt;
    }
    const auto end = outcomes_.begin() + static_cast<std::ptrdiff_t>(known);
    const auto good = std::count(outcomes_.begin(), end, true);
    return static_cast<double>(good) / static_cast<double>(known);
}

}  // namespace sluice::web
