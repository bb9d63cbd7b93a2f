// How a provider's calls went lately: how long they took and how many succeeded. Bounded memory;
// not thread-safe.
#pragma once

#include "base/clock.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace sluice::web {

class RecentCalls {
 public:
    // Calls that are remembered, the latest ones; and how many it takes before anything is said
    // about latency.
    static constexpr std::size_t kRemembered = 128;
    static constexpr std::size_t kEnough = 20;
    // A call that takes longer than this share of the successes did is slow.
    static constexpr double kSlowShare = 0.95;

    void add_success(Millis latency);
    void add_failure();
    // A call was cut off after `elapsed`. If it was slow by then it counts as one that took that
    // long, for it would have taken longer still: else only the quick ones would be remembered, and
    // more and more would be called slow. If it was not, it says nothing.
    void add_cut_off(Millis elapsed);

    // The latency that `share` (0 to 1) of the remembered successes did not exceed; nothing before
    // there are kEnough of them.
    std::optional<Millis> latency(double share) const;

    // What operators are shown, as far as it is known.
    struct Summary {
        std::optional<Millis> usual = {};  // half of the answers came within
        std::optional<Millis> slow = {};   // kSlowShare of them did
        std::optional<double> success_ratio = {};
    };
    Summary summary() const;

    // The share of the remembered calls that succeeded; nothing before the first one.
    std::optional<double> success_ratio() const;

 private:
    void add_latency(Millis latency);
    void add_outcome(bool success);

    std::array<std::uint32_t, kRemembered> latencies_ms_{};  // of successes, a ring
    std::size_t successes_ = 0;                              // added to it, ever
    std::array<bool, kRemembered> outcomes_{};               // of all calls, a ring
    std::size_t calls_ = 0;                                  // added to it, ever
};

}  // namespace sluice::web
