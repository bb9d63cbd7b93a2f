#include "web/cache.h"

#include "web/metrics.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace sluice::web {

guard::Lifetime lifetime_of(const SearchAnswer& answer, Instant made_at,
                            const CacheConfig& config) {
    // What may be missing something is asked for again before long.
    const bool negative = answer.is_empty() || answer.is_degraded();
    const Duration longest = answer.keep_until() - made_at;
    const Duration fresh = std::min<Duration>(negative ? config.negative_ttl : config.ttl, longest);
    return {fresh, std::min<Duration>(config.stale_ttl, longest - fresh)};
}

AnswerCache::AnswerCache(const CacheConfig& config, const obs::Log& log, obs::Metrics& metrics)
    : enabled_(config.answers_bytes() > 0),
      log_(log),
      entries_(guard::TtlCacheLimits{config.answers_entries(), config.answers_bytes(),
                                     guard::Admission::kByFrequency}),
      store_(metrics.counter(kCacheEvents, {"store"})),
      too_large_(metrics.counter(kCacheEvents, {"too_large"})),
      plain_bytes_(metrics.counter(kCacheCompressed, {"plain"})),
      packed_bytes_(metrics.counter(kCacheCompressed, {"kept"})) {
    const auto sampled = [&](const obs::MetricSpec& spec, auto Size::* member,
                             const std::vector<std::string>& labels) {
        metrics.sampled(spec, labels,
                        [this, member] { return static_cast<double>(size().*member); });
    };
    sampled(kCacheBytes, &Size::bytes, {});
    sampled(kCacheEntries, &Size::entries, {});
    sampled(kCacheEvictions, &Size::evictions, {"answers"});
    sampled(kCacheRefusals, &Size::refusals, {"answers"});
    if (!enabled_) {
        log_.warn("answer_cache_off", {{"setting", "cache.max_bytes"}});
    }
}

std::optional<AnswerCache::Cached> AnswerCache::find(const Fingerprint& key, Instant now) {
    return cached_in(entries_.find(key, now));
}

std::optional<AnswerCache::Cached> AnswerCache::peek(const Fingerprint& key, Instant now) const {
    return cached_in(entries_.peek(key, now));
}

std::optional<AnswerCache::Cached> AnswerCache::cached_in(std::optional<Entries::Hit> hit) {
    if (!hit) {
        return std::nullopt;
    }
    return Cached{std::move(hit->value), hit->age, hit->fresh_for};
}

bool AnswerCache::publish(const Fingerprint& key, std::shared_ptr<const SearchAnswer> answer,
                          const CacheConfig& config, Instant now, Epoch begun) {
    if (!enabled_) {
        return false;
    }
    const std::size_t bytes = answer->memory_bytes();
    const Instant made_at = answer->made_at() == Instant{} ? now : answer->made_at();
    const guard::Lifetime lifetime = lifetime_of(*answer, made_at, config);
    const auto put = entries_.put(key, std::move(answer), bytes, lifetime, made_at, begun);
    if (put.kept) {
        store_.add();
    } else if (bytes > entries_.largest_cost_bytes()) {
        too_large_.add();
        warn_of_size(bytes, now);
    }
    if (put.made_room) {
        warn_of_eviction(now);
    }
    return put.kept;
}

void AnswerCache::settle(const SearchAnswer& answer, const io::HttpBody& body) {
    if (body.is_packed()) {
        plain_bytes_.add(static_cast<double>(body.size()));
        packed_bytes_.add(static_cast<double>(body.zstd().data.size()));
    }
    if (answer.cache_key()) {
        entries_.recost(*answer.cache_key(), answer.memory_bytes(),
                        [&answer](const auto& kept) { return kept.get() == &answer; });
    }
}

void AnswerCache::warn_of_size(std::size_t bytes, Instant now) {
    if (now < next_size_warning_) {
        return;
    }
    next_size_warning_ = now + kWarningEvery;
    log_.warn("answer_too_large_for_cache",
              {{"bytes", bytes}, {"largest_bytes", entries_.largest_cost_bytes()}});
}

void AnswerCache::warn_of_eviction(Instant now) {
    if (now < next_eviction_warning_) {
        return;
    }
    next_eviction_warning_ = now + kWarningEvery;
    const Size now_kept = size();
    log_.warn("answer_cache_full", {{"entries", now_kept.entries},
                                    {"bytes", now_kept.bytes},
                                    {"evictions", now_kept.evictions},
                                    {"setting", "cache.max_bytes"}});
}

AnswerCache::Size AnswerCache::size() const {
    const guard::TtlCacheStats stats = entries_.stats();
    return {stats.entries, stats.bytes, stats.evictions, stats.refusals};
}

}  // namespace sluice::web
