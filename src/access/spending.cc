#include "access/spending.h"

#include "base/result.h"

#include <cmath>

namespace sluice::access {

std::int64_t to_micro_usd(double usd) {
    SLUICE_ASSERT(usd >= 0 && usd <= static_cast<double>(kMaxBudgetUsd));
    return std::llround(usd * static_cast<double>(kMicroUsd));
}

std::optional<std::int64_t> to_budget(double usd) {
    if (!(usd >= 0)) {  // NaN, too
        return std::nullopt;
    }
    const std::int64_t micro_usd = to_micro_usd(usd);
    return usd > 0 && micro_usd == 0 ? std::nullopt : std::optional(micro_usd);
}

std::string format_usd(std::int64_t micro_usd) {
    std::string text = std::to_string(micro_usd / kMicroUsd);
    std::string fraction = std::to_string(kMicroUsd + micro_usd % kMicroUsd).substr(1);
    fraction.erase(fraction.find_last_not_of('0') + 1);
    if (!fraction.empty()) {
        text.append(".").append(fraction);
    }
    return text;
}

std::string_view to_string(Purse purse) {
    switch (purse) {
        case Purse::kGateway:
            return "gateway";
        case Purse::kProvider:
            return "provider";
        case Purse::kToken:
            return "token";
        case Purse::kKey:
            return "key";
    }
    SLUICE_ASSERT(false && "a Purse outside its enumeration");
}

std::string_view to_string(Period period) {
    switch (period) {
        case Period::kDay:
            return "day";
        case Period::kMonth:
            return "month";
        case Period::kTotal:
            return "total";
    }
    SLUICE_ASSERT(false && "a Period outside its enumeration");
}

std::optional<WallTime> resets_at(Period period, UtcDay today) {
    switch (period) {
        case Period::kDay:
            return today + std::chrono::days(1);
        case Period::kMonth:
            return first_of_next_month(today);
        case Period::kTotal:
            return std::nullopt;
    }
    SLUICE_ASSERT(false && "a Period outside its enumeration");
}

Limits OwnLimits::over(const Limits& defaults) const {
    Limits limits;
    for (std::size_t i = 0; i < kPeriods; ++i) {
        limits.calls[i] = calls[i].value_or(defaults.calls[i]);
        limits.micro_usd[i] = micro_usd[i].value_or(defaults.micro_usd[i]);
    }
    return limits;
}

}  // namespace sluice::access
