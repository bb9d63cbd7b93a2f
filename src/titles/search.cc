#include "titles/search.h"

#include "base/exception.h"
#include "base/published.h"
#include "guard/keyed_hash.h"
#include "guard/lru.h"
#include "io/client_ip.h"
#include "titles/candidates.h"
#include "titles/compute_threads.h"
#include "titles/metrics.h"

#include <array>
#include <utility>

namespace sluice::titles {

namespace {

// Of reading candidates; scoring needs no bound, since it ends by itself.
constexpr Millis kPatience{10'000};
// When to come back where nobody can say: the next second may be better.
constexpr std::chrono::seconds kSoon{1};
constexpr int kLinesAtOnce = 50;
constexpr Millis kLineEvery{100};

using RankingPtr = std::shared_ptr<const Ranking>;

// Of a search over certain pages in certain versions, with the settings that decide its result.
std::string cache_key(const Snapshot& snapshot, const TitleQuery& query,
                      const TitlesConfig& config) {
    const Sha256& fingerprint = snapshot.fingerprint();
    std::string key(reinterpret_cast<const char*>(fingerprint.data()), fingerprint.size());
    key.append(std::to_string(snapshot.reading())).append(1, ' ');
    key.append(std::to_string(config.score_cutoff)).append(1, ' ');
    key.append(std::to_string(config.result_limit)).append(1, ' ');
    key.append(query.match.reveal());
    return key;
}

// With the pages as they are now.
void show(const Snapshot& snapshot, const Ranking& ranking, TitleAnswer& answer) {
    answer.corpus = snapshot.shared_corpus();
    answer.total_matched = ranking.total_matched;
    answer.is_truncated = ranking.is_truncated();
    for (const ScoredPage& page : ranking.pages) {
        if (const auto number = snapshot.find(page.id)) {
            answer.hits.push_back({&answer.corpus->candidate(*number), page.score});
        }
    }
}

constexpr std::array kKinds = {BudgetKind::kPage, BudgetKind::kApi};
constexpr std::array kOutcomes = {TitleOutcome::kRejected,    TitleOutcome::kLimited,
                                  TitleOutcome::kUnavailable, TitleOutcome::kBusy,
                                  TitleOutcome::kFailed,      TitleOutcome::kFound,
                                  TitleOutcome::kLeft};

std::string_view name_of(BudgetKind kind) {
    return kind == BudgetKind::kPage ? "page" : "api";
}

struct Counters {
    explicit Counters(obs::Metrics& metrics)
        : hit(metrics.counter(kCacheEvents, {"hit"})),
          miss(metrics.counter(kCacheEvents, {"miss"})),
          scoring(metrics.histogram(kScoringSeconds, {})) {
        for (const BudgetKind kind : kKinds) {
            for (const TitleOutcome outcome : kOutcomes) {
                searches.push_back(metrics.counter(
                    kSearches, {std::string(name_of(kind)), std::string(to_string(outcome))}));
            }
        }
    }

    void count(BudgetKind kind, TitleOutcome outcome) const {
        searches[static_cast<std::size_t>(kind) * kOutcomes.size() +
                 static_cast<std::size_t>(outcome)]
            .add();
    }

    std::vector<obs::Counter> searches;
    obs::Counter hit;
    obs::Counter miss;
    obs::Histogram scoring;
};

// Of a step that could not be taken.
TitleOutcome outcome_of(const Error& error) {
    return error.code == Code::kCancelled ? TitleOutcome::kLeft : TitleOutcome::kUnavailable;
}

// kCancelled when it was stopped, kInternal when it broke.
Task<Result<RankingPtr>> score_here(const TitleScorer& scorer, std::shared_ptr<const Corpus> corpus,
                                    QueryText match, ScoreLimits limits, std::stop_token stop,
                                    const obs::Log& log) {
    try {
        std::optional<Ranking> ranking = scorer(*corpus, match, limits, stop);
        if (ranking) {
            co_return std::make_shared<const Ranking>(*std::move(ranking));
        }
        co_return Error{Code::kCancelled, Blame::kCaller, "the caller left", std::nullopt};
    } catch (...) {
        log.error("scoring_failed", {{"exception", exception_type(std::current_exception())}});
    }
    co_return Error{Code::kInternal, Blame::kGateway, "titles could not be scored", std::nullopt};
}

}  // namespace

std::string_view to_string(TitleOutcome outcome) {
    switch (outcome) {
        case TitleOutcome::kRejected:
            return "rejected";
        case TitleOutcome::kLimited:
            return "limited";
        case TitleOutcome::kUnavailable:
            return "unavailable";
        case TitleOutcome::kBusy:
            return "busy";
        case TitleOutcome::kFailed:
            return "failed";
        case TitleOutcome::kFound:
            return "found";
        case TitleOutcome::kLeft:
            return "left";
    }
    SLUICE_ASSERT(false && "a TitleOutcome outside its enumeration");
}

// Belongs to the control loop, but for what says otherwise.
struct TitleSearch::Parts {
    Parts(Executor control_in, TitlesConfig config_in, const access::Access& access_in,
          PageStore& pages, SearchBudget& budget_in, Clock& clock_in, Random& random,
          const obs::Log& log_in, obs::Metrics& metrics, TitleScorer scorer_in)
        : control(std::move(control_in)),
          config(std::make_shared<const TitlesConfig>(std::move(config_in))),
          access(access_in),
          budget(budget_in),
          clock(clock_in),
          log(log_in),
          scorer(std::move(scorer_in)),
          counters(metrics),
          lines(kLinesAtOnce, kLineEvery),
          candidates(control, pages, clock,
                     [this](const std::exception_ptr& error) {
                         log.error("task_failed", {{"exception", exception_type(error)}});
                     }),
          threads("scoring", config.get()->concurrency),
          cache(
              {.max_entries = config.get()->cache_entries, .max_cost = config.get()->cache_entries},
              guard::KeyedHash(random)) {
        metrics.sampled(kScoring, {}, [this] { return static_cast<double>(threads.busy()); });
        metrics.sampled(kCandidates, {}, [this] { return static_cast<double>(candidates.size()); });
    }

