#include "web/provider_state.h"

#include "web/metrics.h"

#include <chrono>
#include <utility>

namespace sluice::web {

ProviderState::ProviderState(const Provider& provider, guard::CircuitConfig circuit,
                             const obs::Log& log, obs::Metrics& metrics)
    : provider_(provider),
      index_(index_of(provider)),
      circuit_(circuit),
      log_(log),
      registry_(metrics),
      latency_ms_(metrics.histogram(kProviderLatency, {std::string(name())})),
      circuit_open_(metrics.gauge(kCircuitOpen, {std::string(name())})),
      circuit_trips_(metrics.counter(kCircuitTrips, {std::string(name())})),
      rate_waits_(metrics.counter(kRateWaits, {std::string(name())})),
      rate_refusals_(metrics.counter(kRateRefusals, {std::string(name())})),
      key_waits_(metrics.counter(kKeyWaits, {std::string(name())})),
      key_paces_(metrics.counter(kKeyPaces, {std::string(name())})),
      retries_(metrics.counter(kRetries, {std::string(name())})),
      rests_(metrics.counter(kProviderRests, {std::string(name())})) {}

void ProviderState::succeeded(guard::CircuitPass& pass, Millis latency, Instant now) {
    recent_.add_success(latency);
    report(pass, guard::CallOutcome::kSuccess, now);
}

void ProviderState::failed(guard::CircuitPass& pass, std::string reason, Instant now) {
    recent_.add_failure();
    const bool was_closed = !circuit_.reopens_at();
    if (was_closed || pass.is_probe()) {
        reason_ = std::move(reason);
    }
    report(pass, guard::CallOutcome::kFailure, now);
}

void ProviderState::report(guard::CircuitPass& pass, guard::CallOutcome outcome, Instant now) {
    const std::optional<Instant> before = circuit_.reopens_at();
    pass.report(outcome, now);
    const std::optional<Instant> after = circuit_.reopens_at();
    if (before == after) {
        return;
    }
    if (!after) {
        circuit_open_.set(0);
        log_.info("circuit_closed", {{"provider", name()}});
        return;
    }
    circuit_open_.set(1);
    circuit_trips_.add();
    log_.warn("circuit_opened", {{"provider", name()},
                                 {"reason", reason_},
                                 {"open_ms", std::chrono::ceil<Millis>(*after - now)}});
}

ProviderState::CircuitView ProviderState::circuit(Instant now) const {
    CircuitView view;
    view.state = circuit_.state(now);
    if (view.state == guard::CircuitState::kClosed) {
        return view;
    }
    view.reason = reason_;
    if (view.state == guard::CircuitState::kOpen) {
        view.reopens_in = *circuit_.reopens_at() - now;
    }
    return view;
}

void ProviderState::rest(Millis time, Instant now) {
    const Instant until = now + time;
    if (rests_until_ && until <= *rests_until_) {
        return;
    }
    rests_until_ = until;
    rests_.add();
    log_.warn("provider_rested", {{"provider", name()}, {"rest_ms", time}});
}

std::optional<Instant> ProviderState::rests_until(Instant now) const {
    return rests_until_ && now < *rests_until_ ? rests_until_ : std::nullopt;
}

void ProviderState::count(Outcome outcome) {
    std::optional<obs::Counter>& counter = outcomes_[static_cast<std::size_t>(outcome)];
    if (!counter) {
        counter =
            registry_.counter(kAttempts, {std::string(name()), std::string(to_string(outcome))});
    }
    counter->add();
}

void ProviderState::observe_latency(Millis latency) {
    latency_ms_.observe(static_cast<double>(latency.count()));
}

ProviderStates::ProviderStates(guard::CircuitConfig circuit, const obs::Log& log,
                               obs::Metrics& metrics) {
    for (const Provider* provider : all_providers()) {
        states_.push_back(std::make_unique<ProviderState>(*provider, circuit, log, metrics));
    }
}

ProviderState* ProviderStates::find(std::string_view name) const {
    for (const std::unique_ptr<ProviderState>& state : states_) {
        if (state->name() == name) {
            return state.get();
        }
    }
    return nullptr;
}

}  // namespace sluice::web
