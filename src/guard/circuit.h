// Whether a backend may be called right now. After failures the circuit opens: no calls for a
// while, then a single one, the probe, and its outcome decides. One circuit for each backend.
#pragma once

#include "base/clock.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice {
class ConfigReader;
}

namespace sluice::guard {

enum class CircuitState : std::uint8_t { kClosed, kOpen, kHalfOpen };
std::string_view to_string(CircuitState state);

enum class TripPolicy : std::uint8_t {
    kThreshold,  // opens at `failure_threshold` failures in a row, each time for twice as long
    kOneStrike,  // opens at the first failure, always for `strike_open_for`
};

struct CircuitConfig {
    TripPolicy policy = TripPolicy::kThreshold;
    std::size_t failure_threshold = 3;
    Millis open_for{5'000};
    Millis max_open_for{300'000};
    Millis strike_open_for{300'000};

    // From the section "circuit". The policy is not a setting: who makes the circuit knows it.
    static CircuitConfig read(ConfigReader& in);
};

// What a call said about the backend. A call that said nothing about it (a refused key, a bad
// query, a client that left) reports nothing: its pass is just dropped.
enum class CallOutcome : std::uint8_t { kSuccess, kFailure };

class Circuit;

// Leave to make one call. Dropping it without a report frees the probe's place and changes nothing
// else. The circuit must outlive it and stay where it is.
class CircuitPass {
 public:
    CircuitPass(CircuitPass&& other) noexcept;
    CircuitPass& operator=(CircuitPass&& other) noexcept;
    ~CircuitPass();

    // Once at most; later reports change nothing. A call that began before the circuit last changed
    // its state says nothing about it any more, so its report is ignored.
    void report(CallOutcome outcome, Instant now);

    // Whether it is the one call of the half-open state.
    bool is_probe() const { return probe_; }

 private:
    friend class Circuit;
    CircuitPass(Circuit& circuit, std::uint64_t era, bool probe)
        : circuit_(&circuit), era_(era), probe_(probe) {}

    Circuit* circuit_;  // null: reported, or moved from
    std::uint64_t era_;
    bool probe_;
};

// Not thread-safe: owned by one executor. Holds no clock. A `now` earlier than one before is
// harmless.
class Circuit {
 public:
    explicit Circuit(CircuitConfig config);
    Circuit(const Circuit&) = delete;
    Circuit& operator=(const Circuit&) = delete;

    // A pass if a call may start: always while closed, never while open, one at a time while
    // half-open.
    std::optional<CircuitPass> try_enter(Instant now);

    // Whether try_enter() would give a pass.
    bool would_enter(Instant now) const;

    CircuitState state(Instant now) const;
    // When it lets the next probe through, or did while none has reported. Nothing while closed.
    std::optional<Instant> reopens_at() const;
    // Failures in a row since it last closed, while closed.
    std::size_t failures() const { return failures_; }

 private:
    friend class CircuitPass;
    void report(const CircuitPass& pass, CallOutcome outcome, Instant now);
    void abandon(const CircuitPass& pass);
    void open(Instant now);
    void close();
    Duration next_open_for() const;

    const CircuitConfig config_;
    std::uint64_t era_ = 0;  // counts changes of state; a pass belongs to one
    std::size_t failures_ = 0;
    Duration open_for_{};  // of the present or last opening since it last closed; zero: none
    std::optional<Instant> reopens_at_;  // while not closed
    bool probing_ = false;
};

}  // namespace sluice::guard
