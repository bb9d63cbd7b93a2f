// A RedisClient on the test's own loop and the system's clock.
#pragma once

#include "base/clock.h"
#include "base/random.h"
#include "io/redis.h"
#include "io/redis_metrics.h"
#include "io/tls.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "support/collecting_sink.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
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

class RedisFixture {
 public:
    explicit RedisFixture(const std::string& url, Millis timeout = Millis(500),
                          std::shared_ptr<const io::TlsContext> tls = nullptr)
        : log(clock, sink, obs::Level::kInfo) {
        io::RedisConfig config;
        config.url = Secret(url);
        config.endpoints = io::parse_redis_urls(url).value();
        config.timeout = timeout;
        client = std::make_unique<io::RedisClient>(loop.get_executor(), std::move(config),
                                                   std::move(tls), clock, random, log, metrics);
    }
    ~RedisFixture() { run(client->stop()); }

    // The result of `task`; the client's own tasks go on afterwards.
    template <class T>
    T run(Task<T> task) {
        std::optional<T> result;
        run(store_result(std::move(task), result));
        return std::move(*result);
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

    // Lets time pass until `condition` holds. False when it did not within ten seconds.
    bool until(const std::function<bool()>& condition) {
        const Instant end = clock.now() + std::chrono::seconds(10);
        while (!condition() && clock.now() < end) {
            loop.restart();
            loop.run_one_for(std::chrono::milliseconds(10));
        }
        return condition();
    }

    Status start() { return run(client->start()); }
    Result<io::RedisReply> command(std::vector<std::string> words,
                                   Duration patience = std::chrono::seconds(10)) {
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
            client->command(std::move(words), clock.now() + std::chrono::seconds(10));
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

    boost::asio::io_context loop{1};
    SystemClock clock;
    SeededRandom random{7};
    CollectingSink sink;
    obs::Log log;
    obs::Metrics metrics;
    std::unique_ptr<io::RedisClient> client;
};

}  // namespace sluice::test
