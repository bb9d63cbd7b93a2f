// Web search, top to bottom: start here. answer() is what every door calls, on any core; it serves
// a fresh answer on the spot and hands everything else to the control loop. The stages and why they
// stand in this order are in ARCHITECTURE.md.
#pragma once

#include "access/access.h"
#include "access/budget.h"
#include "base/clock.h"
#include "base/published.h"
#include "base/request_context.h"
#include "base/result.h"
#include "base/task.h"
#include "guard/lanes.h"
#include "guard/singleflight.h"
#include "guard/ttl_cache.h"
#include "io/egress.h"
#include "io/http_client.h"
#include "io/redis.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "web/cache.h"
#include "web/call.h"
#include "web/config.h"
#include "web/degraded_log.h"
#include "web/explain.h"
#include "web/fingerprint.h"
#include "web/hedge_budget.h"
#include "web/keys.h"
#include "web/provider_state.h"
#include "web/result_cache.h"
#include "web/shared_answers.h"
#include "web/shared_turn.h"
#include "web/strategy.h"
#include "web/types.h"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sluice::web {

// How a search ends: an answer, or an error with the attempts that led to it.
using SearchReply = std::variant<Served, Failure>;

// A reply that is there already, or the work that will give it.
using SearchStart = std::variant<SearchReply, Task<SearchReply>>;

