#include "guard/health.h"

namespace sluice::guard {

bool Health::report(Look look, bool good, const HealthConfig& config, Instant now) {
    if (!up_ && look == Look::kUse) {
        return false;
    }
    std::size_t& against = against_.at(static_cast<std::size_t>(look));
    if (good == up_) {
        against = 0;
        return false;
    }
    against += 1;
    const bool is_held = held_from_ && now < *held_from_ + config.hold;
    if (against < (up_ ? config.down_after : config.up_after) || is_held) {
        return false;
    }
    up_ = good;
    since_ = now;
    held_from_ = now;
    against_ = {};
    return true;
}

}  // namespace sluice::guard
