#include "web/call.h"

#include "base/rfc3339.h"
#include "web/metrics.h"
#include "web/site.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace sluice::web {

namespace {

// Of a provider's answer. Its size is bounded by upstream.max_response_bytes before it gets here.
constexpr JsonLimits kAnswerLimits{.max_bytes = io::HttpClientConfig::kLargestResponseBytes,
                                   .max_depth = 64};

// What a call goes out through, as traces name it.
constexpr std::string_view kDirect = "direct";

Step step_after(Effect effect) {
    switch (effect) {
        case Effect::kCool:
        case Effect::kExhaust:
        case Effect::kQuarantine:
        case Effect::kKeyCannot:
            return Step::kNextKey;
        case Effect::kCaller:
            return Step::kStop;
        case Effect::kProvider:
            return Step::kNextProvider;
        case Effect::kEmpty:
            return Step::kEmpty;
    }
    SLUICE_ASSERT(false && "an Effect outside its enumeration");
}

void fill_hits(ProviderAnswer& answer, std::string_view provider, const SearchRequest& request) {
    if (answer.hits.size() > request.max_results) {
        answer.hits.resize(request.max_results);
    }
    std::uint32_t rank = 0;
    for (Hit& hit : answer.hits) {
        hit.rank = ++rank;
        hit.provider = provider;
        hit.site = site_of(hit.url);
    }
}

// Whether the time that the provider had was cut short by the request's own deadline.
bool was_short(Duration given, Millis timeout) {
    return given < std::min<Duration>(kMinAttempt, timeout);
}

// What an attempt says about its provider, as far as it says anything.
std::optional<guard::CallOutcome> said_about_provider(const CallResult& result, bool short_time) {
    const Attempt& attempt = result.attempt;
    if (result.step == Step::kAnswer || result.step == Step::kEmpty) {
        return guard::CallOutcome::kSuccess;
    }
    const bool too_little_time = attempt.outcome == Outcome::kTimeout && short_time;
    if (attempt.blame != Blame::kProvider || too_little_time) {
        return std::nullopt;
    }
    return guard::CallOutcome::kFailure;
}

// "server_error (HTTP 503)".
std::string reason_of(const Attempt& attempt) {
    std::string reason(to_string(attempt.outcome));
    if (attempt.status != 0) {
        reason += " (HTTP " + std::to_string(attempt.status) + ")";
    }
    return reason;
}

void report(ProviderState& state, guard::CircuitPass& pass, const CallResult& result,
            bool short_time, Instant now) {
    const auto said = said_about_provider(result, short_time);
    if (said == guard::CallOutcome::kSuccess) {
        state.succeeded(pass, now);
    } else if (said == guard::CallOutcome::kFailure) {
        state.failed(pass, reason_of(result.attempt), now);
    }
}

}  // namespace

ProviderCall::ProviderCall(KeyPool& keys, io::HttpClient& http, const Clock& clock,
                           const obs::Log& log, obs::Metrics& metrics)
    : keys_(keys),
      http_(http),
      clock_(clock),
      log_(log),
      registry_(metrics),
      reader_(kAnswerLimits) {}

Task<CallResult> ProviderCall::run(Candidate candidate, const WebConfig& config,
                                   const SearchRequest& request, Instant until,
                                   std::vector<std::string>& tried_keys) {
    ProviderState& state = *candidate.state;
    const Provider& provider = state.provider();
    if (auto constraint = unmet_constraint(provider.spec().can, request)) {
        co_return passed_over(state, Outcome::kSkippedCapability, std::string(*constraint));
    }
    std::optional<guard::CircuitPass> pass = state.try_enter(clock_.now());
    if (!pass) {
        co_return left_alone(state);
    }
    auto lease = keys_.lease(state.name(), tried_keys, clock_.now());
    if (!lease) {
        co_return no_key(state);
    }
    tried_keys.push_back(lease->key().id);

    io::ClientRequest call = provider.build(request, lease->key(), candidate.settings->base_url);
    const Instant sent = clock_.now();
    call.deadline = std::min<Instant>(until, sent + candidate.settings->timeout);
    const bool short_time = was_short(call.deadline - sent, candidate.settings->timeout);
    const Result<io::ClientResponse> response = co_await http_.send(std::move(call));

    const Instant received = clock_.now();
    const Asked asked{provider, request, lease->key()};
    CallResult result = judged(asked, response, *lease, config.keys);
    result.attempt.provider = state.name();
    result.attempt.key_id = lease->key().id;
    result.attempt.egress = kDirect;
    result.attempt.latency = std::chrono::duration_cast<Millis>(received - sent);
    state.observe_latency(result.attempt.latency);
    state.count(result.attempt.outcome);
    report(state, *pass, result, short_time, received);
    co_return result;
}

