// Budgets of several replicas over one real Redis, each with a store of its own.
#include "access/shared_budgets.h"

#include "access/budget.h"
#include "access/metrics.h"
#include "base/calendar.h"
#include "base/random.h"
#include "io/redis.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "support/collecting_sink.h"
#include "support/fake_spend_store.h"
#include "support/real_loop.h"
#include "support/redis_config.h"
#include "support/redis_server.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace sluice::access {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kPrice = 1'000;

class SharedBudgetsTest : public testing::Test, protected test::RealLoop {
 protected:
    struct Replica {
        std::unique_ptr<test::FakeSpendStore> store;
        std::unique_ptr<io::RedisClient> redis;
        std::unique_ptr<SharedBudgets> shared;
        std::unique_ptr<Budgets> budgets;
        std::shared_ptr<boost::asio::cancellation_signal> stop =
            std::make_shared<boost::asio::cancellation_signal>();
        bool is_running = true;
    };

    SharedBudgetsTest() {
        config.providers.resize(1);
        config.gateway.calls[index_of(Period::kDay)] = 10;
    }
    ~SharedBudgetsTest() override {
        for (const auto& replica : replicas) {
            kill(*replica);
            run(replica->budgets->stop());
        }
    }

    // With what `before` left in its store, under its name.
    Replica& start(const std::string& books, const Replica* before = nullptr,
                   bool required = false) {
        Replica& made = *replicas.emplace_back(std::make_unique<Replica>());
        made.store = before == nullptr
                         ? std::make_unique<test::FakeSpendStore>(clock)
                         : std::make_unique<test::FakeSpendStore>(clock, *before->store);
        made.store->books = books;
        io::RedisConfig redis = test::redis_config(server.url());
        redis.required = required;
        made.redis = std::make_unique<io::RedisClient>(loop.get_executor(), redis, nullptr, clock,
                                                       random, log, metrics);
        EXPECT_TRUE(run(made.redis->start()).ok());
        made.shared = std::make_unique<SharedBudgets>(*made.redis, clock, random, log, metrics);
        made.budgets = std::make_unique<Budgets>(loop.get_executor(), config,
                                                 std::vector<std::string>{"serper"}, *made.store,
                                                 clock, log, metrics, made.shared.get());
        EXPECT_TRUE(run(made.budgets->load()).ok());
        return made;
    }
    // In the background it tells what changed, as in a process.
    void let_tell(Replica& replica) {
        replica.redis->tasks().spawn(replica.shared->run(), replica.stop);
    }
    // As a process that is killed: what it told stays.
    void kill(Replica& replica) {
        if (std::exchange(replica.is_running, false)) {
            replica.stop->emit(boost::asio::cancellation_type::terminal);
            run(replica.redis->stop());
        }
    }

    // A call that may be made, or why not.
    std::variant<Reservation, BudgetRefusal> reserve(Replica& replica,
                                                     Duration patience = test::kPatience) {
        const Payer payer;
        const Purchase purchase{payer, 0, "key", {1, 1, kPrice}};
        auto reserved = replica.budgets->reserve(purchase);
        auto* reservation = std::get_if<Reservation>(&reserved);
        if (reservation == nullptr || reservation->is_covered()) {
            return reserved;
        }
        if (auto refusal = run(replica.budgets->cover(*reservation, clock.now() + patience))) {
            reserved.emplace<BudgetRefusal>(*std::move(refusal));
        }
        return reserved;
    }
    Task<bool> spend_later(Replica& replica) {
        const Payer payer;
        auto reserved = replica.budgets->reserve({payer, 0, "key", {1, 1, kPrice}});
        auto* reservation = std::get_if<Reservation>(&reserved);
        if (reservation == nullptr ||
            co_await replica.budgets->cover(*reservation, clock.now() + test::kPatience)) {
            co_return false;
        }
        reservation->mark_sent();
        std::move(*reservation).settle(Spent{1, 1, kPrice});
        co_return true;
    }
    bool spend(Replica& replica) {
        auto reserved = reserve(replica);
        auto* reservation = std::get_if<Reservation>(&reserved);
        if (reservation == nullptr) {
            return false;
        }
        reservation->mark_sent();
        std::move(*reservation).settle(Spent{1, 1, kPrice});
        return true;
    }
    // How many of `calls` the replica may make.
    int spend(Replica& replica, int calls) {
        int made = 0;
        for (int i = 0; i < calls; ++i) {
            made += spend(replica) ? 1 : 0;
        }
        return made;
    }

