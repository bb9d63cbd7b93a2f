// Whether something that is used and probed again and again counts as up. One look is not believed:
// the state changes after several of a kind in a row that contradict it, and never twice within a
// hold time, so that what flaps does not make everything behind it flap.
#pragma once

#include "base/clock.h"

#include <array>
#include <cstddef>
#include <optional>

namespace sluice::guard {

struct HealthConfig {
    std::size_t down_after = 3;  // bad looks in a row; at least 1
    std::size_t up_after = 2;    // good ones; at least 1
    Millis hold{30'000};         // between two changes

    bool operator==(const HealthConfig&) const = default;
};

// Each kind is counted by itself, since one may pass while the other fails, and either says enough
// to leave something alone. What is down is hardly used: only probes bring it back.
enum class Look : unsigned char { kProbe, kUse };

// Not thread-safe. Holds no clock. A `now` earlier than one before is harmless.
class Health {
 public:
    // Up until it is known better: the first change waits for no hold time.
    explicit Health(Instant now) : since_(now) {}

    // One look. True: the state changed by it.
    bool report(Look look, bool good, const HealthConfig& config, Instant now);

    bool is_up() const { return up_; }
    // Since when it has its state.
    Instant since() const { return since_; }

 private:
    bool up_ = true;
    Instant since_;
    std::optional<Instant> held_from_;  // the last change
    // Looks in a row that contradict the state, by kind.
    std::array<std::size_t, 2> against_{};
};

}  // namespace sluice::guard
