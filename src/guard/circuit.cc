#include "guard/circuit.h"

#include "base/config_reader.h"
#include "base/result.h"
#include "guard/saturate.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace sluice::guard {

using namespace std::chrono_literals;

std::string_view to_string(CircuitState state) {
    switch (state) {
        case CircuitState::kClosed:
            return "closed";
        case CircuitState::kOpen:
            return "open";
        case CircuitState::kHalfOpen:
            return "half_open";
    }
    SLUICE_ASSERT(false && "a CircuitState outside its enumeration");
}

CircuitConfig CircuitConfig::read(ConfigReader& in) {
    CircuitConfig config;
    in.integer<std::size_t>({"failure_threshold", "failures in a row that open a circuit"},
                            config.failure_threshold, 1, 1'000'000);
    in.duration({"open_s",
                 "how long a circuit stays open the first time; twice as long each time "
                 "that its probe fails"},
                config.open_for, 100ms, 1h);
    in.duration({"max_open_s", "how long a circuit stays open at most"}, config.max_open_for, 100ms,
                24h);
    in.duration({"engine_open_s",
                 "how long an engine is left alone after one failure, where one "
                 "is enough"},
                config.strike_open_for, 100ms, 24h);
    if (config.max_open_for < config.open_for) {
        in.fail("max_open_s", "must not be below open_s");
    }
    return config;
}

CircuitPass::CircuitPass(CircuitPass&& other) noexcept
    : circuit_(std::exchange(other.circuit_, nullptr)), era_(other.era_), probe_(other.probe_) {}

CircuitPass& CircuitPass::operator=(CircuitPass&& other) noexcept {
    std::swap(circuit_, other.circuit_);
    std::swap(era_, other.era_);
    std::swap(probe_, other.probe_);
    return *this;
}

CircuitPass::~CircuitPass() {
    if (circuit_ != nullptr) {
        circuit_->abandon(*this);
    }
}

void CircuitPass::report(CallOutcome outcome, Instant now) {
    if (Circuit* circuit = std::exchange(circuit_, nullptr); circuit != nullptr) {
        circuit->report(*this, outcome, now);
    }
}

Circuit::Circuit(CircuitConfig config) : config_(config) {
    SLUICE_ASSERT(config_.failure_threshold > 0);
    SLUICE_ASSERT(config_.open_for > Millis::zero() && config_.strike_open_for > Millis::zero());
}

std::optional<CircuitPass> Circuit::try_enter(Instant now) {
    if (!would_enter(now)) {
        return std::nullopt;
    }
    probing_ = state(now) == CircuitState::kHalfOpen;
    return CircuitPass(*this, era_, probing_);
}

bool Circuit::would_enter(Instant now) const {
    switch (state(now)) {
        case CircuitState::kClosed:
            return true;
        case CircuitState::kOpen:
            return false;
        case CircuitState::kHalfOpen:
            return !probing_;
    }
    SLUICE_ASSERT(false && "a CircuitState outside its enumeration");
}

CircuitState Circuit::state(Instant now) const {
    if (!reopens_at_) {
        return CircuitState::kClosed;
    }
    // A probe that is under way stays the only one, whatever a clock says.
    return now < *reopens_at_ && !probing_ ? CircuitState::kOpen : CircuitState::kHalfOpen;
}

std::optional<Instant> Circuit::reopens_at() const {
    return reopens_at_;
}

void Circuit::report(const CircuitPass& pass, CallOutcome outcome, Instant now) {
    if (pass.era_ != era_) {
        return;
    }
    if (outcome == CallOutcome::kSuccess) {
        failures_ = 0;
        if (pass.probe_) {
            close();
        }
        return;
    }
    failures_ += 1;
    const bool one_is_enough = pass.probe_ || config_.policy == TripPolicy::kOneStrike;
    if (one_is_enough || failures_ >= config_.failure_threshold) {
        open(now);
    }
}

void Circuit::abandon(const CircuitPass& pass) {
    // While there is a probe only its own report can begin another era.
    if (pass.probe_) {
        probing_ = false;
    }
}

void Circuit::open(Instant now) {
    open_for_ = next_open_for();
    reopens_at_ = add_saturating(now, open_for_);
    probing_ = false;
    failures_ = 0;
    era_ += 1;
}

void Circuit::close() {
    open_for_ = Duration::zero();
    reopens_at_.reset();
    probing_ = false;
    era_ += 1;
}

Duration Circuit::next_open_for() const {
    if (config_.policy == TripPolicy::kOneStrike) {
        return config_.strike_open_for;
    }
    if (open_for_ == Duration::zero()) {
        return config_.open_for;
    }
    // Both are far below half of what a Duration holds.
    return std::min<Duration>(open_for_ * 2, config_.max_open_for);
}

}  // namespace sluice::guard
