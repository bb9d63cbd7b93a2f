#include "web/skip.h"

#include "base/rfc3339.h"

#include <utility>

namespace sluice::web {

namespace {

std::string in(Duration wait, const Clock& clock) {
    return rfc3339(clock.wall_now() + wait, DateDigits::kMilliseconds);
}

}  // namespace

Skip skip_for_constraint(std::string_view constraint) {
    return {Outcome::kSkippedCapability, std::string(constraint), {}};
}

Skip skip_for_circuit(const ProviderState& state, const Clock& clock) {
    const ProviderState::CircuitView circuit = state.circuit(clock.now());
    std::string detail = "left alone after " + circuit.reason;
    detail += circuit.reopens_in ? " until " + in(*circuit.reopens_in, clock)
                                 : "; one call is under way to see whether it is back";
    return {Outcome::kSkippedCircuit, std::move(detail), Blame::kProvider};
}

Skip skip_for_rest(const ProviderState& state, const Clock& clock) {
    const Instant now = clock.now();
    const Duration left = state.rests_until(now).value_or(now) - now;
    return {Outcome::kSkippedCircuit, "it refuses every key; left alone until " + in(left, clock),
            Blame::kProvider};
}

Skip skip_for_rate(const ProviderState& state, const RateLimit& limit, const Clock& clock) {
    const Instant now = clock.now();
    return {Outcome::kRateLimited,
            "its rate of calls, providers." + std::string(state.name()) +
                ".rate, leaves no turn before " +
                in(state.rate().next_turn(limit, now) - now, clock),
            Blame::kGateway};
}

Skip skip_for_key(const NoKey& none) {
    Skip skip{Outcome::kSkippedNoKey, std::string(to_string(none.why)), {}};
    if (none.why != NoKey::Why::kNone) {
        skip.blame = Blame::kKey;
    }
    return skip;
}

Skip skip_for_key(const NoKey& none, const KeyCounts& counts) {
    Skip skip = skip_for_key(none);
    if (none.why == NoKey::Why::kResting && counts.all_refused()) {
        skip.detail = "every key was refused, see `sluice keys list`";
    }
    return skip;
}

Skip skip_for_time() {
    return {Outcome::kCancelled, "no time was left to write down what the call uses up", {}};
}

Skip skip_for_absence() {
    return {Outcome::kCancelled, "everybody who waited has left", {}};
}

Skip skip_for_budget(const access::BudgetRefusal& refusal) {
    const bool is_callers = refusal.budget && refusal.budget->purse == access::Purse::kToken;
    return {Outcome::kSkippedBudget, refusal.detail, is_callers ? Blame::kTenant : Blame::kGateway};
}

Skip skip_for_engine(const ProviderState& state) {
    return {Outcome::kSkippedNoKey,
            "the key has no engine id, and providers." + std::string(state.name()) +
                ".engine_id is not set",
            Blame::kKey};
}

CallResult passed_over(ProviderState& state, Skip skip) {
    CallResult result;
    result.attempt.provider = state.name();
    result.attempt.outcome = skip.outcome;
    result.attempt.detail = std::move(skip.detail);
    result.attempt.blame = skip.blame;
    state.count(skip.outcome);
    return result;
}

}  // namespace sluice::web
