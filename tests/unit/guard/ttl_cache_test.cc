#include "guard/ttl_cache.h"

#include "property.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

namespace sluice::guard {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart{1000h};
constexpr std::size_t kOverhead = TtlCache<int, int>::kEntryOverheadBytes;

struct AgeCase {
    const char* name;
    Lifetime lifetime;
    Duration later;
    bool found;
    Freshness freshness;
    Duration age;
};

// An entry is fresh up to the very end of its freshness, then stale, then gone.
TEST(TtlCache, Ages) {
    const AgeCase cases[] = {
        {"at once", {10s, 20s}, 0s, true, Freshness::kFresh, 0s},
        {"last fresh moment", {10s, 20s}, 10s - 1ns, true, Freshness::kFresh, 10s - 1ns},
        {"first stale moment", {10s, 20s}, 10s, true, Freshness::kStale, 10s},
        {"last stale moment", {10s, 20s}, 30s - 1ns, true, Freshness::kStale, 30s - 1ns},
        {"gone", {10s, 20s}, 30s, false, Freshness::kFresh, 0s},
        {"never fresh", {0s, 20s}, 1s, true, Freshness::kStale, 1s},
        {"never stale", {10s, 0s}, 10s, false, Freshness::kFresh, 0s},
        {"no lifetime", {0s, 0s}, 0s, false, Freshness::kFresh, 0s},
        {"for ever",
         {Duration::max(), Duration::max()},
         100'000h,
         true,
         Freshness::kFresh,
         100'000h},
        {"made in the future", {10s, 20s}, -5s, true, Freshness::kFresh, 0s},
    };
    for (const AgeCase& c : cases) {
        SCOPED_TRACE(c.name);
        TtlCache<int, int> cache(TtlCacheLimits{10, 100'000});
        cache.put(1, 7, 10, c.lifetime, kStart);
        const auto found = cache.find(1, kStart + c.later);
        ASSERT_EQ(static_cast<bool>(found), c.found);
        if (c.found) {
            EXPECT_EQ(*found.value, 7);
            EXPECT_EQ(found.freshness, c.freshness);
            EXPECT_EQ(found.age, c.age);
        }
        EXPECT_EQ(cache.stats().entries, c.found ? 1U : 0U);
    }
}

// A value without a lifetime must not leave an older one to be served in its place.
TEST(TtlCache, AnEntryWithoutLifetimeReplacesTheOldOne) {
    TtlCache<int, int> cache(TtlCacheLimits{10, 100'000});
    cache.put(1, 7, 10, Lifetime{10s, 0s}, kStart);
    cache.put(1, 8, 10, Lifetime{0s, 0s}, kStart);
    EXPECT_FALSE(cache.find(1, kStart));
    EXPECT_EQ(cache.stats().bytes, 0U);
}

// Bytes are bounded with the cache's own overhead counted, and statistics say what happened.
TEST(TtlCache, BoundsBytes) {
    TtlCache<int, std::string> cache(TtlCacheLimits{100, 3 * (kOverhead + 200)});
    for (int i = 0; i < 4; ++i) {
        cache.put(i, "value", 100, Lifetime{10s, 0s}, kStart);
    }
    EXPECT_LE(cache.stats().bytes, 3 * (kOverhead + 200));
    EXPECT_GE(cache.stats().evictions, 1U);
    EXPECT_FALSE(cache.find(0, kStart));
    EXPECT_TRUE(cache.find(3, kStart));
    cache.put(9, "huge", SIZE_MAX, Lifetime{10s, 0s}, kStart);
    EXPECT_FALSE(cache.find(9, kStart));
    EXPECT_TRUE(cache.find(3, kStart));
}

// What nobody asks for again still leaves: writing sweeps, a few slots each time.
TEST(TtlCache, WritingSweepsExpiredEntries) {
    TtlCache<int, int> cache(TtlCacheLimits{100'000, 100'000'000});
    for (int i = 0; i < 1000; ++i) {
        cache.put(i, i, 10, Lifetime{10s, 0s}, kStart);
    }
    for (int i = 0; i < 1000; ++i) {
        cache.put(10'000 + i, i, 10, Lifetime{10s, 0s}, kStart + 20s);
    }
    EXPECT_EQ(cache.stats().entries, 1000U);
    EXPECT_EQ(cache.stats().expired, 1000U);
    EXPECT_EQ(cache.stats().evictions, 0U);
}

TEST(TtlCache, SweepsAndClears) {
    TtlCache<int, int> cache(TtlCacheLimits{10'000, 10'000'000});
    for (int i = 0; i < 1000; ++i) {
        cache.put(i, i, 10, Lifetime{i < 600 ? 10s : 100s, 0s}, kStart);
    }
    EXPECT_EQ(cache.sweep(10'000, kStart + 10s).count(), 600U);
    EXPECT_EQ(cache.stats().entries, 400U);
    EXPECT_EQ(cache.clear().count(), 400U);
    EXPECT_EQ(cache.stats().bytes, 0U);
    EXPECT_FALSE(cache.find(700, kStart));
}

// What the cache answers is always a value that was put and whose time is not over; without
// pressure it never forgets one early.
TEST(TtlCache, AgreesWithTheModel) {
    struct Model {
        int value;
        Instant made;
        Lifetime life;
    };
    run_property([] {
        return [cache = std::make_shared<TtlCache<int, int>>(TtlCacheLimits{1000, 10'000'000}),
                model = std::map<int, Model>(), now = kStart](Random& random) mutable {
            now += Millis(random.below(50));
            const int key = static_cast<int>(random.below(500));
            const std::uint64_t what = random.below(100);
            if (what < 60) {
                const auto found = cache->find(key, now);
                const auto known = model.find(key);
                const bool expected = known != model.end() &&
                                      now < known->second.made + known->second.life.fresh_for +
                                                known->second.life.stale_for;
                ASSERT_EQ(static_cast<bool>(found), expected);
                if (expected) {
                    const Model& m = known->second;
                    ASSERT_EQ(*found.value, m.value);
                    ASSERT_EQ(found.age, now - m.made);
                    ASSERT_EQ(found.freshness == Freshness::kFresh,
                              now < m.made + m.life.fresh_for);
                }
            } else if (what < 90) {
                const Lifetime life{Millis(random.below(3000)), Millis(random.below(3000))};
                const int value = static_cast<int>(random.below(1'000'000));
                cache->put(key, value, random.below(100), life, now);
                model[key] = Model{value, now, life};
            } else if (what < 98) {
                cache->erase(key);
                model.erase(key);
            } else {
                cache->sweep(random.below(64), now);
            }
            ASSERT_LE(cache->stats().entries, model.size());
        };
    });
}

// Shards share the limits out, and a small cache stays in one piece.
TEST(ShardedTtlCache, ChoosesShards) {
    using Cache = ShardedTtlCache<int, int>;
    EXPECT_EQ(Cache(TtlCacheLimits{1'000'000, 256UL << 20}).shard_count(), 64U);
    EXPECT_EQ(Cache(TtlCacheLimits{1000, 256UL << 20}).shard_count(), 2U);
    EXPECT_EQ(Cache(TtlCacheLimits{1'000'000, 16UL << 20}).shard_count(), 4U);
    EXPECT_EQ(Cache(TtlCacheLimits{10, 1000}).shard_count(), 1U);
}

TEST(ShardedTtlCache, KeepsAndForgets) {
    ShardedTtlCache<Sha256, std::shared_ptr<const std::string>, DigestHash> cache(
        TtlCacheLimits{100'000, 64UL << 20});
    SeededRandom random(3);
    std::vector<Sha256> keys(500);
    for (Sha256& key : keys) {
        random.fill(std::as_writable_bytes(std::span(key)));
        cache.put(key, std::make_shared<const std::string>("answer"), 100, Lifetime{10s, 10s},
                  kStart);
    }
    EXPECT_EQ(cache.stats().entries, 500U);
    const auto hit = cache.find(keys[7], kStart + 12s);
    ASSERT_TRUE(hit.has_value());
    EXPECT_EQ(*hit->value, "answer");
    EXPECT_EQ(hit->freshness, Freshness::kStale);
    EXPECT_EQ(hit->age, 12s);
    EXPECT_TRUE(cache.erase(keys[7]));
    EXPECT_FALSE(cache.erase(keys[7]));
    EXPECT_FALSE(cache.find(keys[8], kStart + 20s).has_value());
    std::size_t swept = 0;
    for (std::size_t i = 0; i < cache.shard_count(); ++i) {
        swept += cache.sweep(1'000, kStart + 20s);
    }
    EXPECT_EQ(swept, 498U);
    cache.put(keys[0], std::make_shared<const std::string>("new"), 100, Lifetime{10s, 0s}, kStart);
    EXPECT_EQ(cache.clear().count(), 1U);
    EXPECT_EQ(cache.stats().bytes, 0U);
}

// Who only looks changes nothing: what is least recently used stays so, and nothing is dropped.
TEST(TtlCache, APeekIsNoUse) {
    TtlCache<int, int> cache(TtlCacheLimits{2, 10'000'000});
    cache.put(1, 10, 0, Lifetime{10s, 10s}, kStart);
    cache.put(2, 20, 0, Lifetime{10s, 10s}, kStart);
    const auto found = cache.peek(1, kStart + 12s);
    ASSERT_TRUE(found);
    EXPECT_EQ(*found.value, 10);
    EXPECT_EQ(found.freshness, Freshness::kStale);
    EXPECT_EQ(found.age, 12s);
    EXPECT_EQ(found.fresh_for, -2s);
    EXPECT_FALSE(cache.peek(1, kStart + 20s));
    EXPECT_EQ(cache.stats().entries, 2U);
    cache.put(3, 30, 0, Lifetime{10s, 10s}, kStart);
    EXPECT_FALSE(cache.peek(1, kStart));
    EXPECT_TRUE(cache.peek(2, kStart));
}

// What began before a purge is not kept after it, and what begins after it is.
TEST(ShardedTtlCache, WhatBeganBeforeAPurgeIsNotKept) {
    ShardedTtlCache<int, int> cache(TtlCacheLimits{100'000, 64UL << 20});
    const auto begun = cache.epoch();
    EXPECT_TRUE(cache.put(1, 10, 100, Lifetime{10s, 0s}, kStart, begun).kept);
    cache.clear();
    const auto late = cache.put(1, 10, 100, Lifetime{10s, 0s}, kStart, begun);
    EXPECT_FALSE(late.kept);
    EXPECT_FALSE(late.made_room);
    EXPECT_FALSE(cache.find(1, kStart));
    EXPECT_TRUE(cache.put(1, 11, 100, Lifetime{10s, 0s}, kStart, cache.epoch()).kept);
    EXPECT_TRUE(cache.find(1, kStart));
}

// What a purge takes out is gone at once and can be destroyed in pieces, every value once.
TEST(ShardedTtlCache, WhatIsClearedGoesInPieces) {
    ShardedTtlCache<int, std::shared_ptr<int>> cache(TtlCacheLimits{100'000, 64UL << 20});
    const auto value = std::make_shared<int>(1);
    for (int i = 0; i < 1'000; ++i) {
        cache.put(i, value, 100, Lifetime{10s, 0s}, kStart);
    }
    auto cleared = cache.clear();
    EXPECT_EQ(cleared.count(), 1'000U);
    EXPECT_EQ(cache.stats().entries, 0U);
    EXPECT_EQ(value.use_count(), 1'001);
    long before = value.use_count();
    while (cleared.destroy(10)) {
        EXPECT_GE(value.use_count(), before - 10);
        before = value.use_count();
    }
    EXPECT_EQ(value.use_count(), 1);
    EXPECT_EQ(cleared.count(), 1'000U);
}

}  // namespace
}  // namespace sluice::guard
