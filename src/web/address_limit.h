// Some providers limit addresses as well as keys, with the same answer. When two keys are refused
// within moments, every other key would be refused too: what is limited is where we come from.
// Holds no clock; belongs to one executor.
#pragma once

#include "base/clock.h"

#include <cstdint>
#include <optional>

namespace sluice::web {

class AddressLimit {
 public:
    // Refusals of different keys within this time have one cause.
    static constexpr Millis kTogether{5'000};

    // The key of that number was refused for its rate at `now`, which never goes back. True when
    // another key was as well, so that the address is to blame and not this key.
    bool refused(std::uint64_t key, Instant now);

 private:
    struct Refusal {
        std::uint64_t key;
        Instant at;
    };
    std::optional<Refusal> last_;
    std::optional<Refusal> other_;  // the last one of another key than that
};

}  // namespace sluice::web
