#include "access/budget.h"

#include "access/metrics.h"
#include "base/random.h"
#include "unit/access/budget_harness.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::access {
namespace {

using namespace std::chrono_literals;

BudgetConfig provider_limits(Limits limits) {
    BudgetConfig config;
    config.providers.resize(2);
    config.providers[BudgetHarness::kSerper] = limits;
    return config;
}

// Every call is in the books of the gateway, its provider, its token and its key.
TEST(Budgets, ACallIsInFourBooks) {
    BudgetHarness h;
    ASSERT_TRUE(h.spend(token("t1")));
    h.stop();
    const Spent one{1, 1, BudgetHarness::kPrice};
    EXPECT_EQ(h.store.total(Purse::kGateway), one);
    EXPECT_EQ(h.store.total(Purse::kProvider, "serper"), one);
    EXPECT_EQ(h.store.total(Purse::kToken, "t1"), one);
    EXPECT_EQ(h.store.total(Purse::kKey, "k1"), one);
    EXPECT_EQ(h.store.total(Purse::kProvider, "exa"), Spent());
}

// Each of the four has its own budget, and the refusal names the setting and the time.
TEST(Budgets, EveryPurseHasItsBudget) {
    BudgetConfig config = provider_limits(calls_per(Period::kDay, 1));
    config.token_default = usd_per(Period::kMonth, 2 * BudgetHarness::kPrice);
    config.key_default = calls_per(Period::kTotal, 3);
    BudgetHarness h(config);
    ASSERT_TRUE(h.spend(token("t1")));
    EXPECT_EQ(h.refused(token("t2")).detail,
              "budgets.providers.serper.calls_day has no room for this call until "
              "2026-01-02T00:00:00Z");
    ASSERT_TRUE(h.spend(token("t1"), BudgetHarness::kExa, "k2"));
    EXPECT_EQ(h.refused(token("t1"), BudgetHarness::kExa, "k2").detail,
              "the token's usd_month has no room for this call until 2026-02-01T00:00:00Z");
    ASSERT_TRUE(h.spend(token("t2"), BudgetHarness::kExa, "k2"));
    ASSERT_TRUE(h.spend(token("t2"), BudgetHarness::kExa, "k2"));
    const BudgetRefusal key = h.refused(token("t3"), BudgetHarness::kExa, "k2");
    EXPECT_EQ(key.detail, "budgets.key_default.calls_total has no room for this call");
    EXPECT_EQ(key.resets_at, std::nullopt);
    EXPECT_TRUE(h.spend(token("t3"), BudgetHarness::kExa, "k3"));
    EXPECT_EQ(h.metrics.counter(kBudgetRefused, {"provider"}).value(), 1);
    EXPECT_EQ(h.metrics.counter(kBudgetRefused, {"token"}).value(), 1);
    EXPECT_EQ(h.metrics.counter(kBudgetRefused, {"key"}).value(), 1);
}

// All callers without a token share one budget; tokens have nothing to do with it.
TEST(Budgets, AnonymousCallersShareOne) {
    BudgetConfig config;
    config.anonymous = calls_per(Period::kDay, 1);
    BudgetHarness h(config);
    EXPECT_TRUE(h.spend());
    EXPECT_EQ(h.refused().detail,
              "budgets.anonymous.calls_day has no room for this call until 2026-01-02T00:00:00Z");
    EXPECT_TRUE(h.spend(token("t1")));
}

// A token's own budget goes before the default.
TEST(Budgets, ATokenMayHaveItsOwn) {
    BudgetConfig config;
    config.token_default = calls_per(Period::kDay, 5);
    BudgetHarness h(config);
    Payer payer = token("t1");
    payer.limits.calls[index_of(Period::kDay)] = 1;
    EXPECT_TRUE(h.spend(payer));
    EXPECT_FALSE(h.spend(payer));
    payer.limits.calls[index_of(Period::kDay)] = 0;
    EXPECT_TRUE(h.spend(payer));
}

// Of many that ask at once exactly as many get through as there is money for, and the others are
// told at once, without waiting for any of them.
TEST(Budgets, ParallelCallsNeverOverrun) {
    BudgetHarness h(provider_limits(usd_per(Period::kDay, 10 * BudgetHarness::kPrice)));
    std::vector<Reservation> held;
    int refused = 0;
    for (int i = 0; i < 500; ++i) {
        auto ready = h.reserve(token("t" + std::to_string(i)));
        if (auto* reservation = std::get_if<Reservation>(&ready)) {
            held.push_back(std::move(*reservation));
        } else {
            refused += 1;
        }
    }
    EXPECT_EQ(held.size(), 10U);
    EXPECT_EQ(refused, 490);
    EXPECT_EQ(h.metrics.gauge(kBudgetReservations).value(), 10);
}

// What is dropped before it was sent was never spent; what is dropped after that was.
TEST(Budgets, ADroppedReservationCountsOnlyWhenItWasSent) {
    BudgetHarness h(provider_limits(calls_per(Period::kDay, 1)));
    {
        const auto dropped = h.reserve({});
    }
    {
        auto sent = h.reserve({});
        ASSERT_TRUE(std::holds_alternative<Reservation>(sent));
        std::get<Reservation>(sent).mark_sent();
    }
    EXPECT_FALSE(h.spend());
    h.stop();
    EXPECT_EQ(h.store.total(Purse::kGateway), (Spent{1, 1, BudgetHarness::kPrice}));
    EXPECT_EQ(h.metrics.gauge(kBudgetReservations).value(), 0);
}

// A call that the provider charges nothing for gives its money back, and what it says it charged
// counts, not what was expected.
TEST(Budgets, TheRealCostCounts) {
    BudgetHarness h(provider_limits(usd_per(Period::kDay, 10'000)));
    auto failed = h.reserve({});
    std::get<Reservation>(failed).mark_sent();
    std::move(std::get<Reservation>(failed)).settle(std::nullopt);
    EXPECT_EQ(h.budgets->provider(BudgetHarness::kSerper).spent[0], Spent());

    auto dear = h.reserve({});
    std::move(std::get<Reservation>(dear)).settle(Spent{1, 4, 9'500});
    EXPECT_EQ(h.budgets->provider(BudgetHarness::kSerper).spent[0], (Spent{1, 4, 9'500}));
    EXPECT_FALSE(h.spend());
    EXPECT_DOUBLE_EQ(h.metrics.counter(kSpendUsd, {"serper"}).value(), 0.0095);
    EXPECT_EQ(h.metrics.counter(kSpendUnits, {"serper"}).value(), 4);
    // More than the store knew of: it is told at once.
    test::run_ready(h.io);
    EXPECT_GE(h.store.total(Purse::kProvider, "serper").micro_usd, 9'500);
}

// A provider that charges more than was reserved can pass a limit of money by that surcharge alone:
// once, for what was under way. It shows, by whose budget and by how much.
TEST(Budgets, ASurchargePastALimitShows) {
    BudgetConfig config = provider_limits(usd_per(Period::kDay, 3'000));
    config.gateway = usd_per(Period::kTotal, 10'000);
    BudgetHarness h(config);
    ASSERT_TRUE(h.spend());
    std::vector<Reservation> under_way;
    for (int i = 0; i < 2; ++i) {
        auto ready = h.reserve({});
        under_way.push_back(std::move(std::get<Reservation>(ready)));
    }
    for (Reservation& call : under_way) {
        std::move(call).settle(Spent{1, 2, 2 * BudgetHarness::kPrice});
    }
    EXPECT_FALSE(h.spend());
    EXPECT_EQ(h.budgets->provider(BudgetHarness::kSerper).spent[0].micro_usd, 5'000);
    EXPECT_DOUBLE_EQ(h.metrics.counter(kBudgetOverrun, {"provider"}).value(), 0.002);
    EXPECT_EQ(h.metrics.counter(kBudgetOverrun, {"gateway"}).value(), 0);
    EXPECT_EQ(h.sink.count(obs::Level::kWarn, "budget_overrun"), 1U);
}

// What was spent under a larger limit is no overrun of the smaller one that follows.
TEST(Budgets, ALoweredLimitIsNoOverrun) {
    BudgetHarness h(provider_limits(usd_per(Period::kDay, 3'000)));
    auto ready = h.reserve({});
    ASSERT_TRUE(h.spend());
    h.budgets->reconfigure(provider_limits(usd_per(Period::kDay, 500)));
    std::move(std::get<Reservation>(ready)).settle(Spent{1, 1, BudgetHarness::kPrice});
    EXPECT_EQ(h.metrics.counter(kBudgetOverrun, {"provider"}).value(), 0);
}

// A day's budget is back at midnight UTC, not before.
TEST(Budgets, AMidnightGivesTheDaysBudgetBack) {
    BudgetHarness h(provider_limits(calls_per(Period::kDay, 1)));
    EXPECT_TRUE(h.spend());
    h.clock.set_wall(h.clock.wall_now() + 24h - 1us);
    EXPECT_FALSE(h.spend());
    h.clock.set_wall(h.clock.wall_now() + 1us);
    EXPECT_TRUE(h.spend());
}

// The dry run says what the real one would, and keeps nothing.
TEST(Budgets, ADryRunReservesNothing) {
    BudgetHarness h(provider_limits(calls_per(Period::kDay, 1)));
    const Payer payer;
    const Purchase purchase{payer, BudgetHarness::kSerper, "k1", {1, 1, 5}};
    EXPECT_FALSE(h.budgets->would_refuse(purchase));
    EXPECT_FALSE(h.budgets->would_refuse(purchase));
    ASSERT_TRUE(h.spend());
    EXPECT_EQ(h.budgets->would_refuse(purchase)->detail, h.refused().detail);
}

// A killed process has written down at least what it spent, from its very first call on.
TEST(Budgets, AKilledProcessForgetsNothing) {
    for (int calls : {1, 2, 17, 40}) {
        BudgetHarness h(provider_limits(calls_per(Period::kTotal, 1'000)));
        for (int i = 0; i < calls; ++i) {
            ASSERT_TRUE(h.spend());
        }
        BudgetHarness after(provider_limits(calls_per(Period::kTotal, 1'000)), &h);
        const Spent spent = after.budgets->provider(BudgetHarness::kSerper).spent[2];
        EXPECT_GE(spent.calls, calls);
        EXPECT_LE(spent.calls, calls + 10);  // a hundredth of the budget
    }
}

// A process that ends in order leaves exact figures.
TEST(Budgets, AnOrderlyEndLeavesExactFigures) {
    BudgetHarness h;
    for (int i = 0; i < 7; ++i) {
        ASSERT_TRUE(h.spend(token("t1")));
    }
    h.stop();
    BudgetHarness after({}, &h);
    EXPECT_EQ(after.budgets->provider(BudgetHarness::kSerper).spent[0],
              (Spent{7, 7, 7 * BudgetHarness::kPrice}));
}

// A quiet account gives its block back, so that a crash then loses nothing at all, and nothing is
// written any more.
TEST(Budgets, AQuietAccountGivesItsBlockBack) {
    BudgetHarness h;
    ASSERT_TRUE(h.spend());
    EXPECT_GT(h.store.total(Purse::kProvider, "serper").calls, 1);
    for (int i = 0; i < 70; ++i) {
        h.advance(1s);
    }
    EXPECT_EQ(h.store.total(Purse::kProvider, "serper").calls, 1);
    EXPECT_EQ(h.clock.sleepers(), 0U);
    const std::size_t writes = h.store.writes;
    h.advance(1h);
    EXPECT_EQ(h.store.writes, writes);
}

// While the store is away a call that has a budget is not made, one that has none is, one line and
// one gauge say so; and when the store is back all is well.
TEST(Budgets, ALostStoreRefusesOnlyWhatHasABudget) {
    BudgetHarness h(provider_limits(calls_per(Period::kDay, 100)));
    h.store.away = true;
    EXPECT_EQ(h.refused().detail,
              "spending can't be written down, and budgets.on_store_loss is refuse");
    EXPECT_FALSE(h.refused().budget);
    EXPECT_TRUE(h.spend({}, BudgetHarness::kExa));
    EXPECT_EQ(h.metrics.gauge(kBudgetStoreLost).value(), 1);
    EXPECT_EQ(h.metrics.counter(kBudgetRefused, {"store"}).value(), 2);
    EXPECT_EQ(h.sink.count(obs::Level::kWarn, "budget_store_lost"), 1U);
    h.store.away = false;
    h.advance(1s);
    EXPECT_EQ(h.metrics.gauge(kBudgetStoreLost).value(), 0);
    EXPECT_TRUE(h.spend());
    h.stop();
    EXPECT_EQ(h.store.total(Purse::kProvider, "serper").calls, 1);
    EXPECT_EQ(h.store.total(Purse::kProvider, "exa").calls, 1);
}

// The operator may prefer searching to counting; the budget holds in memory all the same.
TEST(Budgets, ALostStoreMayBeAllowed) {
    BudgetConfig config = provider_limits(calls_per(Period::kDay, 2));
    config.on_store_loss = OnStoreLoss::kAllow;
    BudgetHarness h(config);
    h.store.away = true;
    EXPECT_TRUE(h.spend());
    EXPECT_TRUE(h.spend());
    EXPECT_FALSE(h.spend());
    h.store.away = false;
    h.advance(1s);
    EXPECT_EQ(h.store.total(Purse::kProvider, "serper").calls, 2);
}

// A store that hangs holds a call up for a quarter of a second, and the next one not at all.
TEST(Budgets, AHangingStoreHoldsNobodyUpForLong) {
    BudgetHarness h;
    h.store.write_time = 10s;
    const Instant before = h.clock.now();
    EXPECT_TRUE(h.spend());
    EXPECT_EQ(h.clock.now() - before, Duration(guard::kMaxWriteWait));
    EXPECT_TRUE(h.spend());
    EXPECT_EQ(h.clock.now() - before, Duration(guard::kMaxWriteWait));
    EXPECT_EQ(h.metrics.gauge(kBudgetStoreLost).value(), 1);
}

// Whoever leaves while the store is written to is refused nothing, and nobody has vouched for it.
TEST(Budgets, AWaitThatIsCancelledCoversNothing) {
    BudgetHarness h;
    h.store.write_time = 100ms;
    const Payer payer;
    auto ready = h.budgets->reserve({payer, BudgetHarness::kSerper, "k1", {1, 1, 1}});
    auto& reservation = std::get<Reservation>(ready);
    ASSERT_FALSE(reservation.is_covered());
    boost::asio::cancellation_signal leave;
    std::optional<std::optional<BudgetRefusal>> ended;
    boost::asio::co_spawn(
        h.io, store_result(h.budgets->cover(reservation, h.clock.now() + 10s), ended),
        boost::asio::bind_cancellation_slot(leave.slot(), [](const std::exception_ptr&) {}));
    test::run_ready(h.io);
    leave.emit(boost::asio::cancellation_type::terminal);
    test::run_ready(h.io);
    ASSERT_TRUE(ended.has_value());
    EXPECT_FALSE(ended->has_value());
    EXPECT_FALSE(reservation.is_covered());
}

// A report from a store that hangs says so at once.
TEST(Budgets, AHangingStoreIsNotReportedFrom) {
    BudgetHarness h;
    h.store.write_time = 60s;
    EXPECT_TRUE(h.spend());
    const Instant asked = h.clock.now();
    const auto usage = h.run(h.budgets->usage({}));
    ASSERT_FALSE(usage.ok());
    EXPECT_EQ(usage.error().code, Code::kUnavailable);
    EXPECT_EQ(h.clock.now(), asked);
}

// However many accounts are waited for at once, a write takes a bounded number of them, and each
// call goes on with the write that its own accounts are in.
TEST(Budgets, AWriteIsBoundedHoweverManyWait) {
    BudgetConfig config;
    config.token_default = calls_per(Period::kDay, 1'000);
    BudgetHarness h(config);
    h.store.write_time = 1ms;
    constexpr std::size_t kTokens = 4 * kMaxAccountsPerWrite;
    std::vector<Reservation> calls;
    for (std::size_t i = 0; i < kTokens; ++i) {
        const Payer payer = token("t" + std::to_string(i));
        auto ready = h.budgets->reserve({payer, BudgetHarness::kSerper, "k1", {1, 1, 1}});
        ASSERT_TRUE(std::holds_alternative<Reservation>(ready));
        calls.push_back(std::move(std::get<Reservation>(ready)));
    }
    const Instant until = h.clock.now() + 10s;
    for (std::size_t i = 0; i < kTokens; ++i) {
        ASSERT_FALSE(h.run(h.budgets->cover(calls[i], until))) << i;
        EXPECT_GE(h.store.total(Purse::kToken, "t" + std::to_string(i)).calls, 1);
    }
    EXPECT_LE(h.store.most_rows, 2 * kMaxAccountsPerWrite);
    EXPECT_EQ(h.metrics.gauge(kBudgetStoreLost).value(), 0);
}

// Under a steady load, whenever it began and however evenly the calls come, nobody waits for the
// store: it is written to as often as its interval says.
TEST(Budgets, ASteadyLoadIsWrittenOnceASecond) {
    constexpr std::size_t kCalls = 1'000;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        for (const Millis interval : {2ms, 10ms, 80ms}) {
            SeededRandom random(seed);
            BudgetConfig config = provider_limits(calls_per(Period::kDay, 1'000'000));
            config.key_default = calls_per(Period::kMonth, 1'000'000);
            BudgetHarness h(config);
            const Instant begun = h.clock.now();
            for (std::size_t i = 0; i < kCalls; ++i) {
                ASSERT_TRUE(h.spend(token("t1")));
                h.advance(Millis(random.below(static_cast<std::uint64_t>(2 * interval.count()))));
            }
            const auto seconds =
                static_cast<std::size_t>((h.clock.now() - begun) / Millis(kSpendWriteInterval));
            EXPECT_LE(h.store.writes, seconds + 8)
                << "seed " << seed << ", " << interval.count() << " ms";
        }
    }
}

// A report has what was spent to the last call, although the store runs ahead.
TEST(Budgets, AReportIsExact) {
    BudgetHarness h;
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(h.spend(token("t1")));
    }
    ASSERT_TRUE(h.spend(token("t2"), BudgetHarness::kExa));
    UsageQuery query;
    query.since = query.until = utc_day(h.clock.wall_now());
    const Usage usage = h.run(h.budgets->usage(query)).value();
    ASSERT_EQ(usage.rows.size(), 2U);
    EXPECT_EQ(usage.rows[0].account.id, "exa");
    EXPECT_EQ(usage.rows[0].spent.calls, 1);
    EXPECT_EQ(usage.rows[1].spent.calls, 3);
    EXPECT_EQ(usage.sum, (Spent{4, 4, 4 * BudgetHarness::kPrice}));

    h.store.away = true;
    ASSERT_TRUE(h.spend({}, BudgetHarness::kExa));
    EXPECT_EQ(h.run(h.budgets->usage(query)).error().code, Code::kUnavailable);
}

// Days that are older than the limit are forgotten at the start and on every day that follows.
TEST(Budgets, OldDaysAreForgotten) {
    BudgetHarness h;
    const UtcDay today = utc_day(h.clock.wall_now());
    EXPECT_EQ(h.store.forgotten, std::vector{today - kUsageKept});
    ASSERT_TRUE(h.spend());
    h.clock.set_wall(h.clock.wall_now() + 24h);
    ASSERT_TRUE(h.spend());
    h.advance(1s);
    EXPECT_EQ(h.store.forgotten.size(), 2U);
}

// Limits that a reload brings hold for the next call.
TEST(Budgets, AReloadChangesLimits) {
    BudgetHarness h;
    ASSERT_TRUE(h.spend());
    h.budgets->reconfigure(provider_limits(calls_per(Period::kDay, 1)));
    EXPECT_FALSE(h.spend());
    h.budgets->reconfigure(provider_limits(calls_per(Period::kDay, 2)));
    EXPECT_TRUE(h.spend());
}

// A reservation that outlives its budgets is no harm to anybody.
TEST(Budgets, AReservationMayOutliveThem) {
    BudgetHarness h;
    auto late = h.reserve({});
    h.stop();
    EXPECT_EQ(h.metrics.gauge(kBudgetReservations).value(), 1);
    std::move(std::get<Reservation>(late)).settle(Spent{1, 1, 1});
    EXPECT_EQ(h.metrics.gauge(kBudgetReservations).value(), 0);
    EXPECT_EQ(h.metrics.counter(kSpendUnits, {"serper"}).value(), 1);
}

}  // namespace
}  // namespace sluice::access
