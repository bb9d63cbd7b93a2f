#include "web/pacing.h"

#include <algorithm>

namespace sluice::web {

namespace {

// A window that is used up and says that it begins anew right away.
constexpr Millis kShortestRest{1};

KeyRest rest_of(const RateWindow& window) {
    const bool is_quota = window.length >= kQuotaWindow;
    KeyRest rest;
    rest.status = is_quota ? KeyStatus::kExhausted : KeyStatus::kCooling;
    // A pace never rests longer than its window, whatever the answer says.
    const Millis longest = is_quota ? kLongestWindow : std::max(window.length, kShortestRest);
    rest.time = std::clamp(window.reset, kShortestRest, longest);
    return rest;
}

}  // namespace

std::optional<KeyRest> rest_by_pace(std::span<const RateWindow> windows) {
    std::optional<KeyRest> rest;
    for (const RateWindow& window : windows) {
        if (window.limit > 0 && window.remaining <= 0) {
            rest = longer(rest, rest_of(window));
        }
    }
    return rest;
}

std::optional<KeyRest> longer(const std::optional<KeyRest>& a, const std::optional<KeyRest>& b) {
    if (!a || !b) {
        return a ? a : b;
    }
    return a->time >= b->time ? a : b;
}

}  // namespace sluice::web
