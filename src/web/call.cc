#include "web/call.h"

#include "web/charge.h"
#include "web/metrics.h"
#include "web/pacing.h"
#include "web/site.h"
#include "web/skip.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <type_traits>
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

// How the key of a call has to rest; nothing when the verdict leaves it alone.
std::optional<KeyRest> rest_after(const Verdict& verdict, const KeysConfig& config) {
    if (verdict.reach == Reach::kProvider) {
        return std::nullopt;
    }
    switch (verdict.effect) {
        case Effect::kCool:
            return KeyRest{KeyStatus::kCooling, verdict.penalty.value_or(config.default_cooldown),
                           verdict.reach};
        case Effect::kExhaust:
            return KeyRest{KeyStatus::kExhausted, verdict.penalty.value_or(config.exhausted_retry),
                           verdict.reach};
        case Effect::kQuarantine:
            return KeyRest{KeyStatus::kQuarantined,
                           verdict.penalty.value_or(config.auth_failure_disable), verdict.reach};
        case Effect::kKeyCannot:
        case Effect::kCaller:
        case Effect::kProvider:
        case Effect::kEmpty:
            return std::nullopt;
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

// What the provider's own count of our calls asks of the key.
std::optional<KeyRest> rest_by_windows(const Provider& provider,
                                       const Result<io::ClientResponse>& response) {
    if (!response.ok()) {
        return std::nullopt;
    }
    std::array<RateWindow, kMaxRateWindows> windows;
    const std::size_t known = std::min(provider.rate_windows(*response, windows), windows.size());
    return rest_after(std::span(windows).first(known));
}

bool holds_key(const LeaseStart& start) {
    const auto* result = std::get_if<LeaseResult>(&start);
    return result != nullptr && std::holds_alternative<KeyLease>(*result);
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
    const bool too_many_calls = attempt.outcome == Outcome::kRateLimited;
    if (attempt.blame != Blame::kProvider || too_little_time || too_many_calls) {
        return std::nullopt;
    }
    return guard::CallOutcome::kFailure;
}

std::optional<access::Spent> charged(const std::optional<Cost>& cost) {
    return cost ? std::optional(one_call(*cost)) : std::nullopt;
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
    if (result.attempt.outcome == Outcome::kCancelled) {
        state.cut_off(result.attempt.latency);
    }
    const auto said = said_about_provider(result, short_time);
    if (said == guard::CallOutcome::kSuccess) {
        state.succeeded(pass, result.attempt.latency, now);
    } else if (said == guard::CallOutcome::kFailure) {
        state.failed(pass, reason_of(result.attempt), now);
    }
}

}  // namespace

ProviderCall::ProviderCall(KeyPool& keys, access::Budgets& budgets, io::HttpClient& http,
                           Clock& clock, const obs::Log& log, obs::Metrics& metrics)
    : keys_(keys),
      budgets_(budgets),
      http_(http),
      clock_(clock),
      log_(log),
      registry_(metrics),
      reader_(kAnswerLimits) {}

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
            co_return passed_over(state, skip_for_key(keys_.why_none(state.index())));
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
        co_return passed_over(state, skip_for_key(*none));
    }
    KeyLease lease = std::get<KeyLease>(std::move(leased));
    Millis wait{};
    if (waited) {
        if (!terms.has_takers()) {
            std::move(lease).refund();
            co_return passed_over(state, skip_for_absence());
        }
        // Others were heard meanwhile: what they learned counts.
        pass.reset();
        pass = state.try_enter(clock_.now());
        if (!pass) {
            std::move(lease).refund();
            co_return passed_over(state, skip_for_circuit(state, clock_));
        }
        wait = std::chrono::duration_cast<Millis>(clock_.now() - begun);
    }
    tried_keys.push_back(lease.index());
    if (provider.spec().needs_engine && lease.key().engine_id.empty() &&
        candidate.settings->engine_id.empty()) {
        co_return no_engine(state, std::move(lease));
    }
    const Call call{provider, request, plan};
    Admission admission{*std::move(pass), *std::move(turn), std::move(lease), wait};
    co_return co_await send(candidate, config, call, terms, std::move(admission));
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

