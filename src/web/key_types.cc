#include "web/key_types.h"

#include "base/calendar.h"
#include "base/result.h"

#include <chrono>

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

std::string_view to_string(KeyQuota::Per per) {
    switch (per) {
        case KeyQuota::Per::kDay:
            return "day";
        case KeyQuota::Per::kMonth:
            return "month";
        case KeyQuota::Per::kTotal:
            return "total";
    }
    SLUICE_ASSERT(false && "a quota period outside its enumeration");
}

std::optional<KeyQuota::Per> parse_quota_period(std::string_view word) {
    for (const auto per : {KeyQuota::Per::kDay, KeyQuota::Per::kMonth, KeyQuota::Per::kTotal}) {
        if (word == to_string(per)) {
            return per;
        }
    }
    return std::nullopt;
}

WallTime quota_period_start(KeyQuota::Per per, WallTime now) {
    switch (per) {
        case KeyQuota::Per::kDay:
            return utc_day(now);
        case KeyQuota::Per::kMonth:
            return first_of_month(utc_day(now));
        case KeyQuota::Per::kTotal:
            return WallTime{};
    }
    SLUICE_ASSERT(false && "a quota period outside its enumeration");
}

std::optional<WallTime> quota_reset(KeyQuota::Per per, WallTime now) {
    switch (per) {
        case KeyQuota::Per::kDay:
            return utc_day(now) + std::chrono::days(1);
        case KeyQuota::Per::kMonth:
            return first_of_next_month(utc_day(now));
        case KeyQuota::Per::kTotal:
            return std::nullopt;
    }
    SLUICE_ASSERT(false && "a quota period outside its enumeration");
}

}  // namespace sluice::web
