// A PostgresClient on the test's own loop.
#pragma once

#include "base/random.h"
#include "io/postgres.h"
#include "io/postgres_metrics.h"
#include "io/postgres_schema.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "support/collecting_sink.h"
#include "support/real_loop.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace sluice::test {

class PostgresFixture : public RealLoop {
 public:
    explicit PostgresFixture(const std::string& url, Millis timeout = Millis(20'000))
        : log(clock, sink, obs::Level::kInfo), client(make_client(url, timeout)) {}
    ~PostgresFixture() { run(client->stop()); }

    // One more on the same loop, to be stopped by who asked for it.
    std::unique_ptr<io::PostgresClient> make_client(const std::string& url,
                                                    Millis timeout = Millis(20'000)) {
        io::PostgresConfig config;
        config.target = io::parse_postgres_url(url).value();
        config.timeout = timeout;
        return std::make_unique<io::PostgresClient>(loop.get_executor(), std::move(config), "",
                                                    clock, random, log, metrics);
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

    SeededRandom random{7};
    CollectingSink sink;
    obs::Log log;
    obs::Metrics metrics;
    std::unique_ptr<io::PostgresClient> client;
};

}  // namespace sluice::test