    void ask(Replica& replica, std::vector<std::string> words) {
        EXPECT_TRUE(run(replica.redis->command(std::move(words), Instant::max())).ok());
    }
    // What is in Redis counts as known to everybody.
    void come_of_age(Replica& replica) {
        ask(replica, {"HSET", "sluice:budgets:{all}", "epoch", "abc", "since", "0"});
    }

    test::RedisServer server;
    SeededRandom random{5};
    test::CollectingSink sink;
    obs::Log log{clock, sink, obs::Level::kInfo};
    obs::Metrics metrics;
    BudgetConfig config;
    std::vector<std::unique_ptr<Replica>> replicas;
};

// However many replicas spend, together they spend no more than the budget, and all of it.
TEST_F(SharedBudgetsTest, ReplicasSpendOneBudget) {
    std::vector<Replica*> three = {&start("aa"), &start("bb"), &start("cc")};
    come_of_age(*three[0]);
    int made = 0;
    for (int i = 0; i < 60; ++i) {
        made += spend(*three[static_cast<std::size_t>(i * 7 % 3)]) ? 1 : 0;
    }
    EXPECT_EQ(made, 10);
}

TEST_F(SharedBudgetsTest, MoneyIsCountedAsCallsAre) {
    config.gateway = {};
    config.providers[0].micro_usd[index_of(Period::kTotal)] = 4 * kPrice + kPrice / 2;
    Replica& one = start("aa");
    Replica& other = start("bb");
    come_of_age(one);
    EXPECT_EQ(spend(one, 2), 2);
    EXPECT_EQ(spend(other, 10), 2);
    auto refused = reserve(one);
    ASSERT_TRUE(std::holds_alternative<BudgetRefusal>(refused));
    const auto& refusal = std::get<BudgetRefusal>(refused);
    EXPECT_EQ(refusal.budget->purse, Purse::kProvider);
    EXPECT_EQ(refusal.budget->shortage.limit, 4 * kPrice + kPrice / 2);
    EXPECT_TRUE(refusal.detail.starts_with("budgets.providers.serper.usd_total")) << refusal.detail;
}

// Calls under way count; what was not spent is there for the others soon after.
TEST_F(SharedBudgetsTest, WhatIsGivenBackIsThereForOthers) {
    Replica& one = start("aa");
    Replica& other = start("bb");
    come_of_age(one);
    {
        std::vector<std::variant<Reservation, BudgetRefusal>> held;
        for (int i = 0; i < 7; ++i) {
            held.push_back(reserve(one));
            ASSERT_TRUE(std::holds_alternative<Reservation>(held.back()));
        }
        EXPECT_EQ(spend(other, 10), 3);
    }
    EXPECT_FALSE(spend(other)) << "not told yet";
    let_tell(one);
    bool is_told = false;
    EXPECT_TRUE(until([&] { return is_told = is_told || spend(other); }));
    EXPECT_EQ(spend(other, 10), 6);
}

// A replica that dies has spent what it told; started again it goes on from there, and nothing
// counts twice.
TEST_F(SharedBudgetsTest, ADeadReplicaHasSpentWhatItTold) {
    Replica& doomed = start("aa");
    Replica& other = start("bb");
    come_of_age(doomed);
    EXPECT_EQ(spend(doomed, 4), 4);
    ASSERT_TRUE(until([&] { return doomed.store->total(Purse::kGateway).calls == 4; }));
    kill(doomed);
    EXPECT_EQ(spend(other, 3), 3);
    Replica& again = start("aa", &doomed);
    EXPECT_EQ(spend(again, 2), 2);
    EXPECT_EQ(spend(other, 10), 1);
}

