// Replicas that share the state of their keys: each with its own connection to one real Redis, all
// on one loop, over a clock that stands still for the keys and not for the connections.
#pragma once

#include "base/random.h"
#include "io/redis.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "support/collecting_sink.h"
#include "support/manual_clock.h"
#include "support/real_loop.h"
#include "support/redis_config.h"
#include "support/redis_server.h"
#include "web/key_runtime_redis.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice::test {

class KeyReplicas : public RealLoop {
 public:
    explicit KeyReplicas(ManualClock& time_of_keys) : time_of_keys_(time_of_keys) {}
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
        io::RedisConfig redis = redis_config(url);
        redis.required = required;
        auto replica = std::make_unique<Replica>();
        replica->redis = std::make_unique<io::RedisClient>(loop.get_executor(), redis, nullptr,
                                                           clock, random_, log_, metrics_);
        SLUICE_ASSERT(run(replica->redis->start()).ok());
        replica->keys = std::make_shared<web::RedisKeyRuntime>(
            *replica->redis, time_of_keys_, random_, log_, metrics_, config, &time_of_keys_);
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

    CollectingSink& lines() { return sink_; }
    obs::Metrics& metrics() { return metrics_; }

 private:
    ManualClock& time_of_keys_;
    SeededRandom random_{11};
    CollectingSink sink_;
    obs::Log log_{clock, sink_, obs::Level::kInfo};
    obs::Metrics metrics_;
    std::vector<std::unique_ptr<Replica>> replicas_;
};

}  // namespace sluice::test