std::optional<Instant> ProviderCall::key_back_at(std::string_view provider) const {
    return keys_.back_at(provider, clock_.now());
}

CallResult ProviderCall::passed_over(ProviderState& state, Outcome outcome, std::string detail) {
    CallResult result;
    result.attempt.provider = state.name();
    result.attempt.outcome = outcome;
    result.attempt.detail = std::move(detail);
    state.count(outcome);
    return result;
}

CallResult ProviderCall::no_key(ProviderState& state) {
    if (keys_.counts_of(state.name(), clock_.now()).total() == 0) {
        return passed_over(state, Outcome::kSkippedNoKey, "no key is configured");
    }
    CallResult result = passed_over(state, Outcome::kSkippedNoKey, "every key is resting");
    result.attempt.blame = Blame::kKey;
    return result;
}

CallResult ProviderCall::left_alone(ProviderState& state) {
    const ProviderState::CircuitView circuit = state.circuit(clock_.now());
    std::string detail = "left alone after " + circuit.reason;
    if (circuit.reopens_in) {
        detail +=
            " until " + rfc3339(clock_.wall_now() + *circuit.reopens_in, DateDigits::kMilliseconds);
    } else {
        detail += "; one call is under way to see whether it is back";
    }
    CallResult result = passed_over(state, Outcome::kSkippedCircuit, std::move(detail));
    result.attempt.blame = Blame::kProvider;
    return result;
}

CallResult ProviderCall::judged(const Asked& asked, const Result<io::ClientResponse>& response,
                                KeyLease& lease, const KeysConfig& penalties) {
    CallResult result;
    result.attempt.status = response.ok() ? response->status : 0;
    Judgement judgement = response.ok() ? judge(asked, *response, reader_, clock_.wall_now())
                                        : Judgement(judge_transport_error(response.error()));
    if (auto* answer = std::get_if<ProviderAnswer>(&judgement)) {
        fill_hits(*answer, asked.provider.spec().name, asked.request);
        result.answer = std::move(*answer);
        const bool empty = result.answer.hits.empty() && !result.answer.answer;
        result.attempt.outcome = empty ? Outcome::kEmpty : Outcome::kSuccess;
        result.step = empty ? Step::kEmpty : Step::kAnswer;
        return result;
    }
    Verdict& verdict = std::get<Verdict>(judgement);
    result.attempt.outcome = verdict.outcome;
    result.attempt.detail = std::move(verdict.detail);
    if (verdict.outcome == Outcome::kCancelled) {
        return result;
    }
    penalise(lease, asked.provider.spec().name, verdict, penalties);
    result.step = step_after(verdict.effect);
    if (verdict.effect != Effect::kEmpty) {
        // What could not even be sent is our own doing: a proxy, a URL, a deadline gone by.
        const bool ours = !response.ok() && response.error().blame == Blame::kGateway;
        result.attempt.blame = ours ? Blame::kGateway : blame_of(verdict.effect);
    }
    return result;
}

void ProviderCall::penalise(KeyLease& lease, std::string_view provider, const Verdict& verdict,
                            const KeysConfig& penalties) {
    KeyStatus status = KeyStatus::kAvailable;
    Millis rest{};
    switch (verdict.effect) {
        case Effect::kCool:
            status = KeyStatus::kCooling;
            rest = verdict.penalty.value_or(penalties.default_cooldown);
            break;
        case Effect::kExhaust:
            status = KeyStatus::kExhausted;
            rest = verdict.penalty.value_or(penalties.exhausted_retry);
            break;
        case Effect::kQuarantine:
            status = KeyStatus::kQuarantined;
            rest = verdict.penalty.value_or(penalties.auth_failure_disable);
            break;
        case Effect::kKeyCannot:
        case Effect::kCaller:
        case Effect::kProvider:
        case Effect::kEmpty:
            return;
    }
    lease.penalise(status, clock_.now() + rest);
    registry_
        .counter(kKeyPenalised, {std::string(provider), std::string(to_string(verdict.outcome))})
        .add();
    log_.warn("key_penalised", {{"provider", provider},
                                {"key_id", lease.key().id},
                                {"status", to_string(status)},
                                {"reason", to_string(verdict.outcome)},
                                {"rest_ms", rest}});
}

}  // namespace sluice::web
