// Windows of several replicas over one real Redis.
#include "access/shared_windows.h"

#include "base/random.h"
#include "io/redis.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "support/collecting_sink.h"
#include "support/redis_server.h"

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sluice::access {
namespace {

using namespace std::chrono_literals;

// Time goes on, and it stays the same minute until a test says otherwise.
class SameMinute final : public Clock {
 public:
    Instant now() const override { return real_.now(); }
    WallTime wall_now() const override { return wall; }
    Task<void> wait(std::shared_ptr<Alarm> alarm, Instant deadline) override {
        return real_.wait(std::move(alarm), deadline);
    }

    WallTime wall = WallTime(1'767'225'600s);

 private:
    SystemClock real_;
};

class SharedWindowsTest : public testing::Test {
 protected:
    struct Replica {
        RequestWindows windows;
        std::unique_ptr<io::RedisClient> redis;
        std::unique_ptr<SharedWindows> shared;
        std::shared_ptr<boost::asio::cancellation_signal> stop =
            std::make_shared<boost::asio::cancellation_signal>();
    };

    SharedWindowsTest() {
        for (Replica* replica : {&one, &other}) {
            io::RedisConfig config;
            config.endpoints = io::parse_redis_urls(server.url()).value();
            replica->redis = std::make_unique<io::RedisClient>(loop.get_executor(), config, nullptr,
                                                               clock, random, log, metrics);
            run(start(*replica->redis));
            replica->shared =
                std::make_unique<SharedWindows>(*replica->redis, replica->windows, clock);
            replica->redis->tasks().spawn(replica->shared->run(), replica->stop);
        }
    }
    ~SharedWindowsTest() override {
        for (Replica* replica : {&one, &other}) {
            replica->stop->emit(boost::asio::cancellation_type::terminal);
            run(replica->redis->stop());
        }
    }

    static Task<void> start(io::RedisClient& redis) {
        const Status started = co_await redis.start();
        SLUICE_ASSERT(started.ok());
    }
    void run(Task<void> task) {
        bool done = false;
        boost::asio::co_spawn(loop, std::move(task), [&](const std::exception_ptr& error) {
            done = true;
            if (error) {
                std::rethrow_exception(error);
            }
        });
        while (!done) {
            loop.restart();
            loop.run_one();
        }
    }
    // Long enough for what was counted to get around.
    void let_tell() {
        const Instant end = clock.now() + 3 * SharedWindows::kPause + 20ms;
        while (clock.now() < end) {
            loop.restart();
            loop.run_one_for(5ms);
        }
    }
    bool take(Replica& replica, const std::string& token, std::int64_t limit) {
        WindowRequest request;
        request.token_id = token;
        request.token_limit = limit;
        request.client = "192.0.2.7";
        request.client_limit = 1'000;
        return replica.windows.take(request, clock.wall).ok();
    }

    test::RedisServer server;
    boost::asio::io_context loop{1};
    SameMinute clock;
    SeededRandom random{9};
    test::CollectingSink sink;
    obs::Log log{clock, sink, obs::Level::kInfo};
    obs::Metrics metrics;
    Replica one;
    Replica other;
};

// What one lets in takes room from the other, in the window of that token and in no other one.
TEST_F(SharedWindowsTest, ReplicasCountInOneWindow) {
    int passed = 0;
    for (int i = 0; i < 30; ++i) {
        passed += take(i % 2 == 0 ? one : other, "t", 10) ? 1 : 0;
        let_tell();
    }
    EXPECT_GE(passed, 10);
    EXPECT_LE(passed, 11) << "a replica hears what there was by asking";
    EXPECT_TRUE(take(other, "u", 10));
    clock.wall += 1min;
    EXPECT_TRUE(take(other, "t", 10)) << "the next minute";
}

// However fast requests come, a replica passes the limit by no more than what comes while it is
// told; and that comes at once, not at intervals.
TEST_F(SharedWindowsTest, ABurstElsewhereIsNoticedAtOnce) {
    for (int i = 0; i < 50; ++i) {
        EXPECT_TRUE(take(one, "t", 50));
    }
    let_tell();
    int passed = 0;
    for (int i = 0; i < 50; ++i) {
        passed += take(other, "t", 50) ? 1 : 0;
        let_tell();
    }
    EXPECT_EQ(passed, 1) << "the one that asks what there was";
}

// Requests of every thread count.
TEST_F(SharedWindowsTest, ThreadsCount) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([this] {
            for (int n = 0; n < 200; ++n) {
                take(one, "t", 1'000);
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    let_tell();
    take(other, "t", 1'000);
    let_tell();
    int left = 0;
    while (take(other, "t", 1'000)) {
        left += 1;
    }
    EXPECT_EQ(left, 1'000 - 800 - 1);
}

// Without Redis each counts by itself, and goes on together when it is back.
TEST_F(SharedWindowsTest, WithoutRedisEachCountsByItself) {
    server.kill();
    let_tell();
    for (Replica* replica : {&one, &other}) {
        for (int i = 0; i < 10; ++i) {
            EXPECT_TRUE(take(*replica, "t", 10));
        }
        EXPECT_FALSE(take(*replica, "t", 10));
    }
    let_tell();
    server.start();
    const Instant end = clock.now() + 10s;
    while ((!one.redis->is_up() || !other.redis->is_up()) && clock.now() < end) {
        let_tell();
    }
    for (int i = 0; i < 10; ++i) {
        EXPECT_TRUE(take(one, "v", 10));
    }
    let_tell();
    EXPECT_TRUE(take(other, "v", 10));
    let_tell();
    EXPECT_FALSE(take(other, "v", 10));
}

}  // namespace
}  // namespace sluice::access
