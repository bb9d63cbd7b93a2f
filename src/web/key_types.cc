#include "web/key_types.h"

#include "base/calendar.h"
#include "base/config_values.h"
#include "base/result.h"

#include <chrono>
#include <utility>

namespace sluice::web {

std::string_view to_string(KeyState state) {
    switch (state) {
        case KeyState::kActive:
            return "active";
        case KeyState::kDisabled:
            return "disabled";
    }
    SLUICE_ASSERT(false && "a KeyState outside its enumeration");
}

std::string_view to_string(KeyStatus status) {
    switch (status) {
        case KeyStatus::kAvailable:
            return "available";
        case KeyStatus::kCooling:
            return "cooling";
        case KeyStatus::kExhausted:
            return "exhausted";
        case KeyStatus::kQuarantined:
            return "quarantined";
        case KeyStatus::kSaturated:
            return "saturated";
    }
    SLUICE_ASSERT(false && "a KeyStatus outside its enumeration");
}

std::string_view to_string(Rotation rotation) {
    switch (rotation) {
        case Rotation::kLeastUsed:
            return "least_used";
        case Rotation::kRoundRobin:
            return "round_robin";
        case Rotation::kWeighted:
            return "weighted";
    }
    SLUICE_ASSERT(false && "a Rotation outside its enumeration");
}

bool is_counted_alike(const std::optional<KeyQuota>& one, const std::optional<KeyQuota>& other) {
    const auto period = [](const std::optional<KeyQuota>& quota) {
        const KeyQuota of = quota.value_or(KeyQuota{0, KeyQuota::Per::kTotal, {}});
        return std::pair(of.per, of.window);
    };
    return period(one) == period(other);
}

std::string period_text(const KeyQuota& quota) {
    switch (quota.per) {
        case KeyQuota::Per::kDay:
            return "day";
        case KeyQuota::Per::kMonth:
            return "month";
        case KeyQuota::Per::kTotal:
            return "total";
        case KeyQuota::Per::kWindow:
            return format_duration(quota.window);
    }
    SLUICE_ASSERT(false && "a quota period outside its enumeration");
}

std::optional<KeyQuota> make_quota(std::int64_t limit, std::string_view period) {
    for (const auto per : {KeyQuota::Per::kDay, KeyQuota::Per::kMonth, KeyQuota::Per::kTotal}) {
        KeyQuota quota{limit, per, {}};
        if (period == period_text(quota)) {
            return quota;
        }
    }
    const std::optional<Millis> window = parse_duration(period);
    if (!window || *window < kMinKeyWindow || *window > kMaxKeyWindow) {
        return std::nullopt;
    }
    return KeyQuota{limit, KeyQuota::Per::kWindow, *window};
}

WallTime quota_period_start(KeyQuota::Per per, WallTime now) {
    switch (per) {
        case KeyQuota::Per::kDay:
            return utc_day(now);
        case KeyQuota::Per::kMonth:
            return first_of_month(utc_day(now));
        case KeyQuota::Per::kTotal:
            return WallTime{};
        case KeyQuota::Per::kWindow:
            break;
    }
    SLUICE_ASSERT(false && "a quota period that the calendar does not know");
}

std::optional<WallTime> quota_reset(KeyQuota::Per per, WallTime now) {
    switch (per) {
        case KeyQuota::Per::kDay:
            return utc_day(now) + std::chrono::days(1);
        case KeyQuota::Per::kMonth:
            return first_of_next_month(utc_day(now));
        case KeyQuota::Per::kTotal:
            return std::nullopt;
        case KeyQuota::Per::kWindow:
            break;
    }
    SLUICE_ASSERT(false && "a quota period that the calendar does not know");
}

}  // namespace sluice::web
