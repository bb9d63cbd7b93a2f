// A cache whose entries are fresh for a time, then stale for a time, then gone. Bounded in entries
// and in bytes; under pressure what is used least goes first.
#pragma once

#include "base/clock.h"
#include "base/hash.h"
#include "guard/lru.h"
#include "guard/saturate.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace sluice::guard {

struct TtlCacheLimits {
    std::size_t max_entries = 1'000'000;
    std::size_t max_bytes = 256UL * 1024 * 1024;  // costs as given, and the cache's own overhead
    Admission admission = Admission::kAlways;
};

struct TtlCacheStats {
    std::size_t entries = 0;
    std::size_t bytes = 0;        // costs as given, and the cache's own overhead
    std::uint64_t evictions = 0;  // dropped for want of room
    std::uint64_t refusals = 0;   // of those, new ones that were asked for too rarely to stay
    std::uint64_t expired = 0;    // dropped because their time was over
};

enum class Freshness : std::uint8_t { kFresh, kStale };

// How long an entry may be served: fresh, and then stale when nothing better is to be had.
struct Lifetime {
    Duration fresh_for{};
    Duration stale_for{};
};

// The hash of a key that is a digest already: its first eight bytes.
struct DigestHash {
    std::uint64_t operator()(const Sha256& digest) const {
        std::uint64_t hash = 0;
        std::memcpy(&hash, digest.data(), sizeof hash);
        return hash;
    }
};

// Not thread-safe. Every `now` is the caller's; an entry from the future counts as made just then.
template <class Key, class Value, class Hash = std::hash<Key>>
class TtlCache {
    struct Timed {
        Value value;
        Instant made_at;
        Instant fresh_until;
        Instant stale_until;
    };
    using Map = LruMap<Key, Timed, Hash, LruOrder::kRelaxed>;

 public:
    // Table slots that each put() looks through for expired entries. They hold at least two entries
    // and a half, so the whole cache is searched while less than half of it is written.
    static constexpr std::size_t kSlotsSweptPerPut = 8;
    // Counted for each entry beside its cost.
    static constexpr std::size_t kEntryOverheadBytes = Map::kEntryOverheadBytes;

    using Dropped = typename Map::Dropped;

    struct Found {
        const Value* value = nullptr;  // null: not there. Valid until the next call that changes
        Freshness freshness = Freshness::kFresh;
        Duration age{};
        Duration fresh_for{};  // still; negative: since when it is not

        explicit operator bool() const { return value != nullptr; }
    };

    explicit TtlCache(TtlCacheLimits limits, Hash hash = Hash())
        : map_(LruLimits{limits.max_entries, limits.max_bytes, limits.admission}, std::move(hash)) {
    }

    // An expired entry is dropped when it is met. A hit counts as use, fresh or stale.
    Found find(const Key& key, Instant now) {
        Dropped dropped;
        return find(key, now, dropped);
    }

    // The same; what it drops is destroyed with `dropped`.
    Found find(const Key& key, Instant now, Dropped& dropped) {
        const Timed* entry = map_.find(key);
        if (entry == nullptr) {
            return {};
        }
        if (now >= entry->stale_until) {
            dropped = map_.erase(key);
            expired_ += 1;
            return {};
        }
        return found_in(*entry, now);
    }

    // What find() would give; nothing is dropped and nothing counts as use.
    Found peek(const Key& key, Instant now) const {
        const Timed* entry = map_.peek(key);
        return entry == nullptr || now >= entry->stale_until ? Found() : found_in(*entry, now);
    }

    // `now` is when the value was made. `cost_bytes` is what it occupies outside the cache's own
    // node. An entry without a lifetime, or larger than the whole cache, is not kept, and neither
    // is the one it would have replaced.
    Dropped put(Key key, Value value, std::size_t cost_bytes, Lifetime lifetime, Instant now) {
        Dropped swept = sweep(kSlotsSweptPerPut, now);
        const Instant fresh_until = add_saturating(now, lifetime.fresh_for);
        const Instant stale_until = add_saturating(fresh_until, lifetime.stale_for);
        if (!has_lifetime(lifetime)) {
            swept.append(map_.erase(key));
            return swept;
        }
        Timed entry{std::move(value), now, fresh_until, stale_until};
        swept.append(map_.put(std::move(key), std::move(entry), with_overhead(cost_bytes)));
        return swept;
    }

    // The value that is kept under `key`, if `is_it(const Value&)` accepts it, occupies
    // `cost_bytes` from now on.
    template <class IsIt>
    Dropped recost(const Key& key, std::size_t cost_bytes, IsIt&& is_it) {
        const Timed* entry = map_.peek(key);
        if (entry == nullptr || !is_it(entry->value)) {
            return {};
        }
        return map_.recost(key, with_overhead(cost_bytes));
    }

