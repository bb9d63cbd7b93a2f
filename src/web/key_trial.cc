#include "web/key_trial.h"

#include "web/charge.h"
#include "web/price.h"
#include "web/route.h"
#include "web/skip.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <variant>

namespace sluice::web {

namespace {

// Of a provider's answer. Its size is bounded by upstream.max_response_bytes before it gets here.
constexpr JsonLimits kAnswerLimits{.max_bytes = io::HttpClientConfig::kLargestResponseBytes,
                                   .max_depth = 64};

// What a trial asks for: short, harmless, known to every index.
constexpr std::string_view kTestQuery = "wikipedia";

SearchRequest test_request() {
    SearchRequest request;
    request.query = QueryText(std::string(kTestQuery));
    request.max_results = 1;
    return request;
}

KeyTest::Verdict verdict_of(const Judgement& judgement) {
    const auto* verdict = std::get_if<Verdict>(&judgement);
    if (verdict == nullptr) {
        return KeyTest::Verdict::kValid;
    }
    switch (verdict->effect) {
        case Effect::kEmpty:
        case Effect::kKeyCannot:
            return KeyTest::Verdict::kValid;
        case Effect::kQuarantine:
            return KeyTest::Verdict::kInvalid;
        case Effect::kExhaust:
            return KeyTest::Verdict::kQuota;
        case Effect::kCool:
        case Effect::kCaller:
        case Effect::kProvider:
        case Effect::kGateway:
            return KeyTest::Verdict::kUnknown;
    }
    SLUICE_ASSERT(false && "an Effect outside its enumeration");
}

Error not_paid(const access::BudgetRefusal& refusal, WallTime now) {
    if (!refusal.budget) {
        return {Code::kUnavailable, Blame::kGateway, refusal.detail, {}};
    }
    const bool is_callers = refusal.budget->purse == access::Purse::kToken;
    std::optional<Millis> resets_in;
    if (refusal.resets_at) {
        resets_in = std::chrono::ceil<Millis>(std::max(*refusal.resets_at, now) - now);
    }
    return {Code::kBudgetExhausted, is_callers ? Blame::kTenant : Blame::kGateway, refusal.detail,
            resets_in};
}

}  // namespace

std::string_view to_string(KeyTest::Verdict verdict) {
    switch (verdict) {
        case KeyTest::Verdict::kValid:
            return "valid";
        case KeyTest::Verdict::kInvalid:
            return "invalid";
        case KeyTest::Verdict::kQuota:
            return "quota";
        case KeyTest::Verdict::kUnknown:
            return "unknown";
    }
    SLUICE_ASSERT(false && "a KeyTest::Verdict outside its enumeration");
}

KeyTrial::KeyTrial(KeyPool& pool, access::Budgets& budgets, const ProviderStates& providers,
                   io::HttpClient& http, io::EgressRouter& egress, Clock& clock,
                   std::function<std::shared_ptr<const WebConfig>()> config)
    : pool_(pool),
      budgets_(budgets),
      providers_(providers),
      http_(http),
      egress_(egress),
      clock_(clock),
      config_(std::move(config)),
      trials_(guard::TokenBucketConfig{kBurst, kInterval}),
      reader_(kAnswerLimits) {}

Cost KeyTrial::price_of(const Provider& provider, const ProviderSettings& settings) {
    return at_price(provider.spec(), settings.price, provider.price(test_request()));
}

Task<Result<KeyTest>> KeyTrial::run(std::string key_id, access::Payer payer) {
    CO_TRY(const Plan plan, this->plan(key_id, std::move(payer)));
    const Instant begun = clock_.now();
    const Instant latest = plan.deadline - kLeftForTrial;
    std::optional<RateTurn> turn = plan.state.rate().take(plan.settings.rate, begun, latest);
    if (!turn) {
        co_return no_turn(plan);
    }
    if (turn->at() > begun) {
        co_await clock_.sleep_until(turn->at());
    }
    CO_TRY(access::Reservation reservation, co_await pay(plan));
    if (!co_await start_in_turn(*turn, clock_, latest)) {
        co_return no_turn(plan);
    }
    co_return co_await send(plan, *std::move(turn), std::move(reservation));
}

Error KeyTrial::no_turn(const Plan& plan) const {
    const Instant now = clock_.now();
    const Instant next = plan.state.rate().next_turn(plan.settings.rate, now);
    return {Code::kOverloaded, Blame::kGateway,
            skip_for_rate(plan.state, plan.settings.rate, clock_).detail,
            std::chrono::ceil<Millis>(next - now)};
}

Status KeyTrial::take_trial(Instant now) {
    if (trials_.try_take(1, now)) {
        return {};
    }
    const Instant next = trials_.earliest(1, now).value_or(now);
    return Error{Code::kRateLimited, Blame::kCaller,
                 "at most " + std::to_string(kBurst) +
                     " keys are tried a minute, since a trial costs a call",
                 std::chrono::ceil<Millis>(next - now)};
}

Result<KeyTrial::Plan> KeyTrial::plan(const std::string& key_id, access::Payer payer) {
    const KeyRecord* record = pool_.find(key_id);
    if (record == nullptr) {
        return Error{Code::kNotFound, Blame::kCaller, "there is no key of that id", {}};
    }
    ProviderState& state = *providers_.find(record->provider);
    std::shared_ptr<const WebConfig> config = config_();
    const ProviderSettings& settings = config->provider(record->provider);
    ProviderKey key = *pool_.secret_of(key_id);
    const ProviderSpec& spec = state.provider().spec();
    if (spec.needs_engine && key.engine_id.empty() && settings.engine_id.empty()) {
        return Error{Code::kConflict, Blame::kCaller, skip_for_engine(state).detail, {}};
    }
    const Instant now = clock_.now();
    TRY_STATUS(take_trial(now));
    SearchRequest request = test_request();
    request.payer = std::move(payer);
    const Cost expected = price_of(state.provider(), settings);
    return Plan{state,    std::move(config), settings, std::move(key), std::move(request),
                expected, now + kTimeout};
}

Task<Result<access::Reservation>> KeyTrial::pay(const Plan& plan) {
    const access::Purchase purchase{plan.request.payer, plan.state.index(), plan.key.id,
                                    one_call(plan.expected)};
    auto funds = budgets_.reserve(purchase);
    if (const auto* refusal = std::get_if<access::BudgetRefusal>(&funds)) {
        co_return not_paid(*refusal, clock_.wall_now());
    }
    auto& reservation = std::get<access::Reservation>(funds);
    if (!reservation.is_covered()) {
        if (const auto refusal = co_await budgets_.cover(reservation, plan.deadline)) {
            co_return not_paid(*refusal, clock_.wall_now());
        }
    }
    co_return std::move(reservation);
}

Task<KeyTest> KeyTrial::send(const Plan& plan, RateTurn turn, access::Reservation reservation) {
    const Provider& provider = plan.state.provider();
    const CallSite site{plan.settings.base_url, clock_.wall_now(), plan.settings.engine_id};
    io::ClientRequest call = call_to(provider, plan.request, plan.key, site);
    call.deadline = plan.deadline;
    const io::EgressRoute route = egress_.route(egress_ask(plan.state.index(), plan.request));
    call.proxy = route.proxy();
    const Instant sent = clock_.now();
    reservation.mark_sent();
    const Result<io::ClientResponse> response = co_await http_.send(std::move(call));
    egress_.report(route, response);

    KeyTest result;
    result.latency = std::chrono::duration_cast<Millis>(clock_.now() - sent);
    result.status = response.ok() ? response->status : 0;
    if (is_unsent(response)) {
        turn.give_back();
    }
    const Asked asked{provider, plan.request, plan.key};
    const Judgement judgement = response.ok() ? judge(asked, *response, reader_, clock_.wall_now())
                                              : Judgement(judge_transport_error(response.error()));
    result.verdict = verdict_of(judgement);
    std::optional<Cost> told;
    if (const auto* verdict = std::get_if<Verdict>(&judgement)) {
        result.outcome = verdict->outcome;
        result.detail = verdict->detail;
    } else {
        told = std::get<ProviderAnswer>(judgement).cost;
    }
    const EndedCall ended{provider.spec(), plan.settings.price, response, result.outcome, told,
                          plan.expected};
    const std::optional<Cost> charged = charge_for(ended);
    std::move(reservation).settle(charged ? std::optional(one_call(*charged)) : std::nullopt);
    co_return result;
}

}  // namespace sluice::web