// An emptied Redis lends nobody money: calls wait until every replica has had time to tell what it
// spent.
TEST_F(SharedBudgetsTest, AnEmptiedRedisIsToldBeforeAnybodySpends) {
    Replica& one = start("aa");
    Replica& other = start("bb");
    come_of_age(one);
    let_tell(one);
    let_tell(other);
    EXPECT_EQ(spend(one, 5), 5);
    EXPECT_EQ(spend(other, 3), 3);
    // Nothing is left that is to be told anyway.
    pass(SharedBudgets::kTellEvery + 200ms);
    ask(one, {"FLUSHALL"});
    auto early = reserve(other, 200ms);
    ASSERT_TRUE(std::holds_alternative<BudgetRefusal>(early));
    EXPECT_FALSE(std::get<BudgetRefusal>(early).budget) << "it is a matter of time";
    EXPECT_EQ(spend(other, 10), 2);
    EXPECT_TRUE(sink.contains("shared_budgets_lost"));
}

// An epoch that seems to begin only later, since the clock of Redis was put back, is young for
// no longer than one that begins now.
TEST_F(SharedBudgetsTest, AClockThatIsPutBackHoldsNobodyUp) {
    Replica& one = start("aa");
    come_of_age(one);
    EXPECT_EQ(spend(one, 1), 1);
    const std::string centuries_later = "9999999999999";
    ask(one, {"HSET", "sluice:budgets:{all}", "since", centuries_later});
    EXPECT_EQ(spend(one, 1), 1) << "within test::kPatience";
}

// Two processes that go by one name, since a data directory was copied: neither writes over what
// the other one spends for ever, and it is told.
TEST_F(SharedBudgetsTest, ACopyOfADataDirectoryIsNoticed) {
    Replica& one = start("aa");
    come_of_age(one);
    EXPECT_EQ(spend(one, 2), 2);
    Replica& copy = start("aa", &one);
    EXPECT_EQ(spend(copy, 1), 1);
    spend(one);
    EXPECT_TRUE(sink.contains("data directory is a copy"));
    EXPECT_EQ(metrics.gauge(kBudgetsNotShared).value(), 1);
    EXPECT_EQ(spend(copy, 10), 7) << "its own three are counted, whatever the first one does";
    EXPECT_EQ(sink.count(obs::Level::kWarn, "budgets_not_shared"), 1U);
}

// What can't be read, or is not there any more, is told again; meanwhile nobody spends.
TEST_F(SharedBudgetsTest, FiguresThatWereLostAreToldBeforeAnybodySpends) {
    config.gateway.calls = {};
    config.gateway.calls[index_of(Period::kTotal)] = 10;
    const std::string root = "sluice:budgets:{all}";
    const std::string name = root + ":gateway:total";
    Replica& one = start("aa");
    Replica& other = start("bb");
    come_of_age(one);
    let_tell(one);
    let_tell(other);
    EXPECT_EQ(spend(one, 3), 3);
    EXPECT_EQ(spend(other, 2), 2);
    const std::vector<std::vector<std::vector<std::string>>> damages = {
        {{"HSET", name, "aa", "garbage"}},
        {{"DEL", name}, {"RPUSH", name, "x"}},
        {{"DEL", root}, {"RPUSH", root, "x"}},
        {{"DEL", name}},
    };
    for (const auto& damage : damages) {
        for (const std::vector<std::string>& words : damage) {
            ask(one, words);
        }
        EXPECT_TRUE(spend(other)) << damage.back()[0];
    }
    EXPECT_EQ(spend(one, 5) + spend(other, 5), 1);
    EXPECT_TRUE(sink.contains("a figure is none"));
    EXPECT_FALSE(sink.contains("budgets_not_shared"));
}

// A Redis that was started again on what it had saved has forgotten what was told since.
TEST_F(SharedBudgetsTest, ARedisThatIsOlderIsToldBeforeAnybodySpends) {
    Replica& one = start("aa");
    Replica& other = start("bb");
    come_of_age(one);
    let_tell(one);
    let_tell(other);
    EXPECT_EQ(spend(one, 1), 1);
    EXPECT_EQ(spend(other, 1), 1);
    ask(one, {"SAVE"});
    EXPECT_EQ(spend(one, 5), 5);
    server.kill();
    ASSERT_TRUE(until([&] { return !one.redis->is_up() && !other.redis->is_up(); }));
    server.start();
    ASSERT_TRUE(until([&] { return other.redis->is_up(); }));
    EXPECT_EQ(spend(other, 10), 3);
    EXPECT_TRUE(sink.contains("shared_budgets_lost"));
}

