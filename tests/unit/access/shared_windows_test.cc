// Windows of several replicas over one real Redis.
#include "access/shared_windows.h"

#include "base/random.h"
#include "guard/window_counter.h"
#include "io/redis.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "support/collecting_sink.h"
#include "support/real_loop.h"
#include "support/redis_config.h"
#include "support/redis_server.h"

#include <boost/asio/cancellation_signal.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
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

class SharedWindowsTest : public testing::Test, protected test::RealLoop {
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
            replica->redis = std::make_unique<io::RedisClient>(
                loop.get_executor(), test::redis_config(server.url()), nullptr, minute, random, log,
                metrics);
            SLUICE_ASSERT(run(replica->redis->start()).ok());
            replica->shared =
                std::make_unique<SharedWindows>(*replica->redis, replica->windows, minute);
            replica->redis->tasks().spawn(replica->shared->run(), replica->stop);
        }
    }
    ~SharedWindowsTest() override {
        for (Replica* replica : {&one, &other}) {
            replica->stop->emit(boost::asio::cancellation_type::terminal);
            run(replica->redis->stop());
        }
    }

    // What was counted has got to Redis, and what Redis said of it has come back.
    void let_tell() {
        for (const auto& [place, requests] : counted) {
            for (Replica* replica : {&one, &other}) {
                ASSERT_TRUE(until([&] { return told(*replica, place) == requests; }));
            }
        }
    }
    // A window, and the token in it.
    using Place = std::pair<std::string, std::string>;
    // Comes after what Redis answered that replica before.
    std::int64_t told(Replica& replica, const Place& place) {
        std::vector<std::string> words{"HGET", place.first, place.second};
        const auto reply = run(replica.redis->command(std::move(words), Instant::max()));
        return reply.ok() && !reply->is_nil() ? std::stoll(reply->text) : 0;
    }
    bool take(Replica& replica, const std::string& token, std::int64_t limit) {
        WindowRequest request;
        request.token_id = token;
        request.token_limit = limit;
        request.client = "192.0.2.7";
        request.client_limit = 1'000;
        if (!replica.windows.take(request, minute.wall).ok()) {
            return false;
        }
        const std::int64_t window = guard::window_index(minute.wall, RequestWindows::kWindow);
        const std::lock_guard lock(mutex);
        counted[{"sluice:windows:{all}:" + std::to_string(window) + ":token", token}] += 1;
        return true;
    }

    test::RedisServer server;
    SameMinute minute;
    SeededRandom random{9};
    test::CollectingSink sink;
    obs::Log log{minute, sink, obs::Level::kInfo};
    obs::Metrics metrics;
    std::mutex mutex;
    std::map<Place, std::int64_t> counted;
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
    minute.wall += 1min;
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
    const auto both_are = [this](bool up) {
        return one.redis->is_up() == up && other.redis->is_up() == up;
    };
    server.kill();
    ASSERT_TRUE(until([&] { return both_are(false); }));
    for (Replica* replica : {&one, &other}) {
        for (int i = 0; i < 10; ++i) {
            EXPECT_TRUE(take(*replica, "t", 10));
        }
        EXPECT_FALSE(take(*replica, "t", 10));
    }
    counted.clear();
    server.start();
    ASSERT_TRUE(until([&] { return both_are(true); }));
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
