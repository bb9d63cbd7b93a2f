#include "web/search.h"

#include "base/exception.h"
#include "web/fingerprint.h"
#include "web/metrics.h"
#include "web/notices.h"
#include "web/readiness.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <string>
#include <utility>

namespace sluice::web {

namespace asio = boost::asio;

// Handles resolved once: what ends well only increments.
struct Search::Counters {
    explicit Counters(obs::Metrics& metrics)
        : hit(metrics.counter(kCacheEvents, {"hit"})),
          miss(metrics.counter(kCacheEvents, {"miss"})),
          stale(metrics.counter(kCacheEvents, {"stale"})),
          bypass(metrics.counter(kCacheEvents, {"bypass"})),
          collapsed(metrics.counter(kCacheEvents, {"collapsed"})),
          salvaged(metrics.counter(kCacheEvents, {"salvaged"})),
          shed{metrics.counter(kSchedulerShed, {"fast"}),
               metrics.counter(kSchedulerShed, {"deep"})},
          fresh{metrics.counter(kSearches, {"fast", "fresh"}),
                metrics.counter(kSearches, {"deep", "fresh"})},
          live{metrics.counter(kSearches, {"fast", "live"}),
               metrics.counter(kSearches, {"deep", "live"})} {}

    obs::Counter hit;
    obs::Counter miss;
    obs::Counter stale;
    obs::Counter bypass;
    obs::Counter collapsed;
    obs::Counter salvaged;
    std::array<obs::Counter, 2> shed;   // by lane
    std::array<obs::Counter, 2> fresh;  // by lane
    std::array<obs::Counter, 2> live;   // by lane
};

namespace {

std::size_t index_of(Lane lane) {
    return static_cast<std::size_t>(lane);
}

guard::FlightLimits flight_limits(const CacheConfig& cache) {
    return {Search::kMaxFlights, cache.max_bytes > 0 ? cache.max_unattended : 0};
}

CacheNote note_of(const AnswerCache::Cached& cached, CacheFate fate) {
    CacheNote note;
    note.fate = fate;
    note.from_past = true;
    note.age = cached.age;
    note.ttl = cached.fresh_for;
    return note;
}

// Of an answer that a strategy found: it may be made from what a provider gave before.
CacheNote note_of(const Found& found, CacheNote note, const CacheConfig& cache, Instant asked,
                  Instant now) {
    const Instant made_at = found.answer->made_at();
    note.stored = found.stored && !note.collapsed;
    note.from_past = made_at != Instant{} && made_at < asked;
    if (note.from_past) {
        note.age = now - made_at;
        note.ttl = lifetime_of(*found.answer, made_at, cache).fresh_for - note.age;
    }
    return note;
}

// Nothing, beside a failure, may be a mistake. Results are results, whoever is missing.
bool is_worth_keeping(const Found& found) {
    return !found.degraded || !found.answer->is_empty();
}

// Whether somebody was not asked since the payer's own budget was gone.
bool lacked_payers_money(const Failure& failure) {
    return std::ranges::any_of(failure.attempts, [](const Attempt& attempt) {
        return attempt.gap && attempt.gap->purse == access::Purse::kToken;
    });
}

// Whether a search failed, and that was among the reasons.
bool lacked_payers_money(const Result<std::shared_ptr<const StrategyResult>>& landed) {
    const auto* failure = landed.ok() ? std::get_if<Failure>(landed->get()) : nullptr;
    return failure != nullptr && lacked_payers_money(*failure);
}

// What was cleared from a cache, on the control loop, with a turn for others after each piece.
template <class Cleared>
void destroy_in_pieces(Executor control, Cleared cleared) {
    asio::post(control, [control, cleared = std::move(cleared)]() mutable {
        if (cleared.destroy(Search::kDestroyedPerTurn)) {
            destroy_in_pieces(control, std::move(cleared));
        }
    });
}

}  // namespace

Search::Search(Executor control, WebConfig config, access::Access& access, access::Budgets& budgets,
               KeyPool& keys, io::HttpClient& http, io::EgressRouter& egress, Clock& clock,
               const obs::Log& log, obs::Metrics& metrics, SharedAnswers* shared)
    : control_(control),
      config_(std::make_shared<const WebConfig>(std::move(config))),
      access_(access),
      budgets_(budgets),
      keys_(keys),
      egress_(egress),
      clock_(clock),
      log_(log),
      degraded_log_(log, clock),
      metrics_(metrics),
      cache_(config_.get()->cache, log, metrics),
      results_(config_.get()->cache, metrics),
      providers_(config_.get()->circuit, log, metrics),
      hedges_(metrics),
      call_(keys, budgets, http, egress, clock, log, metrics),
      counters_(std::make_unique<Counters>(metrics)),
      lanes_(config_.get()->lanes, clock),
      flight_tasks_(control,
                    [this](const std::exception_ptr& error) {
                        log_.error("search_failed", {{"exception", exception_type(error)}});
                    }),
      flights_(flight_tasks_, clock, flight_limits(config_.get()->cache)),
      shared_(shared) {
    log_notices(*config_.get(), log_);
}

Search::~Search() = default;

SearchStart Search::answer(SearchRequest request, const access::Credentials& credentials,
                           const RequestContext& context) {
    // Who asks, may they, and is there room in their windows? A malformed request never gets here,
    // so it costs nobody's budget.
    Result<access::Caller> caller = access_.admit(credentials, access::Scope::kSearch);
    if (!caller.ok()) {
        return SearchReply(Failure{std::move(caller).error(), {}});
    }
    // Settled before anything is looked up: a search is the same whether it names its lane's
    // strategy or leaves it out.
    request.strategy = config_.get()->strategy(request);
    // A fresh answer needs no slot, so it is served even when every lane is full.
    const Fingerprint key = fingerprint(request);
    CacheFate fate = request.cache == CacheMode::kBypass ? CacheFate::kBypass : CacheFate::kRefresh;
    if (request.cache == CacheMode::kUse || request.cache == CacheMode::kOnly) {
        auto cached = cache_.find(key, context.started);
        if (cached && cached->fresh()) {
            return serve_hit(request.lane, *std::move(cached));
        }
        counters_->miss.add();
        fate = cached ? CacheFate::kStale : CacheFate::kMiss;
    }
    if (request.cache == CacheMode::kOnly && shared_ == nullptr) {
        return SearchReply(not_cached(request.lane));
    }
    request.payer = access::payer_of(*std::move(caller));
    // Everything that may wait runs on the control loop, where no lock is needed.
    const Instant deadline =
        context.started + config_.get()->lanes.lane(kind_of(request.lane)).deadline;
    Missed missed{std::make_shared<const SearchRequest>(std::move(request)), key, deadline, fate};
    if (missed.request->cache == CacheMode::kOnly) {
        return run_on(control_, find_shared(std::move(missed)));
    }
    return run_on(control_, miss(std::move(missed)));
}

SearchReply Search::serve_hit(Lane lane, AnswerCache::Cached cached) {
    counters_->hit.add();
    counters_->fresh[index_of(lane)].add();
    Served served;
    served.note = note_of(cached, CacheFate::kHit);
    served.degraded = cached.answer->is_degraded();
    served.answer = std::move(cached.answer);
    served.cached = true;
    return served;
}

Failure Search::not_cached(Lane lane) {
    count(lane, to_string(Code::kNotCached));
    Failure failure{
        {Code::kNotCached,
         Blame::kCaller,
         "there is no fresh answer in the cache; leave 'cache' out to ask the providers",
         {}},
        {}};
    failure.note.fate = CacheFate::kOnly;
    return failure;
}

Task<SearchReply> Search::miss(Missed missed) {
    const Lane lane = missed.request->lane;
    const bool bypass = missed.fate == CacheFate::kBypass;
    const Instant asked = clock_.now();
    CacheNote note;
    note.fate = missed.fate;
    // One upstream search for all who ask the same at once. A bypass wants an answer of its own.
    Result<SharedResult> landed = SharedResult();
    if (lacks_redis()) {
        landed = redis_is_away();
    } else if (bypass) {
        counters_->bypass.add();
        landed = co_await fly(missed, nullptr);
    } else {
        FlightKey key{missed.key, missed.request->cache != CacheMode::kRefresh};
        if (flights_.in_flight(key)) {
            note.collapsed = true;
            counters_->collapsed.add();
        }
        landed = co_await share(missed, key);
        if (note.collapsed && lacked_payers_money(landed)) {
            // That was the budget of whoever started the flight. Once more, paid by this caller.
            key.payer = missed.request->payer.token_id;
            note.collapsed = flights_.in_flight(key);
            landed = co_await share(missed, std::move(key));
        }
    }

    Failure failure;
    if (!landed.ok()) {
        failure.error = std::move(landed).error();
    } else if (const auto* found = std::get_if<Found>(landed->get())) {
        co_return serve_found(missed, *found, note, asked);
    } else {
        failure = std::get<Failure>(*landed.value());
    }

    // The last resort. Not for what the caller got wrong: an old answer would hide that.
    const bool callers_fault = failure.error.blame == Blame::kCaller;
    if (!callers_fault && !bypass) {
        auto cached = cache_.find(missed.key, clock_.now());
        if (!cached && shared_ != nullptr) {
            const AnswerCache::Epoch begun = cache_.epoch();
            const SharedAnswers::Kept kept =
                co_await shared_->find(missed.key, *missed.request, missed.deadline);
            if (auto there = remember(missed, kept, begun)) {
                cached = std::move(there->cached);
            }
        }
        if (cached) {
            co_return serve_kept(missed, *std::move(cached), std::move(failure));
        }
    }
    count(lane, to_string(failure.error.code));
    degraded_log_.unanswered(lane, failure.error);
    failure.note = note;
    co_return SearchReply(std::move(failure));
}

SearchReply Search::serve_found(const Missed& missed, const Found& found, CacheNote note,
                                Instant asked) {
    const Lane lane = missed.request->lane;
    Served served;
    served.answer = found.answer;
    served.degraded = found.degraded;
    if (missed.request->trace) {
        served.attempts = found.attempts;
    }
    served.queued = found.queued;
    served.note = note_of(found, note, config_.get()->cache, asked, clock_.now());
    // Another replica had it before this was asked, or searched for both.
    served.cached = found.shared && served.note.from_past;
    if (found.shared && !served.cached) {
        served.note.collapsed = true;
    }
    if (served.cached) {
        served.note.fate = CacheFate::kHit;
        served.note.stored = false;
        counters_->hit.add();
        counters_->fresh[index_of(lane)].add();
    } else if (found.degraded) {
        count(lane, "degraded");
        degraded_log_.degraded(lane);
    } else {
        counters_->live[index_of(lane)].add();
    }
    return served;
}

Task<Result<Search::SharedResult>> Search::share(const Missed& missed, FlightKey key) {
    const auto work = [this, &missed](std::shared_ptr<guard::Stake> stake) {
        if (shared_ == nullptr) {
            return fly(missed, std::move(stake));
        }
        // A refresh wants an answer that is newer than what others find for who does not.
        const bool together = missed.request->cache != CacheMode::kRefresh;
        return together ? fly_shared(missed, std::move(stake))
                        : refresh_shared(missed, std::move(stake));
    };
    return flights_.run(std::move(key), missed.deadline, work);
}

SearchReply Search::serve_kept(const Missed& missed, AnswerCache::Cached cached, Failure failure) {
    const Lane lane = missed.request->lane;
    Served served;
    // A failed refresh leaves an answer that may be as good as ever, and another search may have
    // brought one in the meantime.
    served.stale = !cached.fresh();
    if (served.stale) {
        counters_->stale.add();
        count(lane, "stale");
        degraded_log_.stale(lane, failure.error);
    } else {
        counters_->hit.add();
        counters_->fresh[index_of(lane)].add();
    }
    served.note = note_of(cached, missed.fate);
    served.degraded = cached.answer->is_degraded();
    served.answer = std::move(cached.answer);
    served.cached = true;
    if (missed.request->trace) {
        served.attempts = std::move(failure.attempts);
    }
    served.queued = failure.queued;
    return served;
}

Search::SharedResult Search::shed(const Missed& missed, Instant arrived, Error error) {
    if (error.code != Code::kCancelled) {  // who leaves the queue was not turned away
        counters_->shed[index_of(missed.request->lane)].add();
    }
    Failure failure;
    failure.queued = std::chrono::ceil<Millis>(clock_.now() - arrived);
    failure.error = std::move(error);
    return std::make_shared<const StrategyResult>(std::move(failure));
}

Task<Result<Search::SharedResult>> Search::fly(Missed missed, std::shared_ptr<guard::Stake> stake,
                                               std::unique_ptr<SharedTurn> turn,
                                               std::optional<guard::LaneTicket> ticket,
                                               std::string purge) {
    // What is in force now is in force to the end of this flight.
    const std::shared_ptr<const WebConfig> config = config_.get();
    const std::shared_ptr<const SearchRequest>& request = missed.request;
    const AnswerCache::Epoch begun = cache_.epoch();
    // A place in the lane, for the whole of the work.
    if (!ticket) {
        const Instant arrived = clock_.now();
        Result<guard::LaneTicket> entered =
            co_await lanes_.enter(kind_of(request->lane), missed.deadline);
        if (!entered.ok()) {
            co_return shed(missed, arrived, std::move(entered).error());
        }
        ticket.emplace(*std::move(entered));
    }
    SearchWork work(call_, results_, providers_, hedges_, flight_tasks_, clock_, config, request,
                    work_until(missed), stake);
    work.fallback = fallback_of(missed);
    StrategyResult result = co_await run_strategy(work);
    std::visit([&](auto& end) { end.queued = std::chrono::ceil<Millis>(ticket->waited()); },
               result);
    // Remembered before anybody is told, so that whoever asks next finds it.
    auto* found = std::get_if<Found>(&result);
    if (found != nullptr && found->degraded) {
        found->answer->mark_degraded();
    }
    if (found != nullptr && stake != nullptr && is_worth_keeping(*found)) {
        found->answer->prepare_to_keep(missed.key, config->cache.compress_over_bytes);
        // Written before a door can render the answer, which may end its fields.
        std::optional<SharedAnswers::Draft> draft;
        if (shared_ != nullptr) {
            draft = draft_of(*found->answer, config->cache, std::move(purge));
        }
        found->stored =
            cache_.publish(missed.key, found->answer, config->cache, clock_.now(), begun);
        if (found->stored && !stake->is_attended()) {
            counters_->salvaged.add();
        }
        if (draft) {
            co_await shared_->publish(missed.key, *std::move(draft), std::move(turn));
        }
    }
    const auto* failure = std::get_if<Failure>(&result);
    if (turn && failure != nullptr && !lacked_payers_money(*failure)) {
        turn->fail(failure->error);
    }
    co_return std::make_shared<const StrategyResult>(std::move(result));
}

// A little before those who wait give up, so that what was tried reaches them.
Instant Search::work_until(const Missed& missed) const {
    const Duration left = std::max<Duration>(missed.deadline - clock_.now(), Duration{});
    return missed.deadline - std::min<Duration>(kReplyMargin, left / 10);
}

Fallback Search::fallback_of(const Missed& missed) {
    const bool has_stale =
        missed.fate == CacheFate::kStale ||
        (missed.fate == CacheFate::kRefresh && cache_.find(missed.key, clock_.now()));
    return has_stale ? Fallback::kStaleAnswer : Fallback::kNone;
}

std::variant<Error, Task<Explanation>> Search::explain(SearchRequest request,
                                                       const access::Credentials& credentials) {
    Result<access::Caller> caller = access_.admit(credentials, access::Scope::kSearch);
    if (!caller.ok()) {
        return std::move(caller).error();
    }
    request.payer = access::payer_of(*std::move(caller));
    return run_on(control_, look_ahead(std::move(request)));
}

Task<Explanation> Search::look_ahead(SearchRequest request) {
    const std::shared_ptr<const WebConfig> config = config_.get();
    const guard::LaneKind kind = kind_of(request.lane);
    const guard::LaneConfig& lane = config->lanes.lane(kind);
    Explanation explanation;
    request.strategy = config->strategy(request);
    explanation.lane = request.lane;
    explanation.strategy = request.strategy;
    explanation.cache = request.cache;
    const Fingerprint key = fingerprint(request);
    if (const auto cached = cache_.peek(key, clock_.now())) {
        explanation.entry =
            cached->fresh() ? Explanation::Entry::kFresh : Explanation::Entry::kStale;
    }
    explanation.deadline = lane.deadline;
    explanation.scheduler = lanes_.stats(kind);
    explanation.concurrency = lane.concurrency;
    const Surroundings in{providers_, keys_, budgets_, results_, egress_, clock_, *config};
    explanation.route = explain_route(in, request);
    co_return explanation;
}

std::shared_ptr<const io::HttpBody> Search::body_of(const SearchAnswer& answer, Door door,
                                                    Renderer render) {
    SearchAnswer::Body body = answer.body_for(door, render);
    if (body.is_new) {
        cache_.settle(answer, *body.bytes);
    }
    return std::move(body.bytes);
}

Search::Purged Search::purge_cache() {
    // Results first: an answer made from one in between would be as old as the purged ones.
    auto results = results_.purge();
    auto answers = cache_.purge();
    const Purged purged{answers.count(), results.count()};
    destroy_in_pieces(control_, std::move(results));
    destroy_in_pieces(control_, std::move(answers));
    return purged;
}

Task<void> Search::sweep_caches() {
    const std::size_t parts = std::max(cache_.parts(), results_.parts());
    for (;;) {
        co_await clock_.sleep_until(clock_.now() + kSweepEvery);
        for (std::size_t part = 0; part < parts; ++part) {
            cache_.sweep(clock_.now());
            results_.sweep(clock_.now());
            // Searches have their turn in between.
            co_await asio::post(control_, asio::as_tuple(use_task));
        }
    }
}

void Search::reconfigure(WebConfig config) {
    config_.set(std::make_shared<const WebConfig>(std::move(config)));
    log_notices(*config_.get(), log_);
}

Task<Search::Overview> Search::overview() {
    return run_on(control_, gather());
}

Task<Search::Overview> Search::gather() {
    Overview overview;
    overview.can_search = can_search(*config_.get(), keys_);
    overview.keys = keys_.counts();
    for (const auto& state : providers_.all()) {
        overview.providers.push_back({state->name(), state->circuit(clock_.now()),
                                      state->recent().summary(),
                                      budgets_.provider(state->index())});
    }
    overview.spend = budgets_.gateway();
    overview.egress = egress_.view();
    overview.cache = cache_.size();
    overview.flights = flights_.stats().flights;
    overview.fast = lanes_.stats(guard::LaneKind::kFast);
    overview.deep = lanes_.stats(guard::LaneKind::kDeep);
    if (shared_ != nullptr) {
        co_await ask_redis_again();
        overview.redis = {shared_->redis().view(), shared_->redis().config().required,
                          is_redis_refusing()};
    }
    co_return overview;
}

Task<Search::Readiness> Search::readiness() {
    return run_on(control_, look_for_readiness());
}

Task<Search::Readiness> Search::look_for_readiness() {
    Readiness readiness;
    readiness.can_search = can_search(*config_.get(), keys_);
    co_await ask_redis_again();
    readiness.lacks_redis = is_redis_refusing();
    readiness.is_unpaid = budgets_.is_shut();
    co_return readiness;
}

void Search::count(Lane lane, std::string_view outcome) {
    metrics_.counter(kSearches, {std::string(to_string(lane)), std::string(outcome)}).add();
}

Task<void> Search::stop() {
    flight_tasks_.close();
    flights_.cancel_all();
    co_await flight_tasks_.join();
}

}  // namespace sluice::web