    Task<TitleAnswer> find(TitleQuery query, std::string client, BudgetKind kind);
    Task<Result<RankingPtr>> score(const ComputeThreads::Slot& slot, const Snapshot& snapshot,
                                   const TitleQuery& query, const TitlesConfig& settings);
    void tell(const TitleAnswer& answer, BudgetKind kind, std::string_view client, Instant started,
              std::string_view reason);

    const Executor control;
    Published<TitlesConfig> config;  // any thread
    const access::Access& access;    // any thread
    SearchBudget& budget;
    Clock& clock;
    const obs::Log& log;
    const TitleScorer scorer;
    const Counters counters;  // any thread
    obs::LogLimiter lines;
    Candidates candidates;
    ComputeThreads threads;
    guard::LruMap<std::string, RankingPtr, guard::KeyedHash> cache;
};

TitleSearch::TitleSearch(Executor control, TitlesConfig config, const access::Access& access,
                         PageStore& pages, SearchBudget& budget, Clock& clock, Random& random,
                         const obs::Log& log, obs::Metrics& metrics, TitleScorer scorer)
    : parts_(std::make_unique<Parts>(std::move(control), std::move(config), access, pages, budget,
                                     clock, random, log, metrics, std::move(scorer))) {}

TitleSearch::~TitleSearch() = default;

Task<TitleAnswer> TitleSearch::answer(TitleRequest request) {
    Parts& parts = *parts_;
    // 1. What was typed, free of charge.
    TitleQuery query = read_title_query(request.typed);
    if (query.verdict != QueryVerdict::kUsable) {
        TitleAnswer rejected;
        rejected.query = std::move(query);
        parts.counters.count(request.kind, rejected.outcome);
        co_return rejected;
    }
    // 2. Who asks.
    std::string client = io::bucket_of(parts.access.credentials_of(*request.http).client,
                                       parts.config.get()->ipv6_prefix);
    Task<TitleAnswer> rest = parts.find(std::move(query), std::move(client), request.kind);
    co_return co_await run_on(parts.control, std::move(rest));
}

Task<TitleAnswer> TitleSearch::Parts::find(TitleQuery query, std::string client, BudgetKind kind) {
    const Instant started = clock.now();
    const std::shared_ptr<const TitlesConfig> settings = config.get();
    TitleAnswer answer;
    answer.query = std::move(query);
    const auto end_as = [&](TitleOutcome outcome, std::chrono::seconds retry_after = {},
                            std::string_view reason = {}) {
        answer.outcome = outcome;
        answer.retry_after = retry_after;
        tell(answer, kind, client, started, reason);
    };

    // 3, 4. Both windows, or neither.
    auto verdict = co_await budget.spend(
        kind, client, kind == BudgetKind::kPage ? settings->limits : settings->api_limits);
    if (!verdict.ok()) {
        end_as(outcome_of(verdict.error()), kSoon, verdict.error().message);
        co_return answer;
    }
    answer.budget = *verdict;
    if (verdict->refused) {
        const auto full = static_cast<std::size_t>(*verdict->refused);
        end_as(TitleOutcome::kLimited, verdict->windows[full]->resets_in);
        co_return answer;
    }

    // 5. The pages as they are now.
    const auto snapshot = co_await candidates.current(started + kPatience);
    if (!snapshot.ok()) {
        end_as(outcome_of(snapshot.error()), kSoon, snapshot.error().message);
        co_return answer;
    }

    // 6. The same search over the same pages.
    std::string key = cache_key(**snapshot, answer.query, *settings);
    if (const RankingPtr* cached = cache.find(key)) {
        counters.hit.add();
        answer.from_cache = true;
        show(**snapshot, **cached, answer);
        end_as(TitleOutcome::kFound);
        co_return answer;
    }
    counters.miss.add();

    // 7, 8. A thread at once, or none.
    std::optional<ComputeThreads::Slot> slot = threads.try_acquire();
    if (!slot) {
        end_as(TitleOutcome::kBusy, kSoon);
        co_return answer;
    }

    // 9. The thread is given back whatever happens here.
    const auto scores = co_await score(*slot, **snapshot, answer.query, *settings);
    slot.reset();
    if (!scores.ok()) {
        end_as(scores.error().code == Code::kCancelled ? TitleOutcome::kLeft
                                                       : TitleOutcome::kFailed);
        co_return answer;
    }
    RankingPtr ranking = *scores;

    // 10. For this one, and for the next one who asks.
    show(**snapshot, *ranking, answer);
    cache.put(std::move(key), std::move(ranking), 1);
    end_as(TitleOutcome::kFound);
    co_return answer;
}

Task<Result<RankingPtr>> TitleSearch::Parts::score(const ComputeThreads::Slot& slot,
                                                   const Snapshot& snapshot,
                                                   const TitleQuery& query,
                                                   const TitlesConfig& settings) {
    const Instant began = clock.now();
    std::stop_source stop;
    std::optional<Result<RankingPtr>> ranking;
    Task<Result<RankingPtr>> work =
        score_here(scorer, snapshot.shared_corpus(), query.match,
                   {settings.score_cutoff, settings.result_limit}, stop.get_token(), log);
    co_await run_on(slot.executor(), store_result(std::move(work), ranking),
                    [stop]() mutable { stop.request_stop(); });
    counters.scoring.observe(std::chrono::duration<double>(clock.now() - began).count());
    co_return *std::move(ranking);
}

// What is known of a search but what was searched for and by whom.
void TitleSearch::Parts::tell(const TitleAnswer& answer, BudgetKind kind, std::string_view client,
                              Instant started, std::string_view reason) {
    counters.count(kind, answer.outcome);
    std::uint64_t suppressed = 0;
    if (!lines.allow(clock.now(), suppressed)) {
        return;
    }
    const BudgetWindow window = answer.budget
                                    ? answer.budget->refused.value_or(BudgetWindow::kMinute)
                                    : BudgetWindow::kMinute;
    const auto count_of = [&](BudgetWindow of) -> std::int64_t {
        const auto& state = answer.budget ? answer.budget->windows[static_cast<std::size_t>(of)]
                                          : std::optional<WindowState>();
        return state ? state->count : -1;
    };
    log.info(
        "title_search",
        {{"outcome", to_string(answer.outcome)},
         {"reason", reason},
         {"limit", answer.outcome == TitleOutcome::kLimited ? to_string(window) : "none"},
         {"bucket", budget_bucket(kind, window, client)},
         {"count_minute", count_of(BudgetWindow::kMinute)},
         {"count_hour", count_of(BudgetWindow::kHour)},
         {"cache", answer.from_cache ? "hit" : "miss"},
         {"latency_ms", std::chrono::duration<double, std::milli>(clock.now() - started).count()},
         {"suppressed", suppressed}});
}

void TitleSearch::reconfigure(TitlesConfig config) {
    parts_->config.set(std::make_shared<const TitlesConfig>(std::move(config)));
}

Task<void> TitleSearch::stop() {
    co_await run_on(parts_->control, parts_->candidates.stop());
}

}  // namespace sluice::titles