// A Redis that is full can't keep what is spent: each replica has its share of what was left.
TEST_F(SharedBudgetsTest, ARedisThatRefusesLeavesEachItsShare) {
    config.gateway.calls[index_of(Period::kDay)] = 40;
    std::vector<Replica*> three = {&start("aa"), &start("bb"), &start("cc")};
    Replica& strict = start("dd", nullptr, true);
    come_of_age(*three[0]);
    int made = 0;
    for (int i = 0; i < 24; ++i) {
        made += spend(*three[static_cast<std::size_t>(i % 3)]) ? 1 : 0;
    }
    ASSERT_EQ(made, 24);
    ask(strict, {"CONFIG", "SET", "maxmemory", "1"});
    EXPECT_FALSE(spend(strict));
    for (Replica* replica : three) {
        made += spend(*replica, 20);
    }
    EXPECT_GE(made, 36);
    EXPECT_LE(made, 40);
    EXPECT_TRUE(sink.contains("budgets_not_shared"));
    EXPECT_TRUE(sink.contains("OOM"));
    EXPECT_EQ(metrics.gauge(kBudgetsNotShared).value(), 1);
    EXPECT_FALSE(sink.contains("shared_budgets_lost"));
    ask(strict, {"CONFIG", "SET", "maxmemory", "0"});
    for (Replica* replica : three) {
        let_tell(*replica);
    }
    ASSERT_TRUE(until([&] { return metrics.gauge(kBudgetsNotShared).value() == 0; }));
    pass(SharedBudgets::kTellEvery);
    for (Replica* replica : three) {
        made += spend(*replica, 20);
    }
    EXPECT_EQ(made, 40);
}

// Whoever leaves while Redis is asked, or while it is young, is refused nothing.
TEST_F(SharedBudgetsTest, AWaitThatIsCancelledEndsWithNothing) {
    for (const bool is_young : {false, true}) {
        Replica& strict = start(is_young ? "aa" : "bb", nullptr, true);
        const Payer payer;
        if (is_young) {
            ask(strict, {"FLUSHALL"});
        } else {
            come_of_age(strict);
            EXPECT_TRUE(spend(strict));
            server.freeze();
        }
        auto reserved = strict.budgets->reserve({payer, 0, "key", {1, 1, kPrice}});
        auto& reservation = std::get<Reservation>(reserved);
        boost::asio::cancellation_signal leave;
        std::optional<std::optional<BudgetRefusal>> ended;
        bool is_over = false;
        std::exception_ptr thrown;
        boost::asio::co_spawn(
            loop,
            store_result(strict.budgets->cover(reservation, clock.now() + test::kPatience), ended),
            boost::asio::bind_cancellation_slot(leave.slot(), [&](std::exception_ptr error) {
                is_over = true;
                thrown = std::move(error);
            }));
        pass(100ms);
        ASSERT_FALSE(is_over);
        leave.emit(boost::asio::cancellation_type::terminal);
        ASSERT_TRUE(until([&] { return is_over; }));
        if (!is_young) {
            server.resume();
        }
        EXPECT_TRUE(ended.has_value()) << "it threw";
        EXPECT_FALSE(ended && ended->has_value()) << (*ended)->detail;
    }
}

// What was sent first and arrives last replaces nothing.
TEST_F(SharedBudgetsTest, AnOlderFigureReplacesNoLaterOne) {
    Replica& one = start("aa");
    Replica& other = start("bb");
    come_of_age(one);
    EXPECT_EQ(spend(one, 1), 1);
    const std::string name =
        "sluice:budgets:{all}:gateway:" + format_day(utc_day(clock.wall_now()));
    std::vector<std::string> words{"HGET", name, "aa"};
    const std::string figure = run(one.redis->command(std::move(words), Instant::max()))->text;
    const std::string process = figure.substr(figure.find(':', figure.find(':') + 1));
    // As if a telling with a higher number had been quicker.
    ask(one, {"HSET", name, "aa", "8:8000" + process.substr(0, process.rfind(':')) + ":999"});
    EXPECT_EQ(spend(one, 1), 1);
    EXPECT_EQ(spend(other, 10), 2);
}

