#include "guard/health.h"

namespace sluice::guard {

bool Health::report(bool good, const HealthConfig& config, Instant now) {
    if (good == up_) {
        against_ = 0;
        return false;
    }
    against_ += 1;
    const bool is_held = held_from_ && now < *held_from_ + config.hold;
    if (against_ < (up_ ? config.down_after : config.up_after) || is_held) {
        return false;
    }
    up_ = good;
    since_ = now;
    held_from_ = now;
    against_ = 0;
    return true;
}

}  // namespace sluice::guard
