#include "access/token_watch.h"

#include "access/metrics.h"
#include "support/collecting_sink.h"
#include "support/manual_clock.h"
#include "support/run_task.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace sluice::access {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

// A store that a test changes behind the watch's back, or takes away.
class ScriptedStore final : public TokenStore {
 public:
    TokenSet set;
    bool away = false;
    int loads = 0;
    std::function<Task<Status>()> meanwhile;  // before the next load is told

    Task<Result<IssuedToken>> add(NewToken) override { co_return gone(); }
    Task<Result<std::optional<IssuedToken>>> add_first(NewToken) override { co_return gone(); }
    Task<Result<TokenRecord>> revoke(std::string) override { co_return gone(); }
    Task<Result<TokenSet>> load() override {
        if (away) {
            co_return gone();
        }
        loads += 1;
        TokenSet read = set;
        if (meanwhile) {
            auto then = std::exchange(meanwhile, {});
            CO_TRY_STATUS(co_await then());
        }
        co_return read;
    }
    Task<Result<StoreRevision>> revision() override {
        if (away) {
            co_return gone();
        }
        co_return set.revision;
    }

 private:
    static Error gone() {
        return Error{Code::kUnavailable, Blame::kGateway, "the disk is gone", std::nullopt};
    }
};

class TokenWatchTest : public testing::Test {
 protected:
    TokenWatchTest() {
        store_.set.revision = 1;
        add_token("aaaaaaaa");
    }
    void add_token(std::string id) {
        StoredToken token;
        token.record.id = std::move(id);
        token.record.scopes = {Scope::kSearch};
        store_.set.tokens.push_back(std::move(token));
    }
    Status refresh() { return test::run_task(io_, clock_, watch_.refresh()); }
    // The watch's loop, until the test ends.
    void start() {
        asio::co_spawn(io_, watch_.run(),
                       asio::bind_cancellation_slot(stop_.slot(), [](std::exception_ptr) {}));
        test::run_ready(io_);
    }
    void advance(Duration by) {
        clock_.advance(by);
        test::run_ready(io_);
    }
    void TearDown() override {
        stop_.emit(asio::cancellation_type::terminal);
        test::run_ready(io_);
    }
    double failures() { return metrics_.counter(kTokenRefreshFailures).value(); }

    asio::io_context io_{1};
    asio::cancellation_signal stop_;
    test::ManualClock clock_;
    test::CollectingSink sink_;
    obs::Log log_{clock_, sink_, obs::Level::kDebug};
    obs::Metrics metrics_;
    ScriptedStore store_;
    TokenTable table_;
    TokenWatch watch_{store_, table_, clock_, log_, metrics_};
};

// The table is loaded when the revision says so and left alone otherwise.
TEST_F(TokenWatchTest, LoadsOnlyWhatChanged) {
    ASSERT_TRUE(refresh().ok());
    EXPECT_EQ(table_.active(), 1U);
    EXPECT_EQ(metrics_.gauge(kTokens).value(), 1);
    ASSERT_TRUE(refresh().ok());
    EXPECT_EQ(store_.loads, 1);
    store_.set.revision = 2;
    add_token("bbbbbbbb");
    ASSERT_TRUE(refresh().ok());
    EXPECT_EQ(store_.loads, 2);
    EXPECT_EQ(table_.active(), 2U);
    EXPECT_EQ(metrics_.gauge(kTokens).value(), 2);
}

// A store that was put back to where it was before counts less than it did; what it holds now is in
// force. So it is when it came to the same number on another way.
TEST_F(TokenWatchTest, AStoreThatWentBackIsReadAgain) {
    const TokenSet backup = store_.set;
    store_.set.revision = 2;
    add_token("bbbbbbbb");
    ASSERT_TRUE(refresh().ok());
    EXPECT_EQ(table_.active(), 2U);
    store_.set = backup;
    ASSERT_TRUE(refresh().ok());
    EXPECT_EQ(table_.active(), 1U);
    store_.set.revision = StoreRevision(1, "another way");
    store_.set.tokens.clear();
    ASSERT_TRUE(refresh().ok());
    EXPECT_EQ(table_.active(), 0U);
}

// Of two looks at once the slower may have read what is over by then.
TEST_F(TokenWatchTest, WhatWasReadBeforeIsNotInForceAgain) {
    store_.meanwhile = [this]() -> Task<Status> {
        store_.set.revision = 2;
        store_.set.tokens.clear();
        return watch_.refresh();
    };
    ASSERT_TRUE(refresh().ok());
    EXPECT_EQ(table_.active(), 0U);
    EXPECT_EQ(store_.loads, 2) << "and what is in force is not read again";
}

// Another process's change is in force one poll later and not before.
TEST_F(TokenWatchTest, PollsOnceASecond) {
    ASSERT_TRUE(refresh().ok());
    start();
    store_.set.revision = 2;
    store_.set.tokens[0].record.revoked_at = clock_.wall_now();
    advance(999ms);
    EXPECT_TRUE(table_.any_active());
    advance(1ms);
    EXPECT_FALSE(table_.any_active());
}

// Who is told of a change looks at once.
TEST_F(TokenWatchTest, ANoticeIsFollowedAtOnce) {
    ASSERT_TRUE(refresh().ok());
    start();
    store_.set.revision = 2;
    store_.set.tokens[0].record.revoked_at = clock_.wall_now();
    watch_.changed();
    advance(0ms);
    EXPECT_FALSE(table_.any_active());
}

// While the store is away the tokens last known stay in force, one line a minute says so, every
// failure is counted, and the return is noticed.
TEST_F(TokenWatchTest, AStoreThatIsAwayChangesNothing) {
    ASSERT_TRUE(refresh().ok());
    start();
    store_.away = true;
    store_.set.revision = 2;
    store_.set.tokens.clear();
    for (int i = 0; i < 59; ++i) {
        advance(1s);
    }
    EXPECT_TRUE(table_.any_active());
    EXPECT_EQ(failures(), 59);
    EXPECT_EQ(sink_.count(obs::Level::kWarn, "token_refresh_failed"), 1U);
    store_.away = false;
    advance(1s);
    EXPECT_FALSE(table_.any_active());
    EXPECT_EQ(failures(), 59);
}

// Cancellation ends the loop.
TEST_F(TokenWatchTest, CancellationEndsTheLoop) {
    start();
    EXPECT_EQ(clock_.sleepers(), 1U);
    stop_.emit(asio::cancellation_type::terminal);
    test::run_ready(io_);
    EXPECT_EQ(clock_.sleepers(), 0U);
    advance(10s);
    EXPECT_EQ(store_.loads, 0);
}

}  // namespace
}  // namespace sluice::access
