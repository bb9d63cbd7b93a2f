#include "web/sending.h"

#include "guard/backoff.h"
#include "web/call_end.h"
#include "web/charge.h"
#include "web/metrics.h"
#include "web/pacing.h"
#include "web/site.h"

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace sluice::web {

namespace asio = boost::asio;

namespace {

// Of a provider's answer. Its size is bounded by upstream.max_response_bytes before it gets here.
constexpr JsonLimits kAnswerLimits{.max_bytes = io::HttpClientConfig::kLargestResponseBytes,
                                   .max_depth = 64};

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

std::optional<access::Spent> charged(const std::optional<Cost>& cost) {
    return cost ? std::optional(one_call(*cost)) : std::nullopt;
}

void count(ProviderState& state, const Attempt& attempt) {
    state.observe_latency(attempt.latency);
    state.count(attempt.outcome);
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

bool is_cancelled(const asio::cancellation_state& state) {
    return state.cancelled() != asio::cancellation_type::none;
}

}  // namespace

Sender::Sender(KeyPool& keys, access::Budgets& budgets, io::HttpClient& http,
               io::EgressRouter& egress, Clock& clock, const obs::Log& log, obs::Metrics& metrics)
    : keys_(keys),
      budgets_(budgets),
      http_(http),
      egress_(egress),
      clock_(clock),
      log_(log),
      registry_(metrics),
      reader_(kAnswerLimits) {}

Task<CallResult> Sender::send(Call call, Admission in) {
    const ProviderSettings& settings = call.settings();
    Tries tries{at_price(call.provider().spec(), settings.price,
                         call.provider().price(call.plan.sent(call.request))),
                CallSite{settings.base_url, clock_.wall_now(), settings.engine_id},
                Route{egress_.route(egress_ask(call.state().index(), call.request))}};
    do {
        Funds funds = reserve(call, tries.expected, in.lease);
        if (is_uncovered(funds)) {
            co_await cover(funds, call.terms.until);
        }
        if (const auto* refusal = std::get_if<access::BudgetRefusal>(&funds)) {
            if (tries.last) {
                break;
            }
            co_return no_money(call, std::move(in.lease), *refusal);
        }
        // Waits end by cancellation without a word.
        std::optional<Skip> skip = skip_for_absence();
        if (!is_cancelled(co_await asio::this_coro::cancellation_state)) {
            skip = co_await start(call, in);
        }
        if (skip) {
            in.turn->give_back();
            if (tries.last) {
                break;
            }
            co_return not_made(call, std::move(in.lease), *std::move(skip));
        }
        co_await make(call, tries, std::get<access::Reservation>(std::move(funds)), in);
    } while (!is_cancelled(co_await asio::this_coro::cancellation_state) &&
             co_await goes_again(call, tries, in));
    learn(call, *tries.last, in);
    tries.last->result.earlier = std::move(tries.earlier);
    co_return std::move(tries.last->result);
}

Task<std::optional<Skip>> Sender::start(const Call& call, Admission& in) {
    std::optional<Skip> skip;
    if (!in.lease.is_covered()) {
        skip = co_await cover_key(call, in);
    }
    if (is_cancelled(co_await asio::this_coro::cancellation_state)) {
        co_return skip_for_absence();
    }
    if (!skip && !in.turn->start(clock_.now())) {
        skip = co_await start_late(call, in);
    } else if (!skip) {
        skip = enter(call, in);
    }
    // A period of its quota ended while it waited.
    while (!skip && !in.lease.is_covered()) {
        skip = co_await cover_key(call, in);
        if (!skip) {
            skip = enter(call, in);
        }
    }
    co_return skip;
}

Task<void> Sender::make(const Call& call, Tries& tries, access::Reservation reservation,
                        Admission& in) {
    if (tries.last) {
        tries.earlier.push_back(std::move(tries.last->result.attempt));
    }
    in.lease.use();
    io::ClientRequest request =
        call_to(call.provider(), call.plan.sent(call.request), in.lease.key(), tries.site);
    request.proxy = tries.route.way.proxy();
    const Instant sent = clock_.now();
    const Instant deadline = std::min<Instant>(call.terms.until, sent + call.settings().timeout);
    request.deadline = deadline;
    reservation.mark_sent();
    std::optional<guard::Stake::Hold> paid_for(call.terms.stake);
    Result<io::ClientResponse> ended = co_await http_.send(std::move(request));
    const auto response = in_time(std::move(ended), deadline, clock_.now());
    paid_for.reset();
    Try& last = tries.last.emplace(judged(call, tries.site.variant, response, in.lease.key()));
    last.result.attempt.egress = tries.route.way.name();
    egress_.report(tries.route.way, response);
    resolve_doubt(tries, response);
    close(call, last, response, {sent, tries.expected}, std::move(reservation), in);
    last.retry_at = retry_at(call, last, response, in, tries.retries);
}

void Sender::resolve_doubt(Tries& tries, const Result<io::ClientResponse>& response) {
    const std::optional<io::EgressRoute> doubted = std::exchange(tries.route.doubted, {});
    if (doubted && response.ok() && !io::is_fault_of_proxy(response)) {
        Attempt& before = tries.earlier.back();
        before.blame = Blame::kGateway;
        egress_.report_outdone(*doubted, before.detail);
    }
}

Task<bool> Sender::goes_again(const Call& call, Tries& tries, Admission& in) {
    if (again_without_option(call, *tries.last, tries.site.variant, in)) {
        tries.site.variant = BuildVariant::kWithoutOption;
        co_return true;
    }
    if (take_detour(call, *tries.last, tries.route, in)) {
        co_return true;
    }
    const Instant received = clock_.now();
    const std::optional<Instant> at = tries.last->retry_at;
    if (!at || !co_await wait_to_retry(call, *at, in)) {
        co_return false;
    }
    tries.retries += 1;
    in.waited = std::chrono::duration_cast<Millis>(clock_.now() - received);
    co_return true;
}

void Sender::close(const Call& call, Try& end, const Result<io::ClientResponse>& response,
                   const Made& made, access::Reservation reservation, Admission& in) {
    const ProviderSettings& settings = call.settings();
    Attempt& attempt = end.result.attempt;
    attempt.waited = std::exchange(in.waited, Millis{});
    attempt.latency = std::chrono::duration_cast<Millis>(clock_.now() - made.at);
    const EndedCall ended{call.provider().spec(), settings.price,         response,
                          attempt.outcome,        end.result.answer.cost, made.expected};
    attempt.cost = charge_for(ended);
    count(call.state(), attempt);
    std::move(reservation).settle(charged(attempt.cost));
    const Duration given = std::min<Duration>(call.terms.until - made.at, settings.timeout);
    end.short_time = was_short(given, settings.timeout);
    if (end.unsent) {
        in.turn->give_back();
        in.lease.take_back();
    }
}

bool Sender::may_begin(const Call& call, const Admission& in) const {
    return clock_.now() < call.terms.until && !why_not(call, in);
}

bool Sender::is_uncovered(const Funds& funds) {
    const auto* reserved = std::get_if<access::Reservation>(&funds);
    return reserved != nullptr && !reserved->is_covered();
}

Task<void> Sender::cover(Funds& funds, Instant until) {
    auto& reserved = std::get<access::Reservation>(funds);
    if (auto refusal = co_await budgets_.cover(reserved, until)) {
        funds.emplace<access::BudgetRefusal>(*std::move(refusal));
    }
}

Task<std::optional<Skip>> Sender::cover_key(const Call& call, Admission& in) {
    if (!in.lease.count()) {
        co_return skip_for_key(NoKey{NoKey::Why::kGone, {}});
    }
    if (in.lease.is_covered()) {
        co_return std::nullopt;
    }
    const guard::WriteEnd end = co_await keys_.cover(in.lease, call.terms.until);
    if (is_cancelled(co_await asio::this_coro::cancellation_state)) {
        co_return skip_for_absence();
    }
    if (end == guard::WriteEnd::kDeadline) {
        co_return skip_for_time();
    }
    if (end == guard::WriteEnd::kLost) {
        if (budgets_.on_store_loss() == access::OnStoreLoss::kRefuse) {
            co_return skip_for_key(NoKey{NoKey::Why::kUncounted, {}});
        }
        in.lease.set_covered();
    }
    co_return std::nullopt;
}

Task<std::optional<Skip>> Sender::start_late(const Call& call, Admission& in) {
    const Instant begun = clock_.now();
    call.state().count_wait_for_turn();
    if (!co_await start_in_turn(*in.turn, clock_, call.terms.latest_start(begun))) {
        call.state().count_no_turn();
        co_return skip_for_rate(call.state(), call.settings().rate, clock_);
    }
    if (is_cancelled(co_await asio::this_coro::cancellation_state)) {
        co_return skip_for_absence();
    }
    in.waited += std::chrono::duration_cast<Millis>(clock_.now() - begun);
    co_return enter(call, in);
}

std::optional<Skip> Sender::why_not(const Call& call, const Admission& in) const {
    const ProviderState& state = call.state();
    const Instant now = clock_.now();
    if (!call.terms.has_takers()) {
        return skip_for_absence();
    }
    if (state.rests_until(now)) {
        return skip_for_rest(state, clock_);
    }
    if (!in.lease.may_be_used()) {
        return skip_for_key(NoKey{NoKey::Why::kGone, {}});
    }
    if (!in.pass.is_probe() && !state.would_enter(now)) {
        return skip_for_circuit(state, clock_);
    }
    return std::nullopt;
}

std::optional<Skip> Sender::enter(const Call& call, Admission& in) {
    std::optional<Skip> skip = why_not(call, in);
    if (!skip && !in.pass.is_probe()) {
        std::optional<guard::CircuitPass> pass = call.state().try_enter(clock_.now());
        SLUICE_ASSERT(pass);
        in.pass = *std::move(pass);
    }
    return skip;
}

bool Sender::begin_again(const Call& call, Admission& in) {
    if (!may_begin(call, in)) {
        return false;
    }
    const Instant now = clock_.now();
    std::optional<RateTurn> turn = call.state().rate().take(call.settings().rate, now, now);
    if (!turn) {
        return false;
    }
    in.turn.emplace(*std::move(turn));
    return true;
}

Sender::Funds Sender::reserve(const Call& call, const Cost& cost, const KeyLease& lease) {
    const access::Purchase purchase{call.request.payer, call.state().index(), lease.key().id,
                                    one_call(cost)};
    return budgets_.reserve(purchase);
}

CallResult Sender::no_money(const Call& call, KeyLease lease,
                            const access::BudgetRefusal& refusal) {
    CallResult result = passed_over(call.state(), skip_for_budget(refusal));
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

CallResult Sender::not_made(const Call& call, KeyLease lease, Skip skip) {
    const bool is_keys = skip.outcome == Outcome::kSkippedNoKey;
    CallResult result = passed_over(call.state(), std::move(skip));
    if (is_keys) {
        result.step = Step::kNextKey;
        result.attempt.key_id = lease.key().id;
    }
    std::move(lease).refund();
    return result;
}

Sender::Try Sender::judged(const Call& call, BuildVariant variant,
                           const Result<io::ClientResponse>& response, const ProviderKey& key) {
    const Asked asked{call.provider(), call.plan.sent(call.request), key, &call.request.query};
    Try end;
    end.by_windows = rest_by_windows(call.provider(), response);
    end.never_left = never_left(response);
    end.unsent = is_unsent(response);
    end.may_go_another_way = io::may_go_another_way(response);
    CallResult& result = end.result;
    result.attempt.provider = call.state().name();
    result.attempt.key_id = key.id;
    result.attempt.status = response.ok() ? response->status : 0;
    Judgement judgement = response.ok() ? judge(asked, *response, reader_, clock_.wall_now())
                                        : Judgement(judge_transport_error(response.error()));
    if (auto* answer = std::get_if<ProviderAnswer>(&judgement)) {
        result.answer = std::move(*answer);
        take_answer(result, call, variant);
        return end;
    }
    Verdict& verdict = end.verdict.emplace(std::get<Verdict>(std::move(judgement)));
    result.attempt.outcome = verdict.outcome;
    result.attempt.detail = std::move(verdict.detail);
    if (verdict.outcome == Outcome::kCancelled) {
        return end;
    }
    result.step = step_after(verdict.effect);
    if (verdict.effect != Effect::kEmpty) {
        // What could not even be sent is our own doing: a proxy, a URL, a deadline gone by.
        result.attempt.blame = end.never_left ? Blame::kGateway : blame_of(verdict.effect);
    }
    return end;
}

void Sender::take_answer(CallResult& result, const Call& call, BuildVariant variant) {
    const ProviderSpec& spec = call.provider().spec();
    ProviderAnswer& answer = result.answer;
    call.plan.filter(call.request, answer.hits);
    fill_hits(answer, spec.name, call.request);
    answer.constraints = honoured(call.plan, spec, call.request, variant);
    result.attempt.outcome = answer.empty() ? Outcome::kEmpty : Outcome::kSuccess;
    result.step = answer.empty() ? Step::kEmpty : Step::kAnswer;
}

bool Sender::again_without_option(const Call& call, const Try& last, BuildVariant variant,
                                  Admission& in) {
    if (!last.verdict || last.verdict->again != Again::kWithoutOption ||
        variant != BuildVariant::kFull ||
        !call.provider().sends_option(call.plan.sent(call.request))) {
        return false;
    }
    return begin_again(call, in);
}

bool Sender::take_detour(const Call& call, const Try& last, Route& route, Admission& in) {
    if (!last.may_go_another_way || route.is_detour) {
        return false;
    }
    auto other = egress_.other(route.way, egress_ask(call.state().index(), call.request));
    if (!other) {
        return false;
    }
    if (!begin_again(call, in)) {
        return false;
    }
    const bool in_doubt = !last.never_left;
    auto doubted = in_doubt ? std::optional(std::move(route.way)) : std::nullopt;
    route = {*std::move(other), true, std::move(doubted)};
    return true;
}

std::optional<Instant> Sender::retry_at(const Call& call, const Try& last,
                                        const Result<io::ClientResponse>& response,
                                        const Admission& in, std::size_t retries) {
    if (retries >= call.terms.retries || !last.verdict || in.pass.is_probe() ||
        !may_pass_by_itself(*last.verdict, response)) {
        return std::nullopt;
    }
    // Another key comes first, where the key was at fault.
    if (last.result.step == Step::kNextKey &&
        std::holds_alternative<std::string>(keys_.peek(call.state().index(), call.tried_keys))) {
        return std::nullopt;
    }
    const Instant now = clock_.now();
    const Instant at = now + guard::backoff_delay(call.config.retry, retries,
                                                  asked_wait(*last.verdict, response,
                                                             last.by_windows, clock_.wall_now()));
    return at <= call.terms.latest_start(now) ? std::optional(at) : std::nullopt;
}

Task<bool> Sender::wait_to_retry(const Call& call, Instant at, Admission& in) {
    ProviderState& state = call.state();
    if (!call.terms.has_takers() || !co_await wait_until(at)) {
        co_return false;
    }
    if (!may_begin(call, in)) {
        co_return false;
    }
    const Instant now = clock_.now();
    std::optional<RateTurn> turn =
        state.rate().take(call.settings().rate, now, call.terms.latest_start(now));
    if (!turn) {
        state.count_no_turn();
        co_return false;
    }
    if (turn->at() > now) {
        state.count_wait_for_turn();
        if (!co_await wait_until(turn->at())) {
            co_return false;
        }
    }
    in.turn.emplace(*std::move(turn));
    state.count_retry();
    co_return true;
}

// Not Clock::sleep_until(): its exception would pass by what there is to report.
Task<bool> Sender::wait_until(Instant at) {
    auto alarm = std::make_shared<Alarm>(co_await boost::asio::this_coro::executor);
    co_await clock_.wait(std::move(alarm), at);
    co_return clock_.now() >= at;
}

void Sender::learn(const Call& call, Try& last, Admission& in) {
    if (last.by_windows) {
        note_windows(call, in.lease.key().id, *last.by_windows);
    }
    learn_about_key(call, last, std::move(in.lease));
    report(call.state(), in.pass, last.result, last.short_time, clock_.now());
}

void Sender::learn_about_key(const Call& call, Try& last, KeyLease lease) {
    CallResult& result = last.result;
    if (!last.verdict) {
        std::move(lease).settle(result.attempt.outcome, last.by_windows);
        return;
    }
    Verdict& verdict = *last.verdict;
    if (verdict.outcome == Outcome::kCancelled) {
        return;
    }
    ProviderState& state = call.state();
    const KeysConfig& penalties = call.config.keys;
    if (verdict.effect == Effect::kCool && state.note_rate_refusal(lease.index(), clock_.now())) {
        verdict.reach = Reach::kProvider;
    }
    if (verdict.effect == Effect::kCool && verdict.reach == Reach::kProvider) {
        state.rest(verdict.penalty.value_or(penalties.default_cooldown), clock_.now());
        result.step = Step::kNextProvider;
        result.attempt.blame = Blame::kProvider;
    }
    const std::optional<KeyRest> rest = rest_after(verdict, penalties);
    if (rest) {
        note_rest(state.name(), lease.key().id, verdict.outcome, *rest);
    }
    if (last.never_left) {
        std::move(lease).refund();
    } else {
        std::move(lease).settle(verdict.outcome, longer(rest, last.by_windows));
    }
}

void Sender::note_windows(const Call& call, std::string_view key_id, const KeyRest& rest) {
    if (rest.status == KeyStatus::kExhausted) {
        note_rest(call.state().name(), key_id, Outcome::kQuotaExhausted, rest);
    } else {
        call.state().count_pace();
    }
}

void Sender::note_rest(std::string_view provider, std::string_view key_id, Outcome reason,
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
