// What the gateway has learned about each provider while the process runs: whether it may be called
// now and how its calls end. A reload changes none of it. Belongs to the control loop; holds no
// clock.
#pragma once

#include "base/clock.h"
#include "guard/circuit.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "web/address_limit.h"
#include "web/provider.h"
#include "web/provider_rate.h"
#include "web/recent_calls.h"
#include "web/types.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::web {

class ProviderState {
 public:
    // References outlive it.
    ProviderState(const Provider& provider, guard::CircuitConfig circuit, const obs::Log& log,
                  obs::Metrics& metrics);

    const Provider& provider() const { return provider_; }
    std::string_view name() const { return provider_.spec().name; }
    ProviderIndex index() const { return index_; }

    // Leave to make one call; nothing while the circuit keeps calls away.
    std::optional<guard::CircuitPass> try_enter(Instant now) { return circuit_.try_enter(now); }
    // Whether try_enter() would give leave.
    bool would_enter(Instant now) const { return circuit_.would_enter(now); }
    // What the call of `pass` said about the provider. A call that said nothing about it just drops
    // its pass.
    void succeeded(guard::CircuitPass& pass, Millis latency, Instant now);
    // `reason` is shown to operators: an outcome and a status, nothing that the provider wrote.
    void failed(guard::CircuitPass& pass, std::string reason, Instant now);

    // A call was cancelled after so long.
    void cut_off(Millis elapsed) { recent_.add_cut_off(elapsed); }

    struct CircuitView {
        guard::CircuitState state = guard::CircuitState::kClosed;
        std::optional<Duration> reopens_in = {};  // while open
        std::string reason = {};                  // the failure that opened it; while not closed
    };
    CircuitView circuit(Instant now) const;

    // Nobody is to call it for `time`, whatever the key.
    void rest(Millis time, Instant now);
    // The key of that number was refused for its rate. Gives whether it is our address that is
    // limited.
    bool note_rate_refusal(std::uint64_t key, Instant now) {
        return provider_.spec().may_limit_address && address_limit_.refused(key, now);
    }
    // Until when nobody is, if that is so.
    std::optional<Instant> rests_until(Instant now) const;

    // How those calls went lately.
    const RecentCalls& recent() const { return recent_; }

    // How often it may be called.
    ProviderRate& rate() { return rate_; }
    const ProviderRate& rate() const { return rate_; }
    // A call waited for its turn; a call found no turn in time; a call waited for a key.
    void count_wait_for_turn() { rate_waits_.add(); }
    void count_no_turn() { rate_refusals_.add(); }
    void count_wait_for_key() { key_waits_.add(); }
    // A call is made again after a wait.
    void count_retry() { retries_.add(); }
    // A key is held back for moments.
    void count_pace() { key_paces_.add(); }

    // One attempt that ended so, made or passed over.
    void count(Outcome outcome);
    // The time from sending to the complete answer, or to giving up.
    void observe_latency(Millis latency);

 private:
    void report(guard::CircuitPass& pass, guard::CallOutcome outcome, Instant now);

    const Provider& provider_;
    ProviderIndex index_;
    guard::Circuit circuit_;
    std::string reason_;
    std::optional<Instant> rests_until_;
    AddressLimit address_limit_;
    RecentCalls recent_;
    ProviderRate rate_;
    const obs::Log& log_;
    obs::Metrics& registry_;
    obs::Histogram latency_ms_;
    obs::Gauge circuit_open_;
    obs::Counter circuit_trips_;
    obs::Counter rate_waits_;
    obs::Counter rate_refusals_;
    obs::Counter key_waits_;
    obs::Counter key_paces_;
    obs::Counter retries_;
    obs::Counter rests_;
    std::array<std::optional<obs::Counter>, kOutcomeCount> outcomes_;  // made when first needed
};

// One for each provider of this binary.
class ProviderStates {
 public:
    ProviderStates(guard::CircuitConfig circuit, const obs::Log& log, obs::Metrics& metrics);

    // Null: this binary has no such provider.
    ProviderState* find(std::string_view name) const;
    const std::vector<std::unique_ptr<ProviderState>>& all() const { return states_; }

 private:
    std::vector<std::unique_ptr<ProviderState>> states_;
};

}  // namespace sluice::web
