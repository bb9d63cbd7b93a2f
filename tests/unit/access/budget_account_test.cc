#include "access/budget_account.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace sluice::access {
namespace {

using namespace std::chrono;
using namespace std::chrono_literals;

const UtcDay kToday = 2026y / November / 30;
const Instant kNow = Instant(1'000'000s);

AccountName provider() {
    AccountName name;
    name.purse = Purse::kProvider;
    name.id = "serper";
    return name;
}

Limits calls_a_day(std::int64_t calls) {
    Limits limits;
    limits.calls[index_of(Period::kDay)] = calls;
    return limits;
}

Limits usd_a_month(std::int64_t micro_usd) {
    Limits limits;
    limits.micro_usd[index_of(Period::kMonth)] = micro_usd;
    return limits;
}

Spent costing(std::int64_t micro_usd) {
    return {1, 1, micro_usd};
}

std::vector<SpendRow> write(BudgetAccount& account, Ahead ahead) {
    std::vector<SpendRow> rows;
    account.begin_write(ahead, rows);
    account.end_write(true);
    return rows;
}

// The last call that fits is made and the one after it is not, whether the others are over or still
// under way.
TEST(BudgetAccount, ALimitOfCallsIsExact) {
    BudgetAccount account(provider(), {}, kToday);
    const Limits limits = calls_a_day(2);
    account.hold(costing(1'000), kToday, kNow);
    account.book(costing(1'000), {1, 1, 1'000}, kToday);
    EXPECT_FALSE(account.shortage(limits, 1'000, kToday));
    account.hold(costing(1'000), kToday, kNow);
    const auto shortage = account.shortage(limits, 1'000, kToday);
    ASSERT_TRUE(shortage);
    EXPECT_EQ(shortage->period, Period::kDay);
    EXPECT_EQ(shortage->measure, Measure::kCalls);
    EXPECT_EQ(shortage->limit, 2);
}

// Money may be spent to the last millionth, and one call never passes what is left.
TEST(BudgetAccount, ALimitOfMoneyIsExact) {
    BudgetAccount account(provider(), {}, kToday);
    const Limits limits = usd_a_month(10'000);
    account.hold(costing(7'000), kToday, kNow);
    EXPECT_FALSE(account.shortage(limits, 3'000, kToday));
    const auto shortage = account.shortage(limits, 3'001, kToday);
    ASSERT_TRUE(shortage);
    EXPECT_EQ(shortage->measure, Measure::kMicroUsd);
    account.release(costing(7'000));
    EXPECT_FALSE(account.shortage(limits, 10'000, kToday));
}

// A new day gives the day's budget back and no other; a new month the month's too.
TEST(BudgetAccount, PeriodsEndAtTheirOwnTime) {
    BudgetAccount account(provider(), {}, kToday);
    account.hold(costing(5), kToday, kNow);
    account.book(costing(5), {1, 1, 5}, kToday);
    const UtcDay tomorrow = 2026y / December / 1;
    EXPECT_EQ(account.spent(Period::kDay, tomorrow).calls, 0);
    EXPECT_EQ(account.spent(Period::kMonth, tomorrow).calls, 0);
    EXPECT_EQ(account.spent(Period::kTotal, tomorrow).calls, 1);

    BudgetAccount earlier(provider(), {}, 2026y / November / 29);
    earlier.hold(costing(5), 2026y / November / 29, kNow);
    earlier.book(costing(5), {1, 1, 5}, 2026y / November / 29);
    EXPECT_EQ(earlier.spent(Period::kDay, kToday).calls, 0);
    EXPECT_EQ(earlier.spent(Period::kMonth, kToday).calls, 1);
}

// A call that goes on past midnight is counted on the day that it ends, and only there.
TEST(BudgetAccount, ACallPastMidnightIsCountedOnce) {
    BudgetAccount account(provider(), {}, kToday);
    account.hold(costing(5), kToday, kNow);
    write(account, Ahead::kBlock);
    const UtcDay tomorrow = 2026y / December / 1;
    account.book(costing(5), {1, 1, 5}, tomorrow);
    const std::vector<SpendRow> rows = write(account, Ahead::kExact);
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].day, kToday);
    EXPECT_EQ(rows[0].on_day, Spent());
    EXPECT_EQ(rows[1].day, tomorrow);
    EXPECT_EQ(rows[1].on_day, (Spent{1, 1, 5}));
    EXPECT_EQ(rows[1].in_all, (Spent{1, 1, 5}));
}

// A clock that goes back gives nobody a second budget for the same day.
TEST(BudgetAccount, AClockThatGoesBackGivesNothing) {
    BudgetAccount account(provider(), {}, kToday);
    account.hold(costing(5), kToday, kNow);
    account.book(costing(5), {1, 1, 5}, kToday);
    const UtcDay yesterday = kToday - days(1);
    EXPECT_TRUE(account.shortage(calls_a_day(1), 5, yesterday));
    account.hold(costing(5), yesterday, kNow);
    account.book(costing(5), {1, 1, 5}, yesterday);
    const std::vector<SpendRow> rows = write(account, Ahead::kExact);
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].day, kToday);
    EXPECT_EQ(rows[0].on_day, (Spent{2, 2, 10}));
}

// Spending needs a write only when a block is used up: until then the store's figure is not less.
TEST(BudgetAccount, ABlockVouchesForFurtherCalls) {
    BudgetAccount account(provider(), {}, kToday);
    account.hold(costing(10), kToday, kNow);
    EXPECT_FALSE(account.is_vouched_for());
    const std::vector<SpendRow> rows = write(account, Ahead::kBlock);
    EXPECT_EQ(rows.at(0).on_day.calls, 1 + guard::kMinBlockCalls);
    EXPECT_EQ(rows.at(0).in_all.micro_usd, 10 * (1 + guard::kMinBlockCalls));
    for (std::int64_t i = 0; i < guard::kMinBlockCalls; ++i) {
        account.hold(costing(10), kToday, kNow);
        EXPECT_TRUE(account.is_vouched_for()) << i;
    }
    account.hold(costing(10), kToday, kNow);
    EXPECT_FALSE(account.is_vouched_for());
    // Who spends fast gets a larger one.
    EXPECT_EQ(write(account, Ahead::kBlock).at(0).on_day.calls,
              (guard::kMinBlockCalls + 2) + 2 * (guard::kMinBlockCalls + 1));
}

// A write soon after another one, for whatever reason, does not make the block small again; a load
// that falls does.
TEST(BudgetAccount, ABlockFollowsTheLoadNotTheWrites) {
    BudgetAccount account(provider(), {}, kToday);
    const auto block_after = [&](int calls) {
        for (int i = 0; i < calls; ++i) {
            account.hold(costing(10), kToday, kNow);
            account.book(costing(10), {1, 1, 10}, kToday);
        }
        const std::vector<SpendRow> rows = write(account, Ahead::kBlock);
        return rows.at(0).on_day.calls - account.spent(Period::kDay, kToday).calls;
    };
    EXPECT_EQ(block_after(100), 200);
    EXPECT_EQ(block_after(1), 150);
    EXPECT_EQ(block_after(100), 200);
    for (int i = 0; i < 20; ++i) {
        block_after(1);
    }
    EXPECT_EQ(block_after(1), guard::kMinBlockCalls);
}

// A crash costs at most a hundredth of a budget, and the store never says more than the budget.
TEST(BudgetAccount, ABlockIsASmallPartOfABudget) {
    BudgetAccount account(provider(), {}, kToday);
    account.set_limits(calls_a_day(500));
    account.hold(costing(10), kToday, kNow);
    EXPECT_EQ(write(account, Ahead::kBlock).at(0).on_day.calls, 1 + 5);

    account.set_limits(calls_a_day(3));
    EXPECT_EQ(write(account, Ahead::kBlock).at(0).on_day.calls, 1);

    BudgetAccount money(provider(), {}, kToday);
    money.set_limits(usd_a_month(100'000));
    money.hold(costing(300), kToday, kNow);
    EXPECT_EQ(write(money, Ahead::kBlock).at(0).on_day, (Spent{4, 4, 1'200}));
}

// While a smaller figure is being written the store vouches for that one only, and a write that
// failed leaves it so: nobody knows which of the two it holds.
TEST(BudgetAccount, AFailedWriteVouchesForTheLesserFigure) {
    BudgetAccount account(provider(), {}, kToday);
    account.hold(costing(10), kToday, kNow);
    write(account, Ahead::kBlock);
    std::vector<SpendRow> rows;
    account.begin_write(Ahead::kExact, rows);
    account.hold(costing(10), kToday, kNow);
    EXPECT_FALSE(account.is_vouched_for());
    account.end_write(false);
    EXPECT_FALSE(account.is_vouched_for());
    EXPECT_TRUE(account.is_changed());
}

// What nobody limits and no bill is compared with costs no write before a call.
TEST(BudgetAccount, AnUnlimitedTokenNeedsNoVouching) {
    AccountName name;
    name.purse = Purse::kToken;
    BudgetAccount account(name, {}, kToday);
    EXPECT_FALSE(account.needs_vouching());
    account.set_limits(calls_a_day(1));
    EXPECT_TRUE(account.needs_vouching());
}

}  // namespace
}  // namespace sluice::access
