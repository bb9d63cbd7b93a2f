// What providers answered, kept for a while beneath the answer cache: two searches that differ in
// nothing that a provider sees (lane, strategy, the case of the query) share one call to it.
#pragma once

#include "base/clock.h"
#include "guard/ttl_cache.h"
#include "obs/metrics.h"
#include "web/config.h"
#include "web/fingerprint.h"
#include "web/provider.h"
#include "web/types.h"

#include <cstddef>
#include <memory>

namespace sluice::web {

// Thread-safe. Failures are never kept.
class ResultCache {
    using Entries = guard::ShardedTtlCache<Fingerprint, std::shared_ptr<const ProviderAnswer>,
                                           guard::DigestHash>;

 public:
    using Epoch = Entries::Epoch;

    // Takes config.results_bytes() and results_entries() at most; nothing is ever kept when one of
    // them is 0.
    ResultCache(const CacheConfig& config, obs::Metrics& metrics);

    bool enabled() const { return enabled_; }
    // As AnswerCache has it.
    Epoch epoch() const { return entries_.epoch(); }

    // The answer to the call of `key` (result_fingerprint()) while its time is not over, else null.
    std::shared_ptr<const ProviderAnswer> find(const Fingerprint& key, Instant now);

    // Whether find() would give one; for who only looks: it does not count as use.
    bool holds(const Fingerprint& key, Instant now) const;

    // Keeps `answer`, which the provider gave at `answer->made_at`, for `ttl` from then on, unless
    // it is too large or asked for less than what would have to go for it, or there was a purge
    // since the epoch `begun`, in which the provider was asked.
    void keep(const Fingerprint& key, std::shared_ptr<const ProviderAnswer> answer, Millis ttl,
              Epoch begun);

    // As AnswerCache has them.
    Entries::Cleared purge() { return entries_.clear(); }
    void sweep(Instant now) { entries_.sweep(Entries::kSlotsPerSweep, now); }
    std::size_t parts() const { return entries_.shard_count(); }

    guard::TtlCacheStats stats() const { return entries_.stats(); }

 private:
    const bool enabled_;
    Entries entries_;
    obs::Counter hit_;
    obs::Counter miss_;
    obs::Counter store_;
};

// Whether a search in that mode keeps what a provider with those settings answers, and whether it
// takes what is kept.
bool keeps_results(const ResultCache& results, const ProviderSettings& settings, CacheMode mode);
bool reads_results(const ResultCache& results, const ProviderSettings& settings, CacheMode mode);

}  // namespace sluice::web
