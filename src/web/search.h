// Web search, top to bottom: start here. answer() is what every door calls, on any core; it serves
// a fresh answer on the spot and hands everything else to the control loop.
#pragma once

#include "access/access.h"
#include "base/clock.h"
#include "base/request_context.h"
#include "base/snapshot.h"
#include "base/task.h"
#include "guard/lanes.h"
#include "guard/singleflight.h"
#include "io/http_client.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "web/cache.h"
#include "web/call.h"
#include "web/config.h"
#include "web/failover.h"
#include "web/keys.h"
#include "web/types.h"

#include <memory>
#include <variant>
#include <vector>

namespace sluice::web {

using SearchReply = std::variant<Served, Failure>;

// A reply that is there already, or the work that will give it.
using SearchStart = std::variant<SearchReply, Task<SearchReply>>;

class Search {
 public:
    // Searches under way at once, waiting ones included; more are refused.
    static constexpr std::size_t kMaxFlights = 10'000;

    // Everything passed by reference outlives it. `control` is the executor of the control loop:
    // the one thread that flights, lanes, keys and the HTTP client belong to.
    Search(Executor control, WebConfig config, access::Access& access, KeyPool& keys,
           io::HttpClient& http, Clock& clock, const obs::Log& log, obs::Metrics& metrics);
    ~Search();

    // Any thread. The views in `credentials` are read before this returns.
    SearchStart answer(SearchRequest request, const access::Credentials& credentials,
                       const RequestContext& context);

    // Any thread. Answers forgotten.
    std::size_t purge_cache();

    // Any thread: for requests that begin from now on. Sizes of the cache and the lanes stay.
    void reconfigure(WebConfig config);

    struct Overview {
        std::map<std::string, KeyPool::Counts> keys;
        AnswerCache::Size cache;
        std::size_t flights = 0;
        guard::LaneStats fast;
        guard::LaneStats deep;
    };
    // Any thread: what /v1/status and readiness show, gathered on the control loop.
    Task<Overview> overview();

    const WebConfig& config() const { return config_.get(); }

    // Control loop, at shutdown: takes no further flights and waits for those under way.
    Task<void> stop();

 private:
    struct Counters;
    using SharedResult = std::shared_ptr<const StrategyResult>;

    Task<SearchReply> miss(std::shared_ptr<const SearchRequest> request, Fingerprint key,
                           Instant deadline);
    Task<Result<SharedResult>> fly(std::shared_ptr<const SearchRequest> request, Fingerprint key,
                                   Instant deadline);
    Task<Overview> gather();

    Executor control_;
    Snapshot<WebConfig> config_;
    access::Access& access_;
    KeyPool& keys_;
    Clock& clock_;
    const obs::Log& log_;
    obs::Metrics& metrics_;
    AnswerCache cache_;
    ProviderCall call_;
    std::unique_ptr<Counters> counters_;
    guard::LaneGate lanes_;
    TaskScope flight_tasks_;
    guard::SingleFlight<Fingerprint, SharedResult, guard::DigestHash> flights_;
};

}  // namespace sluice::web
