#include "web/cache.h"

#include <algorithm>
#include <utility>

namespace sluice::web {

AnswerCache::AnswerCache(const CacheConfig& config)
    : entries_(guard::TtlCacheLimits{config.max_entries, config.answers_bytes(),
                                     guard::Admission::kByFrequency}) {}

std::shared_ptr<const SearchAnswer> AnswerCache::fresh(const Fingerprint& key, Instant now) {
    auto hit = entries_.find(key, now);
    if (!hit || hit->freshness != guard::Freshness::kFresh) {
        return nullptr;
    }
    return std::move(hit->value);
}

std::shared_ptr<const SearchAnswer> AnswerCache::any(const Fingerprint& key, Instant now) {
    auto hit = entries_.find(key, now);
    return hit ? std::move(hit->value) : nullptr;
}

void AnswerCache::publish(const Fingerprint& key, std::shared_ptr<const SearchAnswer> answer,
                          const CacheConfig& config, Instant now) {
    const bool negative = answer->hits().empty() && !answer->answer();
    const std::size_t bytes = answer->memory_bytes();
    const Instant made_at = answer->made_at() == Instant{} ? now : answer->made_at();
    const Duration longest = answer->keep_until() - made_at;
    const Duration fresh = std::min<Duration>(negative ? config.negative_ttl : config.ttl, longest);
    const guard::Lifetime lifetime{fresh, std::min<Duration>(config.stale_ttl, longest - fresh)};
    entries_.put(key, std::move(answer), bytes, lifetime, made_at);
}

std::size_t AnswerCache::purge() {
    return entries_.clear();
}

AnswerCache::Size AnswerCache::size() const {
    const guard::TtlCacheStats stats = entries_.stats();
    return {stats.entries, stats.bytes, stats.evictions};
}

}  // namespace sluice::web
