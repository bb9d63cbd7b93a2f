// A provider's circuit and its rate as the simulation knows them: when it may be called, from how
// its calls ended.
#pragma once

#include "guard/circuit.h"
#include "sim/violations.h"
#include "web/provider.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace sluice::sim {

// What an ended call said about its provider.
enum class Said : std::uint8_t { kNothing, kWell, kIll };

class CircuitBooks {
 public:
    struct Call {
        std::uint64_t era = 0;
        bool is_probe = false;
    };

    CircuitBooks(guard::CircuitConfig config, std::string provider, const Clock& clock,
                 Violations& violations)
        : config_(config), provider_(std::move(provider)), clock_(clock), violations_(violations) {}

    Call start_call();
    void end_call(const Call& call, Said said);

    // How often it opened.
    std::size_t trips() const { return trips_; }

 private:
    void open();

    const guard::CircuitConfig config_;
    const std::string provider_;
    const Clock& clock_;
    Violations& violations_;
    std::uint64_t era_ = 0;  // counts openings and closings: a call speaks about its own
    std::size_t failures_ = 0;
    std::optional<Instant> reopens_at_;  // while not closed
    Duration open_for_{};
    bool probing_ = false;
    std::size_t trips_ = 0;
};

class RateBooks {
 public:
    RateBooks(std::string provider, const Clock& clock, Violations& violations)
        : provider_(std::move(provider)), clock_(clock), violations_(violations) {}

    // Calls may come at this rate from now on. Searches under way keep to the one before, so
    // nothing is checked for `settling`.
    void set(const web::RateLimit& limit, Millis settling);
    void start_call();
    // A proxy kept the call to itself: its turn is there again.
    void take_back();

 private:
    const std::string provider_;
    const Clock& clock_;
    Violations& violations_;
    web::RateLimit limit_;
    Instant since_{};
    Instant full_at_{};  // when all that was used since then has flowed in again
};

}  // namespace sluice::sim
