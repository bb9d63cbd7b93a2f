// A PostgresClient on the test's own loop and the system's clock.
#pragma once

#include "base/clock.h"
#include "base/random.h"
#include "io/postgres.h"
#include "io/postgres_metrics.h"
#include "io/postgres_schema.h"
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

namespace sluice::test {

class PostgresFixture {
 public:
    explicit PostgresFixture(const std::string& url, Millis timeout = Millis(5'000))
        : log(clock, sink, obs::Level::kInfo), client(make_client(url, timeout)) {}
    ~PostgresFixture() { run(client->stop()); }

    // One more on the same loop, to be stopped by who asked for it.
    std::unique_ptr<io::PostgresClient> make_client(const std::string& url,
                                                    Millis timeout = Millis(5'000)) {
        io::PostgresConfig config;
        config.url = Secret(url);
        config.target = io::parse_postgres_url(url).value();
        config.timeout = timeout;
        return std::make_unique<io::PostgresClient>(loop.get_executor(), std::move(config), "",
                                                    clock, random, log, metrics);
    }

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
    // One statement, a job of its own.
    Result<io::PostgresRows> query(std::string_view sql, io::PostgresValues values = {}) {
        return run(job(sql, std::move(values)));
    }
    Task<Result<io::PostgresRows>> job(std::string_view sql, io::PostgresValues values = {}) {
        auto work = [sql, values = std::move(values)](io::PostgresSession& session) {
            return session.query(sql, values);
        };
        return client->run(std::move(work));
    }

    // Brings the tables of that store up to date.
    Status migrate(io::PostgresSchema schema) {
        auto work = [schema](io::PostgresSession& session) { return io::migrate(session, schema); };
        return run(client->run(std::move(work)));
    }

    // A job under way.
    struct Call {
        std::optional<Result<io::PostgresRows>> reply;
        bool ended = false;
        boost::asio::cancellation_signal leave;
    };
    std::shared_ptr<Call> begin(std::string_view sql) {
        auto call = std::make_shared<Call>();
        boost::asio::co_spawn(
            loop, store_result(job(sql), call->reply),
            boost::asio::bind_cancellation_slot(
                call->leave.slot(), [call](const std::exception_ptr&) { call->ended = true; }));
        loop.restart();
        loop.poll();
        return call;
    }
    double jobs(const std::string& outcome) {
        return metrics.counter(io::kPostgresJobs, {outcome}).value();
    }

    boost::asio::io_context loop{1};
    SystemClock clock;
    SeededRandom random{7};
    CollectingSink sink;
    obs::Log log;
    obs::Metrics metrics;
    std::unique_ptr<io::PostgresClient> client;
};

}  // namespace sluice::test