// Calls that wait to ask take no room from each other: all of what is left is spent.
TEST_F(SharedBudgetsTest, CallsThatWaitTakeNoRoom) {
    std::vector<Replica*> three = {&start("aa"), &start("bb"), &start("cc")};
    for (Replica* replica : three) {
        let_tell(*replica);
    }
    std::vector<std::optional<bool>> made(30);
    for (std::size_t i = 0; i < made.size(); ++i) {
        boost::asio::co_spawn(loop, store_result(spend_later(*three[i % 3]), made[i]),
                              boost::asio::detached);
    }
    ASSERT_TRUE(until([&] {
        return std::ranges::all_of(made, [](const auto& one) { return one.has_value(); });
    }));
    EXPECT_EQ(std::ranges::count(made, std::optional(true)), 10);
}

// A figure that was told while calls asked too early counts none of them for longer than until it
// is told again.
TEST_F(SharedBudgetsTest, CallsThatAskedTooEarlyTakeNoRoom) {
    std::vector<Replica*> two = {&start("aa"), &start("bb")};
    std::vector<std::optional<bool>> made(20);
    for (Replica* replica : two) {
        EXPECT_TRUE(std::holds_alternative<BudgetRefusal>(reserve(*replica, 200ms)));
    }
    for (std::size_t i = 0; i < made.size(); ++i) {
        boost::asio::co_spawn(loop, store_result(spend_later(*two[i % 2]), made[i]),
                              boost::asio::detached);
    }
    for (Replica* replica : two) {
        let_tell(*replica);
    }
    ASSERT_TRUE(until([&] {
        return std::ranges::all_of(made, [](const auto& one) { return one.has_value(); });
    }));
    EXPECT_EQ(std::ranges::count(made, std::optional(true)), 10);
}

// Scripts that were forgotten, and a connection that was lost, change no figure.
TEST_F(SharedBudgetsTest, TellingAgainCountsNothingTwice) {
    Replica& one = start("aa");
    Replica& other = start("bb");
    come_of_age(one);
    let_tell(one);
    EXPECT_EQ(spend(one, 4), 4);
    ask(other, {"SCRIPT", "FLUSH"});
    EXPECT_EQ(spend(other, 2), 2);
    const std::uint64_t connections = one.redis->connections();
    ask(other, {"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
    ASSERT_TRUE(until([&] { return one.redis->connections() > connections; }));
    EXPECT_EQ(spend(one, 10), 4);
}

// Without Redis each replica keeps to the budget by itself, and what it spent counts when it is
// back; where Redis is required it spends nothing.
TEST_F(SharedBudgetsTest, WithoutRedis) {
    Replica& one = start("aa");
    Replica& strict = start("bb", nullptr, true);
    come_of_age(one);
    let_tell(one);
    EXPECT_EQ(spend(one, 4), 4);
    server.kill();
    ASSERT_TRUE(until([&] { return !one.redis->is_up() && !strict.redis->is_up(); }));
    EXPECT_EQ(spend(one, 3), 3);
    EXPECT_FALSE(spend(strict));
    server.start();
    ASSERT_TRUE(until([&] { return one.redis->is_up() && strict.redis->is_up(); }));
    EXPECT_EQ(spend(strict, 10), 3);
}

// Where nothing is limited Redis is not asked.
TEST_F(SharedBudgetsTest, WithoutALimitNothingIsAsked) {
    config.gateway = {};
    Replica& one = start("aa");
    const Payer payer;
    auto reserved = one.budgets->reserve({payer, 0, "key", {1, 1, kPrice}});
    if (auto* reservation = std::get_if<Reservation>(&reserved); !reservation->is_covered()) {
        EXPECT_FALSE(run(one.budgets->cover(*reservation, clock.now() + test::kPatience)));
    }
    EXPECT_EQ(run(one.redis->command({"DBSIZE"}, Instant::max())).value().integer, 0);
}

}  // namespace
}  // namespace sluice::access
