// The words of money: what was spent, by whom, and how much may be. Amounts are whole numbers:
// calls, a provider's own units, and millionths of a US dollar.
#pragma once

#include "base/calendar.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::access {

inline constexpr std::int64_t kMicroUsd = 1'000'000;  // of one US dollar

// Budgets and amounts beyond it are refused where they come in, so that sums fit 64 bits.
inline constexpr std::int64_t kMaxBudgetUsd = 1'000'000'000;
inline constexpr std::int64_t kMaxBudgetCalls = 1'000'000'000'000;
inline constexpr std::int64_t kMaxCallMicroUsd = 1'000 * kMicroUsd;
inline constexpr std::int64_t kMaxCallUnits = 1'000'000;

// Dollars as a setting or an option has them, rounded to the millionth. `usd` is 0 to
// kMaxBudgetUsd.
std::int64_t to_micro_usd(double usd);
// The same of a budget, where 0 means no limit: nothing for an amount that would round to it, which
// would open what it was meant to close.
std::optional<std::int64_t> to_budget(double usd);
// What to say then.
inline constexpr std::string_view kSmallestBudget = "expected 0 or at least 0.000001";
// "12.5", "0.001": dollars without needless zeros.
std::string format_usd(std::int64_t micro_usd);

// Sums end at the largest number instead of overflowing. Neither part is negative.
constexpr std::int64_t add_saturating(std::int64_t a, std::int64_t b) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    return a > kMost - b ? kMost : a + b;
}

struct Spent {
    std::int64_t calls = 0;
    std::int64_t units = 0;
    std::int64_t micro_usd = 0;

    Spent& operator+=(const Spent& more) {
        calls = add_saturating(calls, more.calls);
        units = add_saturating(units, more.units);
        micro_usd = add_saturating(micro_usd, more.micro_usd);
        return *this;
    }
    bool operator==(const Spent&) const = default;
};

// The cost of one call, each amount within 0 and the most that is believed.
constexpr Spent bounded(Spent cost) {
    cost.calls = 1;
    cost.units = std::clamp<std::int64_t>(cost.units, 0, kMaxCallUnits);
    cost.micro_usd = std::clamp<std::int64_t>(cost.micro_usd, 0, kMaxCallMicroUsd);
    return cost;
}

// Whose books a call is written in. Every call is in four of them.
enum class Purse : std::uint8_t {
    kGateway,   // everything together
    kProvider,  // by name
    kToken,     // by id; callers without a token share the one with the empty id
    kKey,       // by id
};
inline constexpr std::size_t kPurseKinds = 4;
std::string_view to_string(Purse purse);  // "gateway", "provider", "token", "key"

// Days and months are those of UTC.
enum class Period : std::uint8_t { kDay, kMonth, kTotal };
inline constexpr std::size_t kPeriods = 3;
inline constexpr std::array kEachPeriod = {Period::kDay, Period::kMonth, Period::kTotal};
std::string_view to_string(Period period);  // "day", "month", "total"

constexpr std::size_t index_of(Period period) {
    return static_cast<std::size_t>(period);
}

// When a budget of that period is whole again; nothing for the total.
std::optional<WallTime> resets_at(Period period, UtcDay today);

// How much may be spent in each period, by index_of(); 0: no limit.
struct Limits {
    std::array<std::int64_t, kPeriods> calls{};
    std::array<std::int64_t, kPeriods> micro_usd{};

    bool any() const { return *this != Limits(); }
    bool operator==(const Limits&) const = default;
};

// Limits of one token's own; what is unset is taken from the setting.
struct OwnLimits {
    std::array<std::optional<std::int64_t>, kPeriods> calls{};
    std::array<std::optional<std::int64_t>, kPeriods> micro_usd{};

    Limits over(const Limits& defaults) const;
    bool operator==(const OwnLimits&) const = default;
};

// Who pays for a search. Cheap to copy: a token's id needs no allocation.
struct Payer {
    std::string token_id;  // empty: a caller without a token
    OwnLimits limits;
};

}  // namespace sluice::access