class Search {
 public:
    // Searches under way at once, waiting ones included; more are refused.
    static constexpr std::size_t kMaxFlights = 10'000;
    // Of a search's deadline, what is kept for telling everybody how it ended (a tenth at most).
    static constexpr Millis kReplyMargin{100};
    // How often the caches are swept, a few slots of each of their parts.
    static constexpr Millis kSweepEvery{1'000};
    // Entries of a purged cache that are destroyed in one turn of the control loop.
    static constexpr std::size_t kDestroyedPerTurn = 256;

    // Everything passed by reference outlives it. `control` is the executor of the control loop:
    // the one thread that flights, lanes, keys, the HTTP client and Redis belong to. `shared` is
    // null where nothing is shared with other replicas.
    Search(Executor control, WebConfig config, access::Access& access, access::Budgets& budgets,
           KeyPool& keys, io::HttpClient& http, io::EgressRouter& egress, Clock& clock,
           const obs::Log& log, obs::Metrics& metrics, SharedAnswers* shared = nullptr);
    ~Search();

    // Any thread. The views in `credentials` are read before this returns. A Failure carries what
    // access::Access::admit() and web/failure.h say, kNotCached when only the cache was to be
    // asked, kOverloaded with retry_after when the lane or the table of flights is full, and
    // kUnavailable while Redis is required and can't be used. The task ends by the lane's deadline,
    // counted from context.started.
    SearchStart answer(SearchRequest request, const access::Credentials& credentials,
                       const RequestContext& context);

    // Any thread: what answer() would do with this request, of which nothing is done. The request
    // itself is counted in the caller's windows. An Error as access::Access::admit() has it.
    std::variant<Error, Task<Explanation>> explain(SearchRequest request,
                                                   const access::Credentials& credentials);

    // Any thread. The finished body of an answer that was served, for `door`; see
    // SearchAnswer::body_for().
    using Renderer = std::string (*)(const SearchAnswer&);
    std::shared_ptr<const io::HttpBody> body_of(const SearchAnswer& answer, Door door,
                                                Renderer render);

    struct Purged {
        std::size_t answers = 0;
        std::size_t results = 0;  // of providers, beneath the answers
    };
    // Any thread. Forgets every cached answer and every kept result: 20 ms for a million of them,
    // which are destroyed afterwards, on the control loop and in pieces.
    Purged purge_cache();

    // Any thread. Whether there is a cache that replicas share, and its purge: false when it could
    // not be told. Before purge_cache(), which would be filled again from it.
    bool shares() const { return shared_ != nullptr; }
    Task<bool> purge_shared();

    // Purges when another replica did, for ever; ends by cancellation. Control loop, and only where
    // there is a cache that replicas share.
    Task<void> follow_purges();

    // Control loop. Every few seconds drops what is over from the caches, where nobody asks for it
    // and nothing is written any more. Runs until it is cancelled.
    Task<void> sweep_caches();

    // Any thread: for requests that begin from now on. Sizes of the cache and the lanes stay.
    void reconfigure(WebConfig config);

    // What the gateway looks like at one moment.
    struct Overview {
        bool can_search = false;  // an enabled provider of a route has a key that may be used
        std::map<std::string, KeyCounts> keys;  // by provider
        struct Provider {
            std::string_view name;
            ProviderState::CircuitView circuit;
            RecentCalls::Summary recent;
            access::Budgets::Standing spend;
        };
        std::vector<Provider> providers;  // every one of this binary
        access::Budgets::Standing spend;  // everything together
        io::EgressView egress;
        AnswerCache::Size cache;
        std::size_t flights = 0;
        guard::LaneStats fast;
        guard::LaneStats deep;
        struct Redis {
            io::RedisClient::View view;
            bool required = false;
            bool refusing = false;  // searches, since it is required and can't be used
        };
        std::optional<Redis> redis;  // nothing: there is none
    };
    // Any thread; gathered on the control loop.
    Task<Overview> overview();

    // Control loop. Lives as long as this.
    const ProviderStates& providers() const { return providers_; }

    struct Readiness {
        bool can_search = false;   // as in Overview
        bool lacks_redis = false;  // it is required, and can't be used
        bool is_unpaid = false;    // no call is made, since spending can't be written down
        bool is_ready() const { return can_search && !lacks_redis && !is_unpaid; }
    };
    // Any thread: costs a look at the counts of keys.
    Task<Readiness> readiness();

    // Any thread: the settings in force.
    std::shared_ptr<const WebConfig> config() const { return config_.get(); }

    // Control loop, at shutdown: takes no further flights, cancels those under way and waits for
    // their end.
    Task<void> stop();

 private:
    struct Counters;
    using SharedResult = std::shared_ptr<const StrategyResult>;

    // One search that there is no fresh answer for, and why.
    struct Missed {
        std::shared_ptr<const SearchRequest> request;
        Fingerprint key;
        Instant deadline;
        CacheFate fate;
    };

    // What searches have in common that share a flight.
    struct FlightKey {
        Fingerprint search;
        bool may_read_results = true;  // a refresh may not be answered from the cache of results
        // The token of the only payer who may join; nothing: whoever starts it pays for all.
        std::optional<std::string> payer = {};
        bool operator==(const FlightKey&) const = default;
    };
    struct FlightKeyHash {
        std::size_t operator()(const FlightKey& key) const noexcept {
            return guard::DigestHash()(key.search);
        }
    };

    Task<SearchReply> miss(Missed missed);
    Task<Result<SharedResult>> share(const Missed& missed, FlightKey key);
    // `stake` is null for a search that nobody shares. `turn` is what keeps other replicas from the
    // same, if they are kept from it. Without `ticket` it takes one. `purge` is
    // SharedAnswers'; without one they are not given what is found.
    Task<Result<SharedResult>> fly(Missed missed, std::shared_ptr<guard::Stake> stake,
                                   std::unique_ptr<SharedTurn> turn = nullptr,
                                   std::optional<guard::LaneTicket> ticket = std::nullopt,
                                   std::string purge = {});
    // The same for a search that replicas share: looks what they have found, and flies only when
    // none of them does.
    Task<Result<SharedResult>> fly_shared(Missed missed, std::shared_ptr<guard::Stake> stake);
    // fly() for a search that is to find something newer than what replicas share, for all of them.
    Task<Result<SharedResult>> refresh_shared(Missed missed, std::shared_ptr<guard::Stake> stake);
    Instant work_until(const Missed& missed) const;
    std::optional<SharedAnswers::Draft> draft_of(const SearchAnswer& answer,
                                                 const CacheConfig& cache, std::string purge);
    SharedResult shed(const Missed& missed, Instant arrived, Error error);
    SharedResult arrive(const SharedAnswers::Kept& kept, bool stored);
    struct Remembered {
        AnswerCache::Cached cached;
        bool stored = false;  // in memory
    };
    // `begun`: before what was kept was looked for.
    std::optional<Remembered> remember(const Missed& missed, const SharedAnswers::Kept& kept,
                                       AnswerCache::Epoch begun);
    Task<SearchReply> find_shared(Missed missed);
    SearchReply serve_found(const Missed& missed, const Found& found, CacheNote note,
                            Instant asked);
    SearchReply serve_hit(Lane lane, AnswerCache::Cached cached);
    Task<bool> purge_answers();
    // What is served should the search fail.
    Fallback fallback_of(const Missed& missed);
    Failure not_cached(Lane lane);
    SearchReply serve_kept(const Missed& missed, AnswerCache::Cached cached, Failure failure);
    Task<Explanation> look_ahead(SearchRequest request);
    Task<Overview> gather();
    Task<Readiness> look_for_readiness();
    bool lacks_redis() const;
    bool is_redis_refusing() const;
    Task<void> ask_redis_again();
    void count(Lane lane, std::string_view outcome);

    Executor control_;
    Published<WebConfig> config_;
    access::Access& access_;
    access::Budgets& budgets_;
    KeyPool& keys_;
    io::EgressRouter& egress_;
    Clock& clock_;
    const obs::Log& log_;
    DegradedLog degraded_log_;
    obs::Metrics& metrics_;
    AnswerCache cache_;
    ResultCache results_;
    ProviderStates providers_;
    HedgeBudget hedges_;
    ProviderCall call_;
    std::unique_ptr<Counters> counters_;
    guard::LaneGate lanes_;
    TaskScope flight_tasks_;
    guard::SingleFlight<FlightKey, SharedResult, FlightKeyHash> flights_;
    SharedAnswers* const shared_;  // null: there are none
    // The last search that needed Redis got nothing from it, though it is up.
    bool redis_refused_ = false;
    Instant redis_asked_again_at_{};
};

}  // namespace sluice::web
