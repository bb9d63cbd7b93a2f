#include "web/result_cache.h"

#include "web/metrics.h"

#include <utility>

namespace sluice::web {

ResultCache::ResultCache(const CacheConfig& config, obs::Metrics& metrics)
    : enabled_(config.results_bytes() > 0 && config.results_entries() > 0),
      entries_(guard::TtlCacheLimits{config.results_entries(), config.results_bytes(),
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

bool ResultCache::holds(const Fingerprint& key, Instant now) const {
    return entries_.peek(key, now).has_value();
}

void ResultCache::keep(const Fingerprint& key, std::shared_ptr<const ProviderAnswer> answer,
                       Millis ttl, Epoch begun) {
    const Instant made_at = answer->made_at;
    const std::size_t bytes = answer->memory_bytes();
    const guard::Lifetime lifetime{ttl, Duration{}};
    if (entries_.put(key, std::move(answer), bytes, lifetime, made_at, begun).kept) {
        store_.add();
    }
}

bool keeps_results(const ResultCache& results, const ProviderSettings& settings, CacheMode mode) {
    return results.enabled() && settings.results_ttl > Millis{} && mode != CacheMode::kBypass;
}

bool reads_results(const ResultCache& results, const ProviderSettings& settings, CacheMode mode) {
    return mode != CacheMode::kRefresh && keeps_results(results, settings, mode);
}

}  // namespace sluice::web
