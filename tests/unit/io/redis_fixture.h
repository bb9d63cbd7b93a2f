// A RedisClient on the test's own loop.
#pragma once

#include "base/random.h"
#include "io/redis.h"
#include "io/redis_metrics.h"
#include "io/tls.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "support/collecting_sink.h"
#include "support/real_loop.h"
#include "support/redis_config.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::test {

class RedisFixture : public RealLoop {
 public:
    explicit RedisFixture(const std::string& url, Millis timeout = kRedisTimeout,
                          std::shared_ptr<const io::TlsContext> tls = nullptr)
        : log(clock, sink, obs::Level::kInfo) {
        client = std::make_unique<io::RedisClient>(loop.get_executor(), redis_config(url, timeout),
                                                   std::move(tls), clock, random, log, metrics);
    }
    ~RedisFixture() { run(client->stop()); }

    Status start() { return run(client->start()); }
    Result<io::RedisReply> command(std::vector<std::string> words, Duration patience = kPatience) {
        return run(client->command(std::move(words), clock.now() + patience));
    }

    // A command under way.
    struct Call {
        std::optional<Result<io::RedisReply>> reply;
        bool ended = false;
        boost::asio::cancellation_signal leave;
    };
    std::shared_ptr<Call> begin(std::vector<std::string> words) {
        auto call = std::make_shared<Call>();
        Task<Result<io::RedisReply>> task =
            client->command(std::move(words), clock.now() + kPatience);
        boost::asio::co_spawn(
            loop, store_result(std::move(task), call->reply),
            boost::asio::bind_cancellation_slot(
                call->leave.slot(), [call](const std::exception_ptr&) { call->ended = true; }));
        loop.restart();
        loop.poll();
        return call;
    }
    double commands(const std::string& outcome) {
        return metrics.counter(io::kRedisCommands, {outcome}).value();
    }

    SeededRandom random{7};
    CollectingSink sink;
    obs::Log log;
    obs::Metrics metrics;
    std::unique_ptr<io::RedisClient> client;
};

}  // namespace sluice::test
