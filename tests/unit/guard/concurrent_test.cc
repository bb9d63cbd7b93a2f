// What several threads use at once, run under ThreadSanitizer too.

#include "base/random.h"
#include "guard/ttl_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace sluice::guard {
namespace {

using namespace std::chrono_literals;

constexpr int kThreads = 4;

void run_threads(const auto& body) {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back(body, i);
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

// Readers, writers, sweeps and purges at once: every hit is a whole value that belongs to its key,
// and no value is lost or kept alive when the cache is cleared.
TEST(ShardedTtlCacheConcurrent, HitsAreWholeAndNothingLeaks) {
    struct Value {
        int key;
        std::atomic<int>* alive;
        Value(int k, std::atomic<int>* a) : key(k), alive(a) { alive->fetch_add(1); }
        ~Value() { alive->fetch_sub(1); }
    };
    std::atomic<int> alive{0};
    std::atomic<int> wrong{0};
    std::atomic<int> hits{0};
    ShardedTtlCache<int, std::shared_ptr<const Value>> cache(TtlCacheLimits{2000, 64UL << 20});
    run_threads([&](int thread) {
        SeededRandom random(static_cast<std::uint64_t>(thread) + 1);
        for (int i = 0; i < 25'000; ++i) {
            const Instant now{1000h + Millis(i)};
            const int key = static_cast<int>(random.below(4000));
            const std::uint64_t what = random.below(1000);
            if (what < 600) {
                const auto hit = cache.find(key, now);
                hits += hit ? 1 : 0;
                wrong += hit && hit->value->key != key ? 1 : 0;
            } else if (what < 980) {
                cache.put(key, std::make_shared<const Value>(key, &alive), 50, Lifetime{1s, 2s},
                          now);
            } else if (what < 998) {
                cache.sweep(16, now);
            } else if (what == 998) {
                cache.purge_expired(now);
            } else {
                cache.stats();
            }
        }
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(hits, 1000);
    EXPECT_EQ(cache.stats().entries, static_cast<std::size_t>(alive.load()));
    cache.clear();
    EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace sluice::guard
