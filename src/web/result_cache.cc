#include "web/result_cache.h"

#include "web/metrics.h"

#include <utility>

namespace sluice::web {

ResultCache::ResultCache(const CacheConfig& config, obs::Metrics& metrics)
    : enabled_(config.results_bytes() > 0),
      entries_(guard::TtlCacheLimits{config.max_entries, config.results_bytes(),
                                     guard::Admission::kByFrequency}),
      hit_(metrics.counter(kResultCacheEvents, {"hit"})),
      miss_(metrics.counter(kResultCacheEvents, {"miss"})),
      store_(metrics.counter(kResultCacheEvents, {"store"})) {
    metrics.sampled(kResultCacheBytes, {},
                    [this] { return static_cast<double>(entries_.stats().bytes); });
    metrics.sampled(kResultCacheEntries, {},
                    [this] { return static_cast<double>(entries_.stats().entries); });
    metrics.sampled(kCacheEvictions, {"results"},
                    [this] { return static_cast<double>(entries_.stats().evictions); });
    metrics.sampled(kCacheRefusals, {"results"},
                    [this] { return static_cast<double>(entries_.stats().refusals); });
}

std::shared_ptr<const ProviderAnswer> ResultCache::find(const Fingerprint& key, Instant now) {
    auto hit = entries_.find(key, now);
    if (!hit) {
        miss_.add();
        return nullptr;
    }
    hit_.add();
    return std::move(hit->value);
}

bool ResultCache::holds(const Fingerprint& key, Instant now) {
    return enabled_ && entries_.find(key, now).has_value();
}

void ResultCache::keep(const Fingerprint& key, std::shared_ptr<const ProviderAnswer> answer,
                       Millis ttl) {
    const Instant made_at = answer->made_at;
    const std::size_t bytes = answer->memory_bytes();
    entries_.put(key, std::move(answer), bytes, guard::Lifetime{ttl, Duration{}}, made_at);
    store_.add();
}

}  // namespace sluice::web
