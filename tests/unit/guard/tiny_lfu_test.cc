#include "guard/tiny_lfu.h"

#include "guard/lru.h"
#include "guard/ttl_cache.h"
#include "property.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace sluice::guard {
namespace {

using namespace std::chrono_literals;

// A key's count follows its requests exactly while nothing collides, up to the most there is.
TEST(FrequencySketch, CountsUpToItsMost) {
    FrequencySketch sketch(64 * 1024);
    for (std::uint32_t i = 0; i < 20; ++i) {
        EXPECT_EQ(sketch.frequency(42), std::min(i, FrequencySketch::kMaxFrequency));
        sketch.record(42);
    }
    EXPECT_EQ(sketch.frequency(43), 0u);
    EXPECT_EQ(sketch.bytes(), 64u * 1024);
}

// However crowded it is, no key counts less than it was asked for, and most count little more.
TEST(FrequencySketch, NeverCountsTooLow) {
    SeededRandom random(7);
    FrequencySketch sketch(8 * 1024);
    std::map<std::uint64_t, std::uint32_t> truth;
    for (int i = 0; i < 4'000; ++i) {
        // The square makes some keys popular.
        const double u = random.unit();
        const auto key = static_cast<std::uint64_t>(u * u * 2'000);
        truth[key] += 1;
        sketch.record(key);
    }
    double excess = 0;
    for (const auto& [key, count] : truth) {
        const std::uint32_t least = std::min(count, FrequencySketch::kMaxFrequency);
        ASSERT_GE(sketch.frequency(key), least);
        excess += sketch.frequency(key) - least;
    }
    EXPECT_LT(excess / static_cast<double>(truth.size()), 0.1);
}

// What was popular yesterday makes room: counts are halved when enough has been asked since.
TEST(FrequencySketch, AgesWithWhatIsAsked) {
    FrequencySketch sketch(64 * 1024);
    for (int i = 0; i < 15; ++i) {
        sketch.record(1);
    }
    sketch.age(2);
    EXPECT_EQ(sketch.frequency(1), 15u) << "fewer requests than ten for each of two entries";
    for (std::uint64_t key = 100; key < 106; ++key) {
        sketch.record(key);
    }
    sketch.age(2);
    EXPECT_EQ(sketch.frequency(1), 7u);
    EXPECT_EQ(sketch.frequency(100), 0u);
}

constexpr std::size_t kEntries = 1'000;

// A cache of kEntries entries of one size, and how often it had what was asked for.
class Replay {
 public:
    explicit Replay(Admission admission)
        : cache_(TtlCacheLimits{1'000'000, kEntries * kCost * 129 / 128, admission}) {}

    void ask(std::uint64_t key) {
        asked_ += 1;
        if (cache_.find(key, kNow)) {
            found_ += 1;
            return;
        }
        cache_.put(key, 0, kCost - Cache::kEntryOverheadBytes, Lifetime{1h, 0s}, kNow);
    }
    // The share that was found since the last call.
    double hit_ratio() {
        const double ratio = static_cast<double>(found_) / static_cast<double>(asked_);
        asked_ = 0;
        found_ = 0;
        return ratio;
    }
    TtlCacheStats stats() const { return cache_.stats(); }

 private:
    using Cache = TtlCache<std::uint64_t, int>;
    static constexpr std::size_t kCost = 2'000;
    static constexpr Instant kNow{1000h};
    Cache cache_;
    std::size_t asked_ = 0;
    std::size_t found_ = 0;
};

// The ranks of a Zipf law of exponent 1 over `keys` keys, by its inverse.
std::uint64_t zipf(Random& random, double keys) {
    return static_cast<std::uint64_t>(std::pow(keys, random.unit())) - 1;
}

// Popular queries survive a crawler that asks everything once: the popular set stays, where the
// plain order of use loses it.
TEST(Admission, AScanLeavesThePopularEntries) {
    std::map<Admission, double> after_scan;
    for (const Admission admission : {Admission::kAlways, Admission::kByFrequency}) {
        Replay replay(admission);
        for (int round = 0; round < 10; ++round) {
            for (std::uint64_t key = 0; key < kEntries / 2; ++key) {
                replay.ask(key);
            }
        }
        for (std::uint64_t key = 0; key < 5 * kEntries; ++key) {
            replay.ask(1'000'000 + key);
        }
        replay.hit_ratio();
        for (std::uint64_t key = 0; key < kEntries / 2; ++key) {
            replay.ask(key);
        }
        after_scan[admission] = replay.hit_ratio();
    }
    EXPECT_EQ(after_scan[Admission::kAlways], 0.0);
    EXPECT_GT(after_scan[Admission::kByFrequency], 0.95);
}

// On skewed traffic with one-time queries in between, what is kept is worth more.
TEST(Admission, KeepsMoreOfSkewedTraffic) {
    std::map<Admission, double> ratio;
    for (const Admission admission : {Admission::kAlways, Admission::kByFrequency}) {
        SeededRandom random(11);
        Replay replay(admission);
        std::uint64_t once = 1'000'000'000;
        for (int i = 0; i < 100'000; ++i) {
            replay.ask(random.below(3) == 0 ? ++once : zipf(random, 50'000));
            if (i == 50'000) {
                replay.hit_ratio();
            }
        }
        ratio[admission] = replay.hit_ratio();
    }
    EXPECT_GT(ratio[Admission::kByFrequency], ratio[Admission::kAlways] + 0.03);
}

// When interests change, so does what is kept: old fame fades.
TEST(Admission, FollowsAChangeOfInterest) {
    Replay replay(Admission::kByFrequency);
    SeededRandom random(5);
    for (int i = 0; i < 60'000; ++i) {
        replay.ask(zipf(random, 2'000));
    }
    for (int i = 0; i < 60'000; ++i) {
        replay.ask(1'000'000 + zipf(random, 2'000));
    }
    replay.hit_ratio();
    for (int i = 0; i < 10'000; ++i) {
        replay.ask(1'000'000 + zipf(random, 2'000));
    }
    EXPECT_GT(replay.hit_ratio(), 0.8);
}

// An entry that was just made is found, whatever else is popular: callers who ask twice pay once.
TEST(Admission, ANewEntryHasAWhile) {
    Replay replay(Admission::kByFrequency);
    for (int round = 0; round < 5; ++round) {
        for (std::uint64_t key = 0; key < kEntries; ++key) {
            replay.ask(key);
        }
    }
    replay.hit_ratio();
    for (std::uint64_t key = 500'000; key < 500'100; ++key) {
        replay.ask(key);
        replay.ask(key);
    }
    EXPECT_EQ(replay.hit_ratio(), 0.5);
}

// A large entry is weighed against all the small ones that would have to go for it.
TEST(Admission, ALargeEntryMustBeWorthAllThatItReplaces) {
    LruMap<std::uint64_t, int> map(LruLimits{1'000'000, 100'000, Admission::kByFrequency});
    for (int round = 0; round < 3; ++round) {
        for (std::uint64_t key = 0; key < 98; ++key) {
            if (map.find(key) == nullptr) {
                map.put(key, 0, 1'000);
            }
        }
    }
    map.find(std::uint64_t{7'000});
    map.put(7'000, 0, 50'000);
    EXPECT_EQ(map.peek(std::uint64_t{7'000}), nullptr);
    EXPECT_GE(map.refusals(), 1u);
    EXPECT_GT(map.entries(), 90u);
}

// A map that is full of entries while it has room for bytes weighs them all the same: what is asked
// for again and again gets in.
TEST(Admission, FullOfEntriesIsFull) {
    LruMap<std::uint64_t, int> map(LruLimits{100, 100'000'000, Admission::kByFrequency});
    const auto ask = [&map](std::uint64_t key) {
        const bool hit = map.find(key) != nullptr;
        if (!hit) {
            map.put(key, 0, 100);
        }
        return hit;
    };
    for (std::uint64_t key = 0; key < 200; ++key) {
        ask(key);
    }
    int hits = 0;
    for (int round = 0; round < 20; ++round) {
        for (std::uint64_t key = 1'000; key < 1'050; ++key) {
            hits += ask(key) ? 1 : 0;
        }
    }
    EXPECT_GT(hits, 700);
    EXPECT_LE(map.entries(), 100u);
}

// Whatever is put, found, changed and dropped, the limits hold, the counters of requests included,
// and every entry is in the books once.
TEST(Admission, LimitsAlwaysHold) {
    run_property([] {
        using Map = LruMap<std::uint64_t, int, std::hash<std::uint64_t>, LruOrder::kRelaxed>;
        return [map = std::make_shared<Map>(LruLimits{60, 20'000, Admission::kByFrequency})](
                   Random& random) {
            const std::uint64_t key = random.below(120);
            const std::size_t cost =
                random.below(20) == 0 ? random.below(25'000) : random.below(900);
            switch (random.below(8)) {
                case 0:
                    map->erase(key);
                    break;
                case 1:
                    map->recost(key, cost);
                    break;
                case 2:
                    if (random.below(50) == 0) {
                        map->clear();
                        ASSERT_EQ(map->cost(), 0u);
                    }
                    break;
                case 3:
                case 4:
                    map->find(key);
                    break;
                default:
                    map->put(key, 1, cost);
            }
            ASSERT_LE(map->entries(), 60u);
            ASSERT_LE(map->cost(), 20'000u);
            std::size_t seen = 0;
            map->for_each([&seen](int&) { seen += 1; });
            ASSERT_EQ(seen, map->entries());
        };
    });
}

// A value that has become smaller or larger is charged what it takes, and only if it is that value.
TEST(TtlCache, ARecostedValueIsChargedAnew) {
    using Cache = TtlCache<int, std::shared_ptr<int>>;
    Cache cache(TtlCacheLimits{10, 10'000});
    const auto value = std::make_shared<int>(1);
    cache.put(1, value, 1'000, Lifetime{10s, 0s}, Instant{1h});
    const auto is_it = [&value](const auto& kept) { return kept == value; };
    cache.recost(1, 10, [](const auto&) { return false; });
    EXPECT_EQ(cache.stats().bytes, 1'000 + Cache::kEntryOverheadBytes);
    cache.recost(1, 10, is_it);
    EXPECT_EQ(cache.stats().bytes, 10 + Cache::kEntryOverheadBytes);
    cache.recost(1, 20'000, is_it);
    EXPECT_EQ(cache.stats().entries, 0u);
}

}  // namespace
}  // namespace sluice::guard
