// What a provider's own count of our calls asks of the key that it was sent with. Pure; any thread.
#pragma once

#include "base/clock.h"
#include "web/key_runtime.h"
#include "web/provider.h"

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>

namespace sluice::web {

// Windows of one answer that are looked at.
inline constexpr std::size_t kMaxRateWindows = 4;

// A window of at least this length is a quota: a key without any of it left is exhausted. A shorter
// one is a pace: the key only waits for its next turn, and nobody is to blame.
inline constexpr Millis kQuotaWindow = std::chrono::hours(1);

// However far off a reset is said to be.
inline constexpr Millis kLongestWindow = std::chrono::days(32);

// The rest of the windows that have nothing left, the longest of them: kExhausted of a quota, else
// kCooling. Nothing while every window has room.
std::optional<KeyRest> rest_by_pace(std::span<const RateWindow> windows);

// The one that ends later; nothing of two that are nothing.
std::optional<KeyRest> longer(const std::optional<KeyRest>& a, const std::optional<KeyRest>& b);

}  // namespace sluice::web