    Dropped erase(const Key& key) { return map_.erase(key); }
    Dropped clear() { return map_.clear(); }

    // Looks at up to `max_slots` slots, on from where the last sweep ended, for expired entries.
    Dropped sweep(std::size_t max_slots, Instant now) {
        Dropped dropped =
            map_.sweep(max_slots, [now](const Timed& entry) { return now >= entry.stale_until; });
        expired_ += dropped.count();
        return dropped;
    }

    // What put() does not keep is without one.
    static bool has_lifetime(Lifetime lifetime) {
        return lifetime.fresh_for > Duration::zero() || lifetime.stale_for > Duration::zero();
    }

    // A value that costs more is never kept.
    std::size_t largest_cost_bytes() const {
        return map_.room() - std::min(map_.room(), kEntryOverheadBytes);
    }

    TtlCacheStats stats() const {
        return TtlCacheStats{map_.entries(), map_.cost(), map_.evictions(), map_.refusals(),
                             expired_};
    }

 private:
    static Found found_in(const Timed& entry, Instant now) {
        Found found;
        found.value = &entry.value;
        found.freshness = now < entry.fresh_until ? Freshness::kFresh : Freshness::kStale;
        found.age = std::max(now - entry.made_at, Duration::zero());
        found.fresh_for = entry.fresh_until - now;
        return found;
    }

    static std::size_t with_overhead(std::size_t cost_bytes) {
        return cost_bytes > SIZE_MAX - kEntryOverheadBytes ? SIZE_MAX
                                                           : cost_bytes + kEntryOverheadBytes;
    }

    Map map_;
    std::uint64_t expired_ = 0;
};

// The same, split by hash into parts with a lock each, for use from every thread. Value is copied
// out under the lock, so it is a shared_ptr or as cheap. Values are destroyed outside the locks.
//
// Each part has its share of the limits. A part can fill up a little before the whole is full.
template <class Key, class Value, class Hash = std::hash<Key>>
class ShardedTtlCache {
    using Part = TtlCache<Key, Value, Hash>;
    using Dropped = typename Part::Dropped;

 public:
    // No part gets less than these, so a small cache is not split into parts too small to be fair.
    static constexpr std::size_t kMinEntriesPerShard = 256;
    static constexpr std::size_t kMinBytesPerShard = 4UL * 1024 * 1024;
    static constexpr std::size_t kMaxShards = 64;
    // So many make a sweep() of 5 microseconds, or of 25 when all are expired, and what it takes to
    // destroy their values.
    static constexpr std::size_t kSlotsPerSweep = 256;

    struct Hit {
        Value value;
        Freshness freshness = Freshness::kFresh;
        Duration age{};
        Duration fresh_for{};  // still; negative: since when it is not
    };

    explicit ShardedTtlCache(TtlCacheLimits limits, Hash hash = Hash()) : hash_(std::move(hash)) {
        const std::size_t by_entries = limits.max_entries / kMinEntriesPerShard;
        const std::size_t by_bytes = limits.max_bytes / kMinBytesPerShard;
        const std::size_t count =
            std::bit_floor(std::clamp<std::size_t>(std::min(by_entries, by_bytes), 1, kMaxShards));
        const TtlCacheLimits share{limits.max_entries / count, limits.max_bytes / count,
                                   limits.admission};
        shards_.reserve(count);
        for (std::size_t i = 0; i < count; ++i) {
            shards_.push_back(std::make_unique<Shard>(share, hash_));
        }
    }

    std::optional<Hit> find(const Key& key, Instant now) {
        Shard& shard = shard_of(key);
        Dropped dropped;
        const std::lock_guard lock(shard.mutex);
        return hit_of(shard.cache.find(key, now, dropped));
    }

    // What find() would give, for who only looks: nothing is dropped and nothing counts as use.
    std::optional<Hit> peek(const Key& key, Instant now) const {
        const Shard& shard = shard_of(key);
        const std::lock_guard lock(shard.mutex);
        return hit_of(shard.cache.peek(key, now));
    }

    // Numbers the times between two clear()s.
    using Epoch = std::uint64_t;
    Epoch epoch() const { return epoch_.load(std::memory_order_acquire); }

