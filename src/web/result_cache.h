// What providers answered, kept for a while beneath the answer cache: two searches that differ in
// nothing that a provider sees (lane, strategy, the case of the query) share one call to it.
#pragma once

#include "base/clock.h"
#include "guard/ttl_cache.h"
#include "obs/metrics.h"
#include "web/config.h"
#include "web/fingerprint.h"
#include "web/provider.h"

#include <cstddef>
#include <memory>

namespace sluice::web {

// Thread-safe. Failures are never kept.
class ResultCache {
 public:
    // Takes config.results_bytes() at most; nothing is ever kept when that is 0.
    ResultCache(const CacheConfig& config, obs::Metrics& metrics);

    bool enabled() const { return enabled_; }

    // The answer to the call of `key` (result_fingerprint()) while its time is not over, else null.
    std::shared_ptr<const ProviderAnswer> find(const Fingerprint& key, Instant now);

    // Whether find() would give one; for who only looks.
    bool holds(const Fingerprint& key, Instant now);

    // Keeps `answer`, which the provider gave at `answer->made_at`, for `ttl` from then on.
    void keep(const Fingerprint& key, std::shared_ptr<const ProviderAnswer> answer, Millis ttl);

    // Forgets everything; returns how many answers that were.
    std::size_t purge() { return entries_.clear(); }

    guard::TtlCacheStats stats() const { return entries_.stats(); }

 private:
    const bool enabled_;
    guard::ShardedTtlCache<Fingerprint, std::shared_ptr<const ProviderAnswer>, guard::DigestHash>
        entries_;
    obs::Counter hit_;
    obs::Counter miss_;
    obs::Counter store_;
};

}  // namespace sluice::web
