#include "web/call.h"

#include "web/constraints.h"
#include "web/skip.h"

#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace sluice::web {

namespace {

bool holds_key(const LeaseStart& start) {
    const auto* result = std::get_if<LeaseResult>(&start);
    return result != nullptr && std::holds_alternative<KeyLease>(*result);
}

}  // namespace

ProviderCall::ProviderCall(KeyPool& keys, access::Budgets& budgets, io::HttpClient& http,
                           io::EgressRouter& egress, Clock& clock, const obs::Log& log,
                           obs::Metrics& metrics)
    : keys_(keys), clock_(clock), sender_(keys, budgets, http, egress, clock, log, metrics) {}

Task<CallResult> ProviderCall::run(Candidate candidate, const WebConfig& config,
                                   const SearchRequest& request, CallTerms terms,
                                   std::vector<KeyIndex>& tried_keys) {
    ProviderState& state = *candidate.state;
    const Provider& provider = state.provider();
    const CallPlan plan = plan_call(provider.spec(), request);
    if (const auto unmet = plan.unmet()) {
        co_return passed_over(state, skip_for_constraint(*unmet));
    }
    const Instant begun = clock_.now();
    if (state.rests_until(begun)) {
        co_return passed_over(state, skip_for_rest(state, clock_));
    }
    std::optional<guard::CircuitPass> pass = state.try_enter(begun);
    if (!pass) {
        co_return passed_over(state, skip_for_circuit(state, clock_));
    }
    std::optional<RateTurn> turn =
        state.rate().take(candidate.settings->rate, begun, terms.latest_start(begun));
    if (!turn) {
        co_return no_turn(candidate);
    }
    bool waited = false;
    if (turn->at() > begun) {
        if (!has_key_by(turn->at(), state.index(), terms, tried_keys)) {
            co_return no_key(state, keys_.why_none(state.index()));
        }
        waited = true;
        state.count_wait_for_turn();
        co_await clock_.sleep_until(turn->at());
    }
    LeaseStart start = keys_.lease(state.index(), tried_keys);
    if (!holds_key(start)) {
        waited = true;
        LeaseResult later = co_await lease_later(std::move(start), state, terms, tried_keys);
        start.emplace<LeaseResult>(std::move(later));
    }
    LeaseResult& leased = std::get<LeaseResult>(start);
    if (const auto* none = std::get_if<NoKey>(&leased)) {
        co_return no_key(state, *none);
    }
    KeyLease lease = std::get<KeyLease>(std::move(leased));
    Millis wait{};
    if (waited) {
        wait = std::chrono::duration_cast<Millis>(clock_.now() - begun);
    }
    tried_keys.push_back(lease.index());
    if (provider.spec().needs_engine && lease.key().engine_id.empty() &&
        candidate.settings->engine_id.empty()) {
        co_return no_engine(state, std::move(lease));
    }
    Call call{candidate, config, request, plan, terms, tried_keys};
    Admission admission{*std::move(pass), std::move(turn), std::move(lease), wait};
    co_return co_await sender_.send(std::move(call), std::move(admission));
}

Task<LeaseResult> ProviderCall::lease_later(LeaseStart start, ProviderState& state, CallTerms terms,
                                            const std::vector<KeyIndex>& tried_keys) {
    while (true) {
        if (auto* work = std::get_if<Task<LeaseResult>>(&start)) {
            Task<LeaseResult> task = std::move(*work);
            LeaseResult result = co_await std::move(task);
            start.emplace<LeaseResult>(std::move(result));
        }
        if (holds_key(start)) {
            break;
        }
        const std::optional<Instant> soon = key_soon(state.index(), terms, tried_keys);
        if (!soon) {
            break;
        }
        state.count_wait_for_key();
        co_await clock_.sleep_until(*soon);
        LeaseStart again = keys_.lease(state.index(), tried_keys);
        std::visit(
            [&](auto& part) { start.emplace<std::decay_t<decltype(part)>>(std::move(part)); },
            again);
    }
    co_return std::get<LeaseResult>(std::move(start));
}

bool may_be_asked(const ProviderState& state, KeyPool& keys, Instant now) {
    return !state.rests_until(now) && state.would_enter(now) &&
           keys.counts_of(state.index()).available > 0;
}

bool ProviderCall::may_be_asked(const ProviderState& state) {
    return web::may_be_asked(state, keys_, clock_.now());
}

std::optional<Instant> ProviderCall::key_back_at(ProviderIndex provider) {
    return keys_.back_at(provider);
}

bool ProviderCall::has_only_refused_keys(ProviderIndex provider) {
    return keys_.counts_of(provider).all_refused();
}

CallResult ProviderCall::no_key(ProviderState& state, const NoKey& none) {
    return passed_over(state, skip_for_key(none, keys_.counts_of(state.index())));
}

CallResult ProviderCall::no_engine(ProviderState& state, KeyLease lease) {
    CallResult result = passed_over(state, skip_for_engine(state));
    result.step = Step::kNextKey;
    result.attempt.key_id = lease.key().id;
    std::move(lease).refund();
    return result;
}

CallResult ProviderCall::no_turn(Candidate candidate) {
    ProviderState& state = *candidate.state;
    state.count_no_turn();
    return passed_over(state, skip_for_rate(state, candidate.settings->rate, clock_));
}

// A key that the search has not tried rests, and is back early enough to be waited for.
std::optional<Instant> ProviderCall::key_soon(ProviderIndex provider, const CallTerms& terms,
                                              const std::vector<KeyIndex>& tried_keys) const {
    if (terms.patience != Patience::kWaitForKey || !tried_keys.empty()) {
        return std::nullopt;
    }
    const std::optional<Instant> back = keys_.back_at(provider);
    if (!back || *back > terms.latest_start(clock_.now())) {
        return std::nullopt;
    }
    return back;
}

bool ProviderCall::has_key_by(Instant instant, ProviderIndex provider, const CallTerms& terms,
                              const std::vector<KeyIndex>& tried_keys) const {
    if (std::holds_alternative<std::string>(keys_.peek(provider, tried_keys))) {
        return true;
    }
    const std::optional<Instant> back = keys_.back_at(provider);
    return (back && *back <= instant) || key_soon(provider, terms, tried_keys).has_value();
}

}  // namespace sluice::web