    struct Put {
        bool kept = false;       // the new value is there
        bool made_room = false;  // something had to go for want of room: the new value, perhaps
    };
    // `begun` is the epoch() in which making the value began: what began before a clear() is not
    // kept after it.
    Put put(Key key, Value value, std::size_t cost_bytes, Lifetime lifetime, Instant now,
            Epoch begun) {
        Shard& shard = shard_of(key);
        Dropped dropped;
        const std::lock_guard lock(shard.mutex);
        if (begun != epoch()) {
            return {};
        }
        const std::uint64_t evictions = shard.cache.stats().evictions;
        dropped = shard.cache.put(std::move(key), std::move(value), cost_bytes, lifetime, now);
        Put put;
        put.kept = shard.cache.has_lifetime(lifetime) && !dropped.new_one();
        put.made_room = shard.cache.stats().evictions != evictions;
        return put;
    }

    // The same for a value that is made at this moment.
    Put put(Key key, Value value, std::size_t cost_bytes, Lifetime lifetime, Instant now) {
        return put(std::move(key), std::move(value), cost_bytes, lifetime, now, epoch());
    }

    // A value that costs more is never kept.
    std::size_t largest_cost_bytes() const { return shards_.front()->cache.largest_cost_bytes(); }

    // See TtlCache::recost().
    template <class IsIt>
    void recost(const Key& key, std::size_t cost_bytes, IsIt&& is_it) {
        Shard& shard = shard_of(key);
        Dropped dropped;
        const std::lock_guard lock(shard.mutex);
        dropped = shard.cache.recost(key, cost_bytes, is_it);
    }

    // True if it was there.
    bool erase(const Key& key) {
        Shard& shard = shard_of(key);
        Dropped dropped;
        const std::lock_guard lock(shard.mutex);
        dropped = shard.cache.erase(key);
        return dropped.count() > 0;
    }

    // What clear() took out. Destroys it when it is destroyed, which takes about a quarter of a
    // microsecond for each entry and whatever its value takes; destroy() does it in pieces.
    class Cleared {
     public:
        std::size_t count() const { return count_; }

        // Destroys `most` entries at most. False when none is left.
        bool destroy(std::size_t most) {
            if (!parts_.empty() && !parts_.back().destroy(most)) {
                parts_.pop_back();
            }
            return !parts_.empty();
        }

     private:
        friend class ShardedTtlCache;
        std::vector<Dropped> parts_;
        std::size_t count_ = 0;
    };

    // Forgets everything. What takes time is to give the tables back: 20 ms for a million entries.
    Cleared clear() {
        // First, so that no part that is empty by then takes what began before.
        epoch_.fetch_add(1, std::memory_order_acq_rel);
        Cleared cleared;
        cleared.parts_.reserve(shards_.size());
        for (const auto& shard : shards_) {
            const std::lock_guard lock(shard->mutex);
            cleared.parts_.push_back(shard->cache.clear());
            cleared.count_ += cleared.parts_.back().count();
        }
        return cleared;
    }

    // Looks for expired entries in up to `max_slots` slots of one part, on from where the last look
    // at it ended; the next call looks at the next part. A background task calls it, since parts
    // that nobody writes to are not swept otherwise. Returns how many it dropped.
    std::size_t sweep(std::size_t max_slots, Instant now) {
        const std::size_t turn = next_swept_.fetch_add(1, std::memory_order_relaxed);
        Shard& shard = *shards_[turn & (shards_.size() - 1)];
        Dropped dropped;
        const std::lock_guard lock(shard.mutex);
        dropped = shard.cache.sweep(max_slots, now);
        return dropped.count();
    }

    // The sum over all parts; each is read at a slightly different moment.
    TtlCacheStats stats() const {
        TtlCacheStats sum;
        for (const auto& shard : shards_) {
            const std::lock_guard lock(shard->mutex);
            const TtlCacheStats part = shard->cache.stats();
            sum.entries += part.entries;
            sum.bytes += part.bytes;
            sum.evictions += part.evictions;
            sum.refusals += part.refusals;
            sum.expired += part.expired;
        }
        return sum;
    }

    std::size_t shard_count() const { return shards_.size(); }

 private:
    // A line of its own for each lock, or threads in different parts would still share one.
    struct alignas(64) Shard {
        Shard(TtlCacheLimits limits, Hash hash) : cache(limits, std::move(hash)) {}
        mutable std::mutex mutex;
        Part cache;
    };

    Shard& shard_of(const Key& key) const {
        // The low bits, since a part's table uses the high ones of a product.
        return *shards_[static_cast<std::size_t>(hash_(key)) & (shards_.size() - 1)];
    }

    static std::optional<Hit> hit_of(const typename Part::Found& found) {
        if (!found) {
            return std::nullopt;
        }
        return Hit{*found.value, found.freshness, found.age, found.fresh_for};
    }

    Hash hash_;
    std::vector<std::unique_ptr<Shard>> shards_;  // a power of two; never changes
    std::atomic<std::size_t> next_swept_{0};
    std::atomic<Epoch> epoch_{0};
};

}  // namespace sluice::guard
