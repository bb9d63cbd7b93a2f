// The answer cache in memory: fresh for a while, then stale (served only when every provider
// fails), then gone. Read on every core.
#pragma once

#include "base/clock.h"
#include "guard/ttl_cache.h"
#include "web/config.h"
#include "web/fingerprint.h"
#include "web/types.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace sluice::web {

// Thread-safe: sharded, each look-up takes one short lock of its shard.
class AnswerCache {
 public:
    explicit AnswerCache(const CacheConfig& config);

    // The answer while it is fresh, else null.
    std::shared_ptr<const SearchAnswer> fresh(const Fingerprint& key, Instant now);
    // The answer, fresh or stale, else null.
    std::shared_ptr<const SearchAnswer> any(const Fingerprint& key, Instant now);

    // Keeps `answer` for config.ttl (or negative_ttl when it has no results) and then as stale, all
    // counted from when its provider gave it.
    void publish(const Fingerprint& key, std::shared_ptr<const SearchAnswer> answer,
                 const CacheConfig& config, Instant now);

    // Forgets everything; returns how many answers that were.
    std::size_t purge();

    struct Size {
        std::size_t entries = 0;
        std::size_t bytes = 0;
        std::uint64_t evictions = 0;
    };
    Size size() const;

 private:
    guard::ShardedTtlCache<Fingerprint, std::shared_ptr<const SearchAnswer>, guard::DigestHash>
        entries_;
};

}  // namespace sluice::web
