// The client against a real PostgreSQL that works, dies, hangs and comes back.
#include "io/postgres.h"
#include "support/postgres_server.h"
#include "unit/io/postgres_fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice::io {
namespace {

using namespace std::chrono_literals;
using test::PostgresFixture;
using test::PostgresServer;

class PostgresClientTest : public testing::Test {
 protected:
    PostgresServer& server_ = test::shared_postgres();
    const std::string url_ = server_.make_database();
};

Task<Result<std::int64_t>> write_twice(PostgresSession& session, bool commits) {
    CO_TRY_STATUS(co_await session.begin());
    CO_TRY(const PostgresRows one, co_await session.query("INSERT INTO t VALUES (1)"));
    CO_TRY(const PostgresRows two, co_await session.query("INSERT INTO t VALUES (1), (2)"));
    if (commits) {
        CO_TRY_STATUS(co_await session.commit());
    }
    co_return one.changed() + two.changed();
}

// Every kind of value comes back as it went in, and nothing is one.
TEST_F(PostgresClientTest, ValuesComeBack) {
    PostgresFixture db(url_);
    ASSERT_TRUE(db.start().ok());
    const std::string bytes("\0\xff'\\x", 5);
    const auto rows = db.query(
        "SELECT $1::bigint, $2::text, $3::bytea, $4::bigint, $5::int, 7::smallint",
        {std::int64_t{-5'000'000'000}, "caf\xc3\xa9 'quoted'", PostgresBytes{bytes}, nullptr, -7});
    ASSERT_TRUE(rows.ok()) << rows.error().message;
    ASSERT_EQ(rows->size(), 1u);
    EXPECT_EQ(rows->integer(0, 0), -5'000'000'000);
    EXPECT_EQ(rows->text(0, 1), "caf\xc3\xa9 'quoted'");
    EXPECT_EQ(rows->text(0, 2), bytes);
    EXPECT_TRUE(rows->is_null(0, 3));
    EXPECT_EQ(rows->optional_integer(0, 3), std::nullopt);
    EXPECT_EQ(rows->integer(0, 4), -7);
    EXPECT_EQ(rows->integer(0, 5), 7);
}

// Arrays hold texts as they are.
TEST_F(PostgresClientTest, ArraysComeBack) {
    PostgresFixture db(url_);
    ASSERT_TRUE(db.start().ok());
    const std::vector<std::string> texts{"a", "", "q\"uo,te", "back\\slash", "{NULL}", "NULL"};
    const auto rows = db.query(
        "SELECT t FROM unnest($1::text[]) WITH ORDINALITY AS u (t, i)"
        " ORDER BY i",
        {postgres_array(texts)});
    ASSERT_TRUE(rows.ok()) << rows.error().message;
    ASSERT_EQ(rows->size(), texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
        EXPECT_FALSE(rows->is_null(i, 0));
        EXPECT_EQ(rows->text(i, 0), texts[i]);
    }
    EXPECT_TRUE(
        db.query("SELECT t FROM unnest($1::text[]) AS u (t)", {postgres_array({})})->empty());
}

// What a job did not commit is gone with it, and its connection serves the next one.
TEST_F(PostgresClientTest, WhatIsNotCommittedIsRolledBack) {
    PostgresFixture db(url_);
    ASSERT_TRUE(db.start().ok());
    ASSERT_TRUE(db.query("CREATE TABLE t (n int)").ok());
    for (const bool commits : {false, true}) {
        auto work = [commits](PostgresSession& session) { return write_twice(session, commits); };
        EXPECT_EQ(db.run(db.client->run(std::move(work))).value(), 3);
        EXPECT_EQ(db.query("SELECT count(*) FROM t")->integer(0, 0), commits ? 3 : 0);
    }
}

// An error of a statement is a value that says what it was; the connection stays.
TEST_F(PostgresClientTest, ErrorsAreValues) {
    PostgresFixture db(url_);
    ASSERT_TRUE(db.start().ok());
    ASSERT_TRUE(db.query("CREATE TABLE u (n int UNIQUE)").ok());
    ASSERT_TRUE(db.query("INSERT INTO u VALUES (1)").ok());
    EXPECT_EQ(db.query("INSERT INTO u VALUES (1) ").error().code, Code::kConflict);
    EXPECT_EQ(db.query("SELECT nonsense").error().code, Code::kInternal);
    EXPECT_EQ(db.query("SELECT * FROM nosuch").error().code, Code::kUnavailable);
    const auto row = [&db](std::string_view sql) {
        return db.run(
            db.client->run([sql](PostgresSession& session) { return session.query_row(sql); }));
    };
    EXPECT_EQ(row("SELECT n::int FROM u")->integer(0, 0), 1);
    EXPECT_EQ(row("SELECT n::int FROM u WHERE n = 2").error().code, Code::kUnavailable)
        << "a row that is always there is missing";
    EXPECT_EQ(db.query("SELECT 1::int")->integer(0, 0), 1);
    EXPECT_EQ(db.metrics.counter(kPostgresFaults, {"closed"}).value(), 0);
    EXPECT_EQ(db.jobs("failed"), 4);
}

// What asks an idle connection whether it is well does not end it.
TEST_F(PostgresClientTest, HeartbeatsKeepAConnection) {
    PostgresFixture db(url_);
    ASSERT_TRUE(db.start().ok());
    const Instant later = db.clock.now() + 3 * PostgresClient::kHeartbeatEvery;
    EXPECT_TRUE(db.until([&] { return db.clock.now() >= later; }));
    EXPECT_TRUE(db.client->is_up());
    EXPECT_EQ(db.metrics.counter(kPostgresFaults, {"closed"}).value(), 0);
}

// Jobs run side by side, on no more connections than the most.
TEST_F(PostgresClientTest, JobsRunSideBySide) {
    PostgresFixture db(url_);
    ASSERT_TRUE(db.start().ok());
    const Instant began = db.clock.now();
    std::vector<std::shared_ptr<PostgresFixture::Call>> calls;
    for (int i = 0; i < 8; ++i) {
        calls.push_back(db.begin("SELECT 1::int FROM pg_sleep(1)"));
    }
    ASSERT_TRUE(
        db.until([&] { return std::ranges::all_of(calls, [](auto& c) { return c->ended; }); }));
    for (const auto& call : calls) {
        EXPECT_TRUE((*call->reply).ok()) << (*call->reply).error().message;
    }
    EXPECT_LT(db.clock.now() - began, 8 * 1s) << "one after the other";
    EXPECT_LE(db.query("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'sluice'"
                       " AND datname = current_database()")
                  ->integer(0, 0),
              static_cast<std::int64_t>(PostgresClient::kMaxConnections));
}

// Jobs that come in one turn of the loop, so before any connection that is made for them, open no
// more of them.
TEST_F(PostgresClientTest, JobsOfOneTurnShareTheirConnections) {
    PostgresFixture db(url_);
    ASSERT_TRUE(db.start().ok());
    int ended = 0;
    std::vector<std::optional<Result<PostgresRows>>> replies(16);
    for (auto& reply : replies) {
        boost::asio::co_spawn(db.loop,
                              store_result(db.job("SELECT 1::int FROM pg_sleep(0.1)"), reply),
                              [&](const std::exception_ptr&) { ended += 1; });
    }
    ASSERT_TRUE(db.until([&] { return ended == 16; }));
    for (const auto& reply : replies) {
        EXPECT_TRUE(reply->ok()) << reply->error().message;
    }
    // Those that are no longer needed are still there.
    EXPECT_EQ(db.query("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'sluice'"
                       " AND datname = current_database()")
                  ->integer(0, 0),
              static_cast<std::int64_t>(PostgresClient::kMaxConnections));
}

// What waits is bounded.
TEST_F(PostgresClientTest, TheQueueIsBounded) {
    PostgresFixture db(url_);
    ASSERT_TRUE(db.start().ok());
    std::vector<std::shared_ptr<PostgresFixture::Call>> calls;
    for (std::size_t i = 0; i < PostgresClient::kMaxQueued + 8; ++i) {
        calls.push_back(db.begin("SELECT 1::int FROM pg_sleep(0.02)"));
    }
    EXPECT_EQ(calls.back()->reply->error().code, Code::kOverloaded);
    EXPECT_TRUE(
        db.until([&] { return std::ranges::all_of(calls, [](auto& c) { return c->ended; }); }));
}

// A statement that takes too long ends by itself; others go on, on the same connections.
TEST_F(PostgresClientTest, ASlowStatementEnds) {
    PostgresFixture db(url_, 3s);
    ASSERT_TRUE(db.start().ok());
    const auto slow = db.query("SELECT 1::int FROM pg_sleep(30)");
    ASSERT_FALSE(slow.ok());
    EXPECT_EQ(slow.error().code, Code::kUnavailable);
    EXPECT_EQ(slow.error().retry_after, kAskAgainAfter);
    EXPECT_TRUE(db.client->is_up());
    EXPECT_TRUE(db.query("SELECT 1::int").ok());
}

// A result that is too large is not gathered.
TEST_F(PostgresClientTest, AResultIsBounded) {
    PostgresFixture db(url_);
    ASSERT_TRUE(db.start().ok());
    const auto large = db.query("SELECT repeat('x', 1000000) FROM generate_series(1, 1000)");
    ASSERT_FALSE(large.ok());
    EXPECT_EQ(large.error().code, Code::kUnavailable);
    EXPECT_EQ(db.metrics.counter(kPostgresFaults, {"result_too_large"}).value(), 1);
    EXPECT_TRUE(db.until([&] { return db.client->is_up(); }));
}

// A caller that leaves waits for nothing.
TEST_F(PostgresClientTest, ACallerMayLeave) {
    PostgresFixture db(url_);
    ASSERT_TRUE(db.start().ok());
    const auto call = db.begin("SELECT 1::int FROM pg_sleep(0.5)");
    call->leave.emit(boost::asio::cancellation_type::terminal);
    ASSERT_TRUE(db.until([&] { return call->ended; }));
    EXPECT_EQ(db.jobs("cancelled"), 1);
    EXPECT_TRUE(db.query("SELECT 1::int").ok());
}

// A database that is gone is refused at once, and is used again when it is back, with what was
// prepared prepared anew.
TEST_F(PostgresClientTest, ItComesBack) {
    PostgresFixture db(url_);
    ASSERT_TRUE(db.start().ok());
    ASSERT_TRUE(db.query("SELECT 1::int").ok());
    server_.kill();
    ASSERT_TRUE(db.until([&] { return !db.client->is_up(); }));
    const Instant began = db.clock.now();
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(db.query("SELECT 1::int").error().code, Code::kUnavailable);
    }
    EXPECT_LT(db.clock.now() - began, 20s) << "not one timeout";
    server_.start();
    ASSERT_TRUE(db.until([&] { return db.client->is_up(); }));
    EXPECT_TRUE(db.query("SELECT 1::int").ok());
}

// A database that stands still costs one timeout, not one a job, and the loop goes on meanwhile.
TEST_F(PostgresClientTest, OneThatHangsCostsOneTimeout) {
    constexpr Millis kTimeout = 3s;
    PostgresFixture db(url_, kTimeout);
    ASSERT_TRUE(db.start().ok());
    std::vector<std::shared_ptr<PostgresFixture::Call>> calls;
    for (std::size_t i = 0; i < PostgresClient::kMaxConnections; ++i) {
        calls.push_back(db.begin("SELECT 1::int FROM pg_sleep(0.1)"));
    }
    ASSERT_TRUE(
        db.until([&] { return std::ranges::all_of(calls, [](auto& c) { return c->ended; }); }));
    server_.freeze();
    const Instant began = db.clock.now();
    const auto first = db.query("SELECT 1::int");
    EXPECT_EQ(first.error().code, Code::kUnavailable);
    EXPECT_EQ(first.error().retry_after, kAskAgainAfter);
    EXPECT_NE(first.error().message.find("in time"), std::string::npos) << first.error().message;
    for (int i = 0; i < 20; ++i) {
        calls.push_back(db.begin("SELECT 1::int"));
    }
    Duration longest{};
    Instant last = db.clock.now();
    ASSERT_TRUE(db.until([&] {
        longest = std::max<Duration>(longest, db.clock.now() - last);
        last = db.clock.now();
        return std::ranges::all_of(calls, [](auto& c) { return c->ended; });
    }));
    EXPECT_LT(db.clock.now() - began, 2 * kTimeout);
    EXPECT_LT(longest, kTimeout / 2) << "something blocked the loop";
    for (int i = 0; i < 100; ++i) {
        EXPECT_FALSE(db.query("SELECT 1::int").ok());
    }
    EXPECT_LT(db.clock.now() - began, 3 * kTimeout);
    server_.resume();
    ASSERT_TRUE(db.until([&] { return db.client->is_up(); }));
    EXPECT_TRUE(db.query("SELECT 1::int").ok());
}

// A backend that an operator ended takes nothing with it.
TEST_F(PostgresClientTest, AConnectionThatIsEndedIsMadeAgain) {
    PostgresFixture db(url_);
    PostgresFixture other(url_);
    ASSERT_TRUE(db.start().ok());
    ASSERT_TRUE(other.start().ok());
    ASSERT_TRUE(other
                    .query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> "
                           "pg_backend_pid() AND datname = current_database()")
                    .ok());
    ASSERT_TRUE(db.until([&] { return !db.client->is_up(); }));
    ASSERT_TRUE(db.until([&] { return db.client->is_up(); }));
    EXPECT_TRUE(db.query("SELECT 1::int").ok());
}

// Who listens hears at once, and after a loss, since something may have been missed.
TEST_F(PostgresClientTest, NoticesAreHeard) {
    PostgresFixture db(url_);
    int heard = 0;
    db.client->listen("changes", [&] { heard += 1; });
    ASSERT_TRUE(db.start().ok());
    PostgresFixture other(url_);
    ASSERT_TRUE(other.start().ok());
    constexpr int kNotices = 10;
    const Instant began = other.clock.now();
    for (int i = 0; i < kNotices; ++i) {
        const int before = heard;
        ASSERT_TRUE(other.query("NOTIFY changes").ok());
        ASSERT_TRUE(db.until([&] { return heard > before; }));
    }
    EXPECT_LT(other.clock.now() - began, kNotices * PostgresClient::kHeartbeatEvery / 2)
        << "not at once, but with a heartbeat";
    const int before_loss = heard;
    server_.kill();
    ASSERT_TRUE(db.until([&] { return !db.client->is_up(); }));
    server_.start();
    EXPECT_TRUE(db.until([&] { return heard > before_loss; }));
    EXPECT_TRUE(other.until([&] { return other.client->is_up(); }));
}

// Where nobody can be let in the reason says so, and no password is in it.
TEST_F(PostgresClientTest, ARefusalIsExplained) {
    PostgresFixture unknown(
        "postgresql://postgres:hunter2@127.0.0.1:" + std::to_string(server_.port()) + "/nosuch");
    const Status refused = unknown.start();
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find("refused"), std::string::npos);
    EXPECT_NE(refused.error().message.find("nosuch"), std::string::npos);
    EXPECT_EQ(refused.error().message.find("hunter2"), std::string::npos);
    EXPECT_EQ(unknown.client->view().reason, "refused");

    PostgresFixture plain(url_ + "?sslmode=verify-full");
    EXPECT_FALSE(plain.start().ok());
    EXPECT_EQ(plain.client->view().reason, "tls_failed");

    PostgresFixture nobody("postgresql://u@127.0.0.1:" + std::to_string(test::free_port()) + "/d");
    EXPECT_FALSE(nobody.start().ok());
    EXPECT_EQ(nobody.client->view().reason, "connect_failed");
}

}  // namespace
}  // namespace sluice::io
