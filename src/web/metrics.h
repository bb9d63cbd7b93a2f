// The web side's metrics. The gateway_* names and labels are fixed by contract.
#pragma once

#include "obs/metrics.h"

#include <vector>

namespace sluice::web {

extern const obs::MetricSpec kCacheEvents;   // gateway_cache_events_total{event}
extern const obs::MetricSpec kKeyPenalised;  // gateway_key_penalised_total{provider,reason}
extern const obs::MetricSpec kSharedCacheEvents;
extern const obs::MetricSpec kSharedTurns;
extern const obs::MetricSpec kKeyPicks;            // sluice_web_key_picks_total{from}
extern const obs::MetricSpec kSchedulerShed;       // gateway_scheduler_shed_total{lane}
extern const obs::MetricSpec kProviderLatency;     // gateway_provider_latency_ms{provider}
extern const obs::MetricSpec kAttempts;            // sluice_web_attempts_total{provider,outcome}
extern const obs::MetricSpec kCircuitOpen;         // sluice_web_circuit_open{provider}
extern const obs::MetricSpec kCircuitTrips;        // sluice_web_circuit_trips_total{provider}
extern const obs::MetricSpec kRateWaits;           // sluice_web_rate_waits_total{provider}
extern const obs::MetricSpec kRateRefusals;        // sluice_web_rate_refusals_total{provider}
extern const obs::MetricSpec kKeyWaits;            // sluice_web_key_waits_total{provider}
extern const obs::MetricSpec kKeyPaces;            // sluice_web_key_paces_total{provider}
extern const obs::MetricSpec kRetries;             // sluice_web_retries_total{provider}
extern const obs::MetricSpec kProviderRests;       // sluice_web_provider_rests_total{provider}
extern const obs::MetricSpec kHedges;              // sluice_web_hedges_total{event}
extern const obs::MetricSpec kKeys;                // sluice_web_keys{provider,status}
extern const obs::MetricSpec kKeyCalls;            // sluice_web_key_calls{provider}
extern const obs::MetricSpec kKeyStoreFailures;    // sluice_web_key_store_failures_total
extern const obs::MetricSpec kKeyUsageLost;        // sluice_web_key_usage_lost
extern const obs::MetricSpec kSearches;            // sluice_web_searches_total{lane,outcome}
extern const obs::MetricSpec kCacheBytes;          // sluice_web_cache_bytes
extern const obs::MetricSpec kCacheEntries;        // sluice_web_cache_entries
extern const obs::MetricSpec kCacheEvictions;      // sluice_web_cache_evictions_total{cache}
extern const obs::MetricSpec kCacheCompressed;     // sluice_web_cache_compressed_bytes_total{form}
extern const obs::MetricSpec kCacheRefusals;       // sluice_web_cache_refusals_total{cache}
extern const obs::MetricSpec kResultCacheEvents;   // sluice_web_result_cache_events_total{event}
extern const obs::MetricSpec kResultCacheBytes;    // sluice_web_result_cache_bytes
extern const obs::MetricSpec kResultCacheEntries;  // sluice_web_result_cache_entries

std::vector<const obs::MetricSpec*> web_metrics();

}  // namespace sluice::web
