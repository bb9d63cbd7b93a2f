// What several threads use at once, run under ThreadSanitizer too.

#include "base/random.h"
#include "guard/singleflight.h"
#include "guard/slots.h"
#include "guard/ttl_cache.h"
#include "guard/window_table.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
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
    using Cache = ShardedTtlCache<int, std::shared_ptr<const Value>>;
    using Hit = Cache::Hit;
    Cache cache(TtlCacheLimits{2000, 64UL << 20});
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
                wrong += cache.peek(key, now).value_or(Hit{}).age > 3s ? 1 : 0;
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

// However many threads take from it, a window gives exactly its limit, also while other keys come
// and go and the clock moves back and forth within the window.
TEST(WindowTableConcurrent, GivesExactlyTheLimit) {
    static constexpr std::int64_t kLimit = 1000;
    SeededRandom seed(9);
    WindowTable table(WindowTableOptions{60s, 5000}, seed);
    const WallTime start{1'000'000min};
    std::array<std::atomic<std::int64_t>, 5> allowed{};
    run_threads([&](int thread) {
        SeededRandom random(static_cast<std::uint64_t>(thread) + 1);
        for (int i = 0; i < 20'000; ++i) {
            const WallTime now = start + std::chrono::milliseconds(random.below(60'000));
            const std::size_t which = random.below(5);
            const std::string key = "key " + std::to_string(which);
            allowed[which] += table.take(key, kLimit, now).allowed ? 1 : 0;
            if (i % 7 == 0) {
                table.take("passer-by " + std::to_string(random.below(3000)), kLimit, now);
                table.peek(key, kLimit, now);
            }
        }
    });
    for (const auto& count : allowed) {
        EXPECT_EQ(count, kLimit);
    }
    EXPECT_LE(table.keys(), 3005U);
}

// The bound in keys holds under a flood from every thread.
TEST(WindowTableConcurrent, StaysBounded) {
    SeededRandom seed(9);
    WindowTable table(WindowTableOptions{60s, 500}, seed);
    const WallTime start{1'000'000min};
    run_threads([&](int thread) {
        for (int i = 0; i < 20'000; ++i) {
            const WallTime now = start + std::chrono::milliseconds(i * 10);
            const std::string key = std::to_string(thread) + "/" + std::to_string(i);
            table.take(key, 5, now);
            if (i % 3 == 0) {
                table.give_back(key, now);
            }
        }
    });
    EXPECT_LE(table.keys(), 500U + kThreads);
    EXPECT_GE(table.keys(), 1U);
}

// Never more holders than slots, every slot is used and comes back, and what one holder wrote is
// seen by the next (ThreadSanitizer would see a race on `plain`).
TEST(SlotsConcurrent, AreNeverOverdrawn) {
    Slots one(1);
    int plain = 0;
    std::atomic<int> granted{0};
    run_threads([&](int) {
        for (int i = 0; i < 20'000; ++i) {
            if (const auto slot = one.try_acquire()) {
                plain += 1;
                granted += 1;
            }
        }
    });
    EXPECT_EQ(plain, granted);
    EXPECT_GT(granted, 0);
    EXPECT_EQ(one.in_use(), 0U);

    Slots three(3);
    std::atomic<int> holding{0};
    std::atomic<int> most{0};
    run_threads([&](int) {
        for (int i = 0; i < 20'000; ++i) {
            if (const auto slot = three.try_acquire()) {
                const int held = holding.fetch_add(1) + 1;
                int seen = most.load();
                while (held > seen && !most.compare_exchange_weak(seen, held)) {
                }
                holding.fetch_sub(1);
            }
        }
    });
    EXPECT_LE(most, 3);
    EXPECT_EQ(three.in_use(), 0U);
}

// A slot that is moved is still one slot.
TEST(Slots, Move) {
    Slots slots(2);
    auto first = slots.try_acquire();
    auto second = slots.try_acquire();
    ASSERT_TRUE(first && second);
    EXPECT_FALSE(slots.try_acquire());
    {
        const Slot moved = std::move(*first);
        first.reset();
        EXPECT_EQ(slots.in_use(), 2U);
    }
    EXPECT_EQ(slots.in_use(), 1U);
    first = slots.try_acquire();
    *first = std::move(*second);
    second.reset();
    EXPECT_EQ(slots.in_use(), 1U);
    first.reset();
    EXPECT_EQ(slots.in_use(), 0U);
    EXPECT_FALSE(Slots(0).try_acquire());
}

// The way the gateway uses flights: requests on several threads, the flights on one control loop.
namespace flights_across_threads {

using Flights = SingleFlight<int, std::shared_ptr<const int>>;

Task<Result<std::shared_ptr<const int>>> work(int key, std::atomic<int>* runs) {
    runs->fetch_add(1);
    for (int i = 0; i < 3; ++i) {
        co_await boost::asio::post(use_task);
    }
    co_return std::make_shared<const int>(key);
}

Task<void> client(Executor control, Flights* flights, Clock* clock, int seed,
                  std::atomic<int>* runs, std::atomic<int>* right) {
    SeededRandom random(static_cast<std::uint64_t>(seed));
    for (int i = 0; i < 500; ++i) {
        const int key = static_cast<int>(random.below(4));
        const auto start = [key, runs](const std::shared_ptr<Stake>&) { return work(key, runs); };
        auto answer = co_await run_on(control, flights->run(key, clock->now() + 1h, start));
        *right += answer.ok() && **answer == key ? 1 : 0;
    }
}

}  // namespace flights_across_threads

// Every request gets its own key's answer, whichever thread it came from, and what is shared
// between threads is only what the control loop hands over.
TEST(SingleFlightConcurrent, ServesRequestsOfOtherThreads) {
    using namespace flights_across_threads;
    boost::asio::io_context control;
    auto keep = boost::asio::make_work_guard(control);
    SystemClock clock;
    std::atomic<int> bugs{0};
    std::atomic<int> runs{0};
    std::atomic<int> right{0};
    TaskScope scope(control.get_executor(), [&](const std::exception_ptr&) { bugs += 1; });
    Flights flights(scope, clock, FlightLimits{16, 0});
    std::thread loop([&] { control.run(); });
    // They outlive the control loop, which posts answers to them.
    std::array<boost::asio::io_context, kThreads> doors;
    run_threads([&](int thread) {
        boost::asio::io_context& io = doors[static_cast<std::size_t>(thread)];
        for (int i = 0; i < 4; ++i) {
            boost::asio::co_spawn(
                io, client(control.get_executor(), &flights, &clock, thread * 4 + i, &runs, &right),
                [&](const std::exception_ptr& error) { bugs += error ? 1 : 0; });
        }
        io.run();
    });
    keep.reset();
    loop.join();
    EXPECT_EQ(right, kThreads * 4 * 500);
    EXPECT_EQ(bugs, 0);
    EXPECT_EQ(flights.stats().started, static_cast<std::uint64_t>(runs.load()));
    EXPECT_GT(flights.stats().joined, 0U);
    EXPECT_EQ(flights.stats().flights, 0U);
}

}  // namespace
}  // namespace sluice::guard
