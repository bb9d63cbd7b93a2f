// Replicas that share the state of their keys: each with its own connection to one real Redis, all
// on one loop, over a clock that stands still for the keys and not for the connections.
#pragma once

#include "base/random.h"
#include "io/redis.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "support/collecting_sink.h"
#include "support/manual_clock.h"
#include "support/redis_server.h"
#include "web/key_runtime_redis.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::test {

class KeyReplicas {
 public:
    explicit KeyReplicas(ManualClock& clock) : clock_(clock) {}
    ~KeyReplicas() { stop(); }
    KeyReplicas(const KeyReplicas&) = delete;
    KeyReplicas& operator=(const KeyReplicas&) = delete;

    struct Replica {
        std::shared_ptr<web::RedisKeyRuntime> keys;
        std::unique_ptr<io::RedisClient> redis;
        bool is_stopped = false;
    };

    Replica& start(const std::string& url, const web::RuntimeConfig& config = {},
                   bool required = false) {
        io::RedisConfig redis;
        redis.endpoints = io::parse_redis_urls(url).value();
        redis.required = required;
        auto replica = std::make_unique<Replica>();
        replica->redis = std::make_unique<io::RedisClient>(loop_.get_executor(), redis, nullptr,
                                                           io_clock_, random_, log_, metrics_);
        SLUICE_ASSERT(run(replica->redis->start()).ok());
        replica->keys = std::make_shared<web::RedisKeyRuntime>(*replica->redis, clock_, random_,
                                                               log_, metrics_, config, &clock_);
        return *replicas_.emplace_back(std::move(replica));
    }
    // As a process that is killed: what it holds stays as it is.
    void kill(Replica& replica) {
        if (!std::exchange(replica.is_stopped, true)) {
            run(replica.redis->stop());
        }
    }
    void stop() {
        for (const auto& replica : replicas_) {
            kill(*replica);
        }
        replicas_.clear();
    }

    template <class T>
    T run(Task<T> task) {
        std::optional<T> result;
        run(store_result(std::move(task), result));
        return *std::move(result);
    }
    void run(Task<void> task) {
        bool done = false;
        boost::asio::co_spawn(loop_, std::move(task), [&](const std::exception_ptr& error) {
            done = true;
            if (error) {
                std::rethrow_exception(error);
            }
        });
        while (!done) {
            loop_.restart();
            loop_.run_one();
        }
    }
    // Lets things happen until `condition` holds. False when it did not within ten seconds.
    bool until(const std::function<bool()>& condition) {
        const Instant end = io_clock_.now() + std::chrono::seconds(10);
        while (!condition() && io_clock_.now() < end) {
            loop_.restart();
            loop_.run_one_for(std::chrono::milliseconds(10));
        }
        return condition();
    }

    boost::asio::io_context& loop() { return loop_; }
    CollectingSink& lines() { return sink_; }
    obs::Metrics& metrics() { return metrics_; }

 private:
    ManualClock& clock_;
    boost::asio::io_context loop_{1};
    SystemClock io_clock_;
    SeededRandom random_{11};
    CollectingSink sink_;
    obs::Log log_{io_clock_, sink_, obs::Level::kInfo};
    obs::Metrics metrics_;
    std::vector<std::unique_ptr<Replica>> replicas_;
};

}  // namespace sluice::test