Task<CallResult> ProviderCall::send(Candidate candidate, const WebConfig& config, Call call,
                                    CallTerms terms, Admission in) {
    ProviderState& state = *candidate.state;
    const ProviderSettings& settings = *candidate.settings;
    const Cost expected = at_price(call.provider.spec(), settings.price,
                                   call.provider.price(call.plan.sent(call.request)));
    Funds funds = reserve(state, call.request, expected, in.lease);
    if (auto* reserved = std::get_if<access::Reservation>(&funds);
        reserved != nullptr && !reserved->is_covered()) {
        if (auto refusal = co_await budgets_.cover(*reserved, terms.until)) {
            funds.emplace<access::BudgetRefusal>(*std::move(refusal));
        }
    }
    if (auto* refusal = std::get_if<access::BudgetRefusal>(&funds)) {
        co_return no_money(state, std::move(in.lease), *refusal);
    }
    if (!terms.has_takers()) {
        std::move(in.lease).refund();
        co_return passed_over(state, skip_for_absence());
    }
    auto& reservation = std::get<access::Reservation>(funds);
    CallSite site{settings.base_url, clock_.wall_now(), settings.engine_id};
    std::optional<Attempt> refused;
    std::optional<RateTurn> second_turn;
    while (true) {
        io::ClientRequest request =
            call.provider.build(call.plan.sent(call.request), in.lease.key(), site);
        const Instant sent = clock_.now();
        request.deadline = std::min<Instant>(terms.until, sent + settings.timeout);
        const bool short_time = was_short(request.deadline - sent, settings.timeout);
        RateTurn& turn = second_turn ? *second_turn : in.turn;
        turn.use();
        reservation.mark_sent();
        const guard::Stake::Hold paid_for(terms.stake);
        const Result<io::ClientResponse> response = co_await http_.send(std::move(request));

        const Instant received = clock_.now();
        if (never_left(response)) {
            turn.give_back();
        }
        auto [result, again] = judged(state, call, site.variant, response, in.lease, config.keys);
        result.attempt.provider = state.name();
        result.attempt.egress = kDirect;
        result.attempt.waited = refused ? Millis{} : in.waited;
        result.attempt.latency = std::chrono::duration_cast<Millis>(received - sent);
        state.observe_latency(result.attempt.latency);
        state.count(result.attempt.outcome);
        report(state, in.pass, result, short_time, received);
        const EndedCall ended{call.provider.spec(),   settings.price,     response,
                              result.attempt.outcome, result.answer.cost, expected};
        result.attempt.cost = charge_for(ended);
        if (again == Again::kWithoutOption) {
            // Its circuit may have opened meanwhile, by what others heard.
            const bool may_enter = in.pass.is_probe() || state.would_enter(received);
            std::optional<RateTurn> next = state.rate().take(settings.rate, received, received);
            if (next && may_enter && received < terms.until && terms.has_takers()) {
                second_turn.emplace(*std::move(next));
                refused = std::move(result.attempt);
                site.variant = BuildVariant::kWithoutOption;
                continue;
            }
            std::move(in.lease).settle(result.attempt.outcome);
        }
        // The first of two was refused, which costs nothing.
        std::move(reservation).settle(charged(result.attempt.cost));
        result.refused = std::move(refused);
        co_return std::move(result);
    }
}

bool ProviderCall::may_be_asked(const ProviderState& state) {
    const Instant now = clock_.now();
    return !state.rests_until(now) && state.would_enter(now) &&
           keys_.counts_of(state.index()).available > 0;
}

ProviderCall::Funds ProviderCall::reserve(const ProviderState& state, const SearchRequest& request,
                                          const Cost& cost, const KeyLease& lease) {
    const access::Purchase purchase{request.payer, state.index(), lease.key().id, one_call(cost)};
    return budgets_.reserve(purchase);
}

CallResult ProviderCall::no_money(ProviderState& state, KeyLease lease,
                                  const access::BudgetRefusal& refusal) {
    CallResult result = passed_over(state, skip_for_budget(refusal));
    BudgetGap gap;
    if (refusal.budget) {
        gap.purse = refusal.budget->purse;
        gap.resets_at = refusal.resets_at;
        if (gap.purse == access::Purse::kKey) {
            result.attempt.key_id = lease.key().id;
            result.step = Step::kNextKey;  // another one has a budget of its own
        }
    }
    result.attempt.gap = gap;
    std::move(lease).refund();
    return result;
}

std::optional<Instant> ProviderCall::key_back_at(ProviderIndex provider) {
    return keys_.back_at(provider);
}

