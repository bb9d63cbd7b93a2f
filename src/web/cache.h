// The answer cache in memory: fresh for a while, then stale (served only when every provider
// fails), then gone. Read on every core.
#pragma once

#include "base/clock.h"
#include "guard/ttl_cache.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "web/config.h"
#include "web/fingerprint.h"
#include "web/types.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace sluice::web {

// How long `answer`, which its provider gave at `made_at`, may be served from then on: fresh for
// config.ttl, or negative_ttl when it has no results or is degraded, and then as stale, in all no
// longer than the provider's terms allow.
guard::Lifetime lifetime_of(const SearchAnswer& answer, Instant made_at, const CacheConfig& config);

// Thread-safe, except where it says otherwise: sharded, each look-up takes one short lock of its
// shard. Says by metrics what it keeps, and warns when it can't keep enough.
class AnswerCache {
    using Entries =
        guard::ShardedTtlCache<Fingerprint, std::shared_ptr<const SearchAnswer>, guard::DigestHash>;

 public:
    using Epoch = Entries::Epoch;

    // Of each kind of warning, one in so much time.
    static constexpr Duration kWarningEvery = std::chrono::minutes(10);

    // References outlive it.
    AnswerCache(const CacheConfig& config, const obs::Log& log, obs::Metrics& metrics);

    struct Cached {
        std::shared_ptr<const SearchAnswer> answer;
        Duration age{};        // since its provider gave it
        Duration fresh_for{};  // still; negative or zero: since when it is stale
        bool fresh() const { return fresh_for > Duration::zero(); }
    };
    // The answer, fresh or stale.
    std::optional<Cached> find(const Fingerprint& key, Instant now);
    // The same for who only looks: it does not count as use.
    std::optional<Cached> peek(const Fingerprint& key, Instant now) const;

    // Any thread. What is to be kept takes it when it begins: publish() wants to know.
    Epoch epoch() const { return entries_.epoch(); }

    // Control loop. Keeps `answer`, the search for which began in the epoch `begun`, for its
    // lifetime_of(). False: it was not kept, since it has no time to live, is too large, is asked
    // for less than what would have to go for it, or there was a purge meanwhile.
    bool publish(const Fingerprint& key, std::shared_ptr<const SearchAnswer> answer,
                 const CacheConfig& config, Instant now, Epoch begun);

    // The body of an answer has been made: what it is charged changes to what it occupies now.
    void settle(const SearchAnswer& answer, const io::HttpBody& body);

    // Whether anything is ever kept.
    bool enabled() const { return enabled_; }

    // Forgets everything, begins another epoch and hands what it forgot over, to be destroyed where
    // there is time for it.
    Entries::Cleared purge() { return entries_.clear(); }

    // Any thread. Drops what is expired from one part of the cache, the next one at the next call;
    // well below a millisecond. After parts() calls every part has had its turn.
    void sweep(Instant now) { entries_.sweep(Entries::kSlotsPerSweep, now); }
    std::size_t parts() const { return entries_.shard_count(); }

    struct Size {
        std::size_t entries = 0;
        std::size_t bytes = 0;
        std::uint64_t evictions = 0;
        std::uint64_t refusals = 0;  // of those, new ones that were asked for too rarely to stay
    };
    Size size() const;

 private:
    static std::optional<Cached> cached_in(std::optional<Entries::Hit> hit);
    void warn_of_size(std::size_t bytes, Instant now);
    void warn_of_eviction(Instant now);

    const bool enabled_;
    const obs::Log& log_;
    Entries entries_;
    obs::Counter store_;
    obs::Counter too_large_;
    obs::Counter plain_bytes_;
    obs::Counter packed_bytes_;
    // When each warning may be given again.
    Instant next_size_warning_{};
    Instant next_eviction_warning_{};
};

}  // namespace sluice::web
