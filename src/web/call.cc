#include "web/call.h"

#include "web/blame.h"
#include "web/metrics.h"
#include "web/site.h"

#include <chrono>
#include <utility>

namespace sluice::web {

namespace {

// Of a provider's answer. Its size is bounded by upstream.max_response_bytes before it gets here.
constexpr JsonLimits kAnswerLimits{.max_bytes = io::HttpClientConfig::kLargestResponseBytes,
                                   .max_depth = 64};

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

}  // namespace

ProviderCall::ProviderCall(KeyPool& keys, io::HttpClient& http, const Clock& clock,
                           const obs::Log& log, obs::Metrics& metrics)
    : keys_(keys),
      http_(http),
      clock_(clock),
      log_(log),
      registry_(metrics),
      reader_(kAnswerLimits) {}

Task<CallResult> ProviderCall::run(const Provider& provider, const WebConfig& config,
                                   const SearchRequest& request, Instant deadline,
                                   std::vector<std::string>& tried_keys) {
    const ProviderSpec& spec = provider.spec();
    if (auto constraint = unmet_constraint(spec.can, request)) {
        co_return passed_over(provider, Outcome::kSkippedCapability, std::string(*constraint));
    }
    auto lease = keys_.lease(spec.name, tried_keys, clock_.now());
    if (!lease) {
        const bool has_keys = keys_.counts_of(spec.name, clock_.now()).total() > 0;
        co_return passed_over(provider, Outcome::kSkippedNoKey,
                              has_keys ? "every key is resting" : "no key is configured");
    }
    tried_keys.push_back(lease->key().id);

    io::ClientRequest call =
        provider.build(request, lease->key(), config.provider(spec.name).base_url);
    call.deadline = deadline;
    const Instant sent = clock_.now();
    const Result<io::ClientResponse> response = co_await http_.send(std::move(call));

    CallResult result;
    result.attempt.provider = spec.name;
    result.attempt.key_id = lease->key().id;
    result.attempt.latency = std::chrono::duration_cast<Millis>(clock_.now() - sent);
    metrics_of(provider).latency_ms.observe(static_cast<double>(result.attempt.latency.count()));
    result.attempt.status = response.ok() ? response->status : 0;

    Judgement judgement = response.ok() ? judge(Asked{provider, request, lease->key()}, *response,
                                                reader_, clock_.wall_now())
                                        : Judgement(judge_transport_error(response.error()));
    if (auto* answer = std::get_if<ProviderAnswer>(&judgement)) {
        fill_hits(*answer, provider, request);
        result.answer = std::move(*answer);
        const bool empty = result.answer.hits.empty() && !result.answer.answer;
        result.attempt.outcome = empty ? Outcome::kEmpty : Outcome::kSuccess;
        result.step = empty ? Step::kEmpty : Step::kAnswer;
    } else {
        Verdict& verdict = std::get<Verdict>(judgement);
        const bool cancelled = verdict.outcome == Outcome::kCancelled;
        if (!cancelled) {
            penalise(*lease, provider, verdict, config.keys);
        }
        result.step = cancelled ? Step::kNextProvider : step_after(verdict.effect);
        result.attempt.outcome = verdict.outcome;
        result.attempt.detail = std::move(verdict.detail);
        if (!cancelled && verdict.effect != Effect::kEmpty) {
            result.attempt.blame = blame_of(verdict.effect);
        }
    }
    count(provider, result.attempt.outcome);
    co_return result;
}

std::optional<Millis> ProviderCall::key_back_in(
    const std::vector<const Provider*>& providers) const {
    const Instant now = clock_.now();
    std::optional<Instant> first;
    for (const Provider* provider : providers) {
        const auto back = keys_.back_at(provider->spec().name, now);
        if (back && (!first || *back < *first)) {
            first = back;
        }
    }
    if (!first) {
        return std::nullopt;
    }
    return std::chrono::ceil<Millis>(*first - now);
}

CallResult ProviderCall::passed_over(const Provider& provider, Outcome outcome,
                                     std::string detail) {
    CallResult result;
    result.step = Step::kNextProvider;
    result.attempt.provider = provider.spec().name;
    result.attempt.outcome = outcome;
    result.attempt.detail = std::move(detail);
    count(provider, outcome);
    return result;
}

void ProviderCall::penalise(KeyLease& lease, const Provider& provider, const Verdict& verdict,
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
    const std::string provider_name(provider.spec().name);
    registry_.counter(kKeyPenalised, {provider_name, std::string(to_string(verdict.outcome))})
        .add();
    log_.warn("key_penalised", {{"provider", provider_name},
                                {"key_id", lease.key().id},
                                {"status", to_string(status)},
                                {"reason", to_string(verdict.outcome)},
                                {"rest_ms", rest}});
}

void ProviderCall::fill_hits(ProviderAnswer& answer, const Provider& provider,
                             const SearchRequest& request) {
    if (answer.hits.size() > request.max_results) {
        answer.hits.resize(request.max_results);
    }
    std::uint32_t rank = 0;
    for (Hit& hit : answer.hits) {
        hit.rank = ++rank;
        hit.provider = provider.spec().name;
        hit.site = site_of(hit.url);
    }
}

void ProviderCall::count(const Provider& provider, Outcome outcome) {
    auto& outcomes = metrics_of(provider).outcomes;
    auto found = outcomes.find(outcome);
    if (found == outcomes.end()) {
        found =
            outcomes
                .emplace(outcome, registry_.counter(kAttempts, {std::string(provider.spec().name),
                                                                std::string(to_string(outcome))}))
                .first;
    }
    found->second.add();
}

ProviderCall::ProviderMetrics& ProviderCall::metrics_of(const Provider& provider) {
    auto [found, added] = metrics_.try_emplace(&provider);
    if (added) {
        found->second.latency_ms =
            registry_.histogram(kProviderLatency, {std::string(provider.spec().name)});
    }
    return found->second;
}

}  // namespace sluice::web