CallResult ProviderCall::passed_over(ProviderState& state, Skip skip) {
    CallResult result;
    result.attempt.provider = state.name();
    result.attempt.outcome = skip.outcome;
    result.attempt.detail = std::move(skip.detail);
    result.attempt.blame = skip.blame;
    state.count(skip.outcome);
    return result;
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

ProviderCall::Judged ProviderCall::judged(ProviderState& state, const Call& call,
                                          BuildVariant variant,
                                          const Result<io::ClientResponse>& response,
                                          KeyLease& lease, const KeysConfig& penalties) {
    const Asked asked{call.provider, call.plan.sent(call.request), lease.key(),
                      &call.request.query};
    const std::optional<KeyRest> by_windows = rest_by_windows(call.provider, response);
    if (by_windows) {
        note_windows(state, lease.key().id, *by_windows);
    }
    Judged judged;
    judged.result.attempt.key_id = lease.key().id;
    judged.result.attempt.status = response.ok() ? response->status : 0;
    Judgement judgement = response.ok() ? judge(asked, *response, reader_, clock_.wall_now())
                                        : Judgement(judge_transport_error(response.error()));
    if (auto* answer = std::get_if<ProviderAnswer>(&judgement)) {
        judged.result.answer = std::move(*answer);
        take_answer(judged.result, call, variant);
        std::move(lease).settle(judged.result.attempt.outcome, by_windows);
        return judged;
    }
    Verdict& verdict = std::get<Verdict>(judgement);
    judged.result.attempt.outcome = verdict.outcome;
    judged.result.attempt.detail = std::move(verdict.detail);
    if (verdict.outcome == Outcome::kCancelled) {
        return judged;
    }
    if (verdict.effect == Effect::kCool && state.limits_address(lease.index(), clock_.now())) {
        verdict.reach = Reach::kProvider;
    }
    judged.result.step = step_after(verdict.effect);
    if (verdict.effect == Effect::kCool && verdict.reach == Reach::kProvider) {
        state.rest(verdict.penalty.value_or(penalties.default_cooldown), clock_.now());
        judged.result.step = Step::kNextProvider;
        judged.result.attempt.blame = Blame::kProvider;
    } else if (verdict.effect != Effect::kEmpty) {
        // What could not even be sent is our own doing: a proxy, a URL, a deadline gone by.
        judged.result.attempt.blame =
            never_left(response) ? Blame::kGateway : blame_of(verdict.effect);
    }
    if (verdict.again == Again::kWithoutOption && variant == BuildVariant::kFull &&
        call.provider.sends_option(asked.request)) {
        judged.again = Again::kWithoutOption;
        return judged;
    }
    const std::optional<KeyRest> rest = rest_after(verdict, penalties);
    if (rest) {
        note_rest(state.name(), lease.key().id, verdict.outcome, *rest);
    }
    if (never_left(response)) {
        std::move(lease).refund();
    } else {
        std::move(lease).settle(verdict.outcome, longer(rest, by_windows));
    }
    return judged;
}

void ProviderCall::take_answer(CallResult& result, const Call& call, BuildVariant variant) {
    const ProviderSpec& spec = call.provider.spec();
    ProviderAnswer& answer = result.answer;
    call.plan.filter(call.request, answer.hits);
    fill_hits(answer, spec.name, call.request);
    answer.constraints = honoured(call.plan, spec, call.request, variant);
    result.attempt.outcome = answer.empty() ? Outcome::kEmpty : Outcome::kSuccess;
    result.step = answer.empty() ? Step::kEmpty : Step::kAnswer;
}

void ProviderCall::note_windows(ProviderState& state, std::string_view key_id,
                                const KeyRest& rest) {
    if (rest.status == KeyStatus::kExhausted) {
        note_rest(state.name(), key_id, Outcome::kQuotaExhausted, rest);
    } else {
        state.count_pace();
    }
}

void ProviderCall::note_rest(std::string_view provider, std::string_view key_id, Outcome reason,
                             const KeyRest& rest) {
    registry_.counter(kKeyPenalised, {std::string(provider), std::string(to_string(reason))}).add();
    log_.warn("key_penalised", {{"provider", provider},
                                {"key_id", key_id},
                                {"status", to_string(rest.status)},
                                {"reach", rest.reach == Reach::kAccount ? "account" : "key"},
                                {"reason", to_string(reason)},
                                {"rest_ms", rest.time}});
}

}  // namespace sluice::web
