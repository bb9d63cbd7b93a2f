#include "web/metrics.h"

namespace sluice::web {

using obs::MetricSpec;
using obs::MetricType;

const MetricSpec kCacheEvents{
    MetricType::kCounter,
    "gateway_cache_events_total",
    "What happens at the answer cache: hit, miss, stale (served because every provider failed), "
    "store, bypass, collapsed (a miss that waited for somebody else's), salvaged (kept after "
    "everybody who waited had left), too_large (for the whole cache).",
    {"event"}};

const MetricSpec kSharedCacheEvents{
    MetricType::kCounter,
    "sluice_web_shared_cache_events_total",
    "What happens at the answers that replicas share: found, absent, store, too_large, unreadable "
    "(passed over), failed (Redis did not do it).",
    {"event"}};

const MetricSpec kSharedTurns{
    MetricType::kCounter,
    "sluice_web_shared_turns_total",
    "Searches that asked whether it is for this replica to ask the providers: won (it is), held "
    "(another one does, counted each time that is looked), warned (another one just failed), "
    "unusable (Redis could not say), lost (a turn that was won went to somebody else).",
    {"outcome"}};

const MetricSpec kKeyPicks{MetricType::kCounter,
                           "sluice_web_key_picks_total",
                           "Picks of a key by a replica: shared (by the state in Redis), alone (by "
                           "what this process knows, "
                           "since Redis can't be asked). Without redis.url nothing is counted.",
                           {"from"}};

const MetricSpec kKeyPenalised{
    MetricType::kCounter,
    "gateway_key_penalised_total",
    "Keys put to rest, by provider and reason: rate_limited, quota_exhausted, auth_failed.",
    {"provider", "reason"}};

const MetricSpec kSchedulerShed{MetricType::kCounter,
                                "gateway_scheduler_shed_total",
                                "Searches refused because their lane had no room for them in time.",
                                {"lane"}};

const MetricSpec kProviderLatency{
    MetricType::kHistogram,
    "gateway_provider_latency_ms",
    "Milliseconds from sending a request to a provider to its complete answer.",
    {"provider"},
    {25, 50, 100, 200, 300, 500, 750, 1000, 1500, 2000, 3000, 5000, 8000, 15000, 30000}};

const MetricSpec kAttempts{MetricType::kCounter,
                           "sluice_web_attempts_total",
                           "Calls to providers, and providers passed over, by how that ended.",
                           {"provider", "outcome"}};

const MetricSpec kCircuitOpen{
    MetricType::kGauge,
    "sluice_web_circuit_open",
    "1 while a provider is left alone after failures, its probe included; else 0.",
    {"provider"}};

const MetricSpec kCircuitTrips{MetricType::kCounter,
                               "sluice_web_circuit_trips_total",
                               "Times that a provider's circuit opened, failed probes included.",
                               {"provider"}};

const MetricSpec kRateWaits{MetricType::kCounter,
                            "sluice_web_rate_waits_total",
                            "Calls that waited for their turn under providers.<name>.rate.",
                            {"provider"}};

const MetricSpec kRateRefusals{
    MetricType::kCounter,
    "sluice_web_rate_refusals_total",
    "Calls that were not made since their turn under providers.<name>.rate came too late.",
    {"provider"}};

const MetricSpec kKeyWaits{MetricType::kCounter,
                           "sluice_web_key_waits_total",
                           "Calls that waited for the first of a provider's keys to be back.",
                           {"provider"}};

const MetricSpec kRetries{
    MetricType::kCounter,
    "sluice_web_retries_total",
    "Calls made again to the same provider after a wait, since the route had nothing else left.",
    {"provider"}};

const MetricSpec kKeyPaces{
    MetricType::kCounter,
    "sluice_web_key_paces_total",
    "Keys held back for moments because the provider's headers said that their pace is reached.",
    {"provider"}};

const MetricSpec kProviderRests{
    MetricType::kCounter,
    "sluice_web_provider_rests_total",
    "Times that a provider was left alone because it would have refused every key.",
    {"provider"}};

const MetricSpec kHedges{
    MetricType::kCounter,
    "sluice_web_hedges_total",
    "Second calls of hedged searches: started, won (its answer came first), denied (for "
    "hedge.max_extra_ratio), unused (started, but its provider could not be asked).",
    {"event"}};

const MetricSpec kKeys{
    MetricType::kGauge,
    "sluice_web_keys",
    "Keys by provider and how they fare: available, cooling, exhausted, quarantined, saturated, "
    "disabled. Brought up to date once a second.",
    {"provider", "status"}};

const MetricSpec kKeyCalls{MetricType::kGauge,
                           "sluice_web_key_calls",
                           "Calls under way with a key of the provider. Brought up to date once a "
                           "second.",
                           {"provider"}};

const MetricSpec kKeyStoreFailures{
    MetricType::kCounter,
    "sluice_web_key_store_failures_total",
    "Times that the store of keys could not be read or written; the keys last known stay in force.",
    {}};

const MetricSpec kKeyUsageLost{
    MetricType::kGauge,
    "sluice_web_key_usage_lost",
    "1 while what is used up of keys' quotas can't be written down, or only slowly; else 0.",
    {}};

const MetricSpec kSearches{
    MetricType::kCounter,
    "sluice_web_searches_total",
    "Searches by how they ended: fresh, live, degraded, stale, or the code of the error.",
    {"lane", "outcome"}};

const MetricSpec kCacheBytes{
    MetricType::kGauge, "sluice_web_cache_bytes", "Memory held by cached answers.", {}};

const MetricSpec kCacheEntries{
    MetricType::kGauge, "sluice_web_cache_entries", "Answers in the cache.", {}};

const MetricSpec kCacheEvictions{
    MetricType::kCounter,
    "sluice_web_cache_evictions_total",
    "Entries that went for want of room, by cache: answers, results (of providers, beneath them).",
    {"cache"}};

const MetricSpec kCacheCompressed{
    MetricType::kCounter,
    "sluice_web_cache_compressed_bytes_total",
    "Finished answers that were kept compressed: their size (plain) and what is left of it (kept); "
    "the quotient is the ratio.",
    {"form"}};

const MetricSpec kCacheRefusals{
    MetricType::kCounter,
    "sluice_web_cache_refusals_total",
    "Entries that went for want of room soon after they came, since they were asked for less than "
    "those that would have had to go for them.",
    {"cache"}};

const MetricSpec kResultCacheEvents{
    MetricType::kCounter,
    "sluice_web_result_cache_events_total",
    "Look-ups of what a provider answered before, by what came of them: hit (a call saved), miss, "
    "store.",
    {"event"}};

const MetricSpec kResultCacheBytes{MetricType::kGauge,
                                   "sluice_web_result_cache_bytes",
                                   "Memory held by kept answers of providers.",
                                   {}};

const MetricSpec kResultCacheEntries{
    MetricType::kGauge, "sluice_web_result_cache_entries", "Kept answers of providers.", {}};

std::vector<const MetricSpec*> web_metrics() {
    return {&kCacheEvents,
            &kSharedCacheEvents,
            &kSharedTurns,
            &kKeyPicks,
            &kKeyPenalised,
            &kSchedulerShed,
            &kProviderLatency,
            &kAttempts,
            &kCircuitOpen,
            &kCircuitTrips,
            &kRateWaits,
            &kRateRefusals,
            &kKeyWaits,
            &kKeyPaces,
            &kProviderRests,
            &kRetries,
            &kHedges,
            &kKeys,
            &kKeyCalls,
            &kKeyStoreFailures,
            &kKeyUsageLost,
            &kSearches,
            &kCacheBytes,
            &kCacheEntries,
            &kResultCacheEvents,
            &kResultCacheBytes,
            &kResultCacheEntries,
            &kCacheEvictions,
            &kCacheCompressed,
            &kCacheRefusals};
}

}  // namespace sluice::web
