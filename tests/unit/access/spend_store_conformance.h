// What every SpendStore promises, as one suite. A backend instantiates it with a type of its own:
//
//     struct Backend {
//         SpendStore& store();
//         template <class T> T run(Task<T> task);  // to its end
//     };
//     INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, SpendStoreConformance, Backend);
#pragma once

#include "access/spend_store.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace sluice::access {

using namespace std::chrono;

inline const UtcDay kToday = 2026y / November / 30;

inline SpendRow spend_row(Purse purse, std::string id, UtcDay day, Spent on_day, Spent in_all) {
    SpendRow made;
    made.account.purse = purse;
    made.account.id = std::move(id);
    made.account.provider = purse == Purse::kKey ? "serper" : "";
    made.day = day;
    made.on_day = on_day;
    made.in_all = in_all;
    return made;
}

template <class Backend>
class SpendStoreConformance : public testing::Test {
 protected:
    template <class T>
    T run(Task<T> task) {
        return backend_.run(std::move(task));
    }
    SpendStore& store() { return backend_.store(); }
    void write(std::vector<SpendRow> rows) {
        const Status written = run(store().write(std::move(rows)));
        ASSERT_TRUE(written.ok()) << written.error().message;
    }
    Usage usage(UsageQuery query) { return run(store().usage(std::move(query))).value(); }

    Backend backend_;
};

TYPED_TEST_SUITE_P(SpendStoreConformance);

// What was written comes back summed up by period; only the month's days are in the month.
TYPED_TEST_P(SpendStoreConformance, BalancesAreByPeriod) {
    this->write(
        {spend_row(Purse::kProvider, "serper", 2026y / October / 31, {5, 5, 50}, {5, 5, 50}),
         spend_row(Purse::kProvider, "serper", 2026y / November / 1, {3, 3, 30}, {8, 8, 80}),
         spend_row(Purse::kProvider, "serper", kToday, {1, 1, 10}, {9, 9, 90}),
         spend_row(Purse::kKey, "k1", kToday, {1, 1, 10}, {1, 1, 10})});
    const auto balances = this->run(this->store().load(kToday)).value();
    ASSERT_EQ(balances.size(), 2U);
    EXPECT_EQ(balances[0].account, (AccountName{Purse::kKey, "k1", "serper"}));
    EXPECT_EQ(balances[1].account, (AccountName{Purse::kProvider, "serper", ""}));
    EXPECT_EQ(balances[1].spent[index_of(Period::kDay)], (Spent{1, 1, 10}));
    EXPECT_EQ(balances[1].spent[index_of(Period::kMonth)], (Spent{4, 4, 40}));
    EXPECT_EQ(balances[1].spent[index_of(Period::kTotal)], (Spent{9, 9, 90}));
}

// Writing again replaces; and figures of days to come count for today, so that a clock that went
// back gives no second budget.
TYPED_TEST_P(SpendStoreConformance, FiguresAreReplaced) {
    this->write({spend_row(Purse::kToken, "t1", kToday, {9, 9, 9}, {9, 9, 9})});
    this->write({spend_row(Purse::kToken, "t1", kToday, {2, 2, 2}, {2, 2, 2})});
    EXPECT_EQ(this->run(this->store().load(kToday)).value().at(0).spent[index_of(Period::kTotal)],
              (Spent{2, 2, 2}));
    EXPECT_EQ(
        this->run(this->store().load(kToday - days(3))).value().at(0).spent[index_of(Period::kDay)],
        (Spent{2, 2, 2}));
}

// A report has one row an account, the dearest first, or one row a day; both end where asked.
TYPED_TEST_P(SpendStoreConformance, ReportsByAccountAndByDay) {
    const UtcDay yesterday = kToday - days(1);
    this->write({spend_row(Purse::kToken, "t1", yesterday, {1, 1, 10}, {1, 1, 10}),
                 spend_row(Purse::kToken, "t1", kToday, {2, 2, 20}, {3, 3, 30}),
                 spend_row(Purse::kToken, "t2", kToday, {1, 4, 40}, {1, 4, 40}),
                 spend_row(Purse::kProvider, "exa", kToday, {3, 6, 60}, {3, 6, 60}),
                 spend_row(Purse::kToken, "t2", kToday - days(40), {7, 7, 70}, {8, 11, 110})});
    UsageQuery query;
    query.purse = Purse::kToken;
    query.since = yesterday;
    query.until = kToday;
    const Usage by_account = this->usage(query);
    ASSERT_EQ(by_account.rows.size(), 2U);
    EXPECT_EQ(by_account.rows[0].account.id, "t2");
    EXPECT_EQ(by_account.rows[0].spent, (Spent{1, 4, 40}));
    EXPECT_EQ(by_account.rows[1].spent, (Spent{3, 3, 30}));
    EXPECT_EQ(by_account.sum, (Spent{4, 7, 70}));
    EXPECT_FALSE(by_account.truncated);

    query.group = UsageQuery::Group::kDay;
    const Usage by_day = this->usage(query);
    ASSERT_EQ(by_day.rows.size(), 2U);
    EXPECT_EQ(by_day.rows[0].day, yesterday);
    EXPECT_EQ(by_day.rows[1].spent, (Spent{3, 6, 60}));

    query.id = "t1";
    const Usage of_one = this->usage(query);
    EXPECT_EQ(of_one.rows.at(1).spent, (Spent{2, 2, 20}));
    EXPECT_EQ(of_one.sum, (Spent{3, 3, 30}));
}

// An empty report is a report.
TYPED_TEST_P(SpendStoreConformance, NothingSpentIsNoError) {
    UsageQuery query;
    query.since = query.until = kToday;
    EXPECT_TRUE(this->usage(query).rows.empty());
    EXPECT_EQ(this->usage(query).sum, Spent());
    EXPECT_TRUE(this->run(this->store().load(kToday)).value().empty());
}

// A report is bounded, says that it was cut, and still has the whole sum.
TYPED_TEST_P(SpendStoreConformance, ALongReportIsCut) {
    std::vector<SpendRow> rows;
    for (std::size_t i = 0; i <= kMaxUsageRows; ++i) {
        rows.push_back(
            spend_row(Purse::kKey, "k" + std::to_string(i), kToday, {1, 1, 1}, {1, 1, 1}));
    }
    this->write(std::move(rows));
    UsageQuery query;
    query.purse = Purse::kKey;
    query.since = query.until = kToday;
    const Usage cut = this->usage(query);
    EXPECT_EQ(cut.rows.size(), kMaxUsageRows);
    EXPECT_TRUE(cut.truncated);
    EXPECT_EQ(cut.sum.calls, static_cast<std::int64_t>(kMaxUsageRows) + 1);
}

// Old days go, the totals that they were part of stay.
TYPED_TEST_P(SpendStoreConformance, ForgettingKeepsTotals) {
    this->write({spend_row(Purse::kGateway, "", kToday - days(2), {1, 1, 1}, {1, 1, 1}),
                 spend_row(Purse::kGateway, "", kToday, {1, 1, 1}, {2, 2, 2})});
    ASSERT_TRUE(this->run(this->store().forget_before(kToday)).ok());
    UsageQuery query;
    query.purse = Purse::kGateway;
    query.since = kToday - days(9);
    query.until = kToday;
    EXPECT_EQ(this->usage(query).sum.calls, 1);
    EXPECT_EQ(
        this->run(this->store().load(kToday)).value().at(0).spent[index_of(Period::kTotal)].calls,
        2);
}

// Old days go in pieces, so that a call's write never waits behind all of them.
TYPED_TEST_P(SpendStoreConformance, ForgetsInPieces) {
    std::vector<SpendRow> rows;
    for (std::size_t i = 0; i <= kForgottenAtOnce; ++i) {
        rows.push_back(spend_row(Purse::kKey, "k" + std::to_string(i), kToday - days(2), {1, 1, 1},
                                 {1, 1, 1}));
    }
    this->write(std::move(rows));
    EXPECT_EQ(this->run(this->store().forget_before(kToday)).value(), kForgottenAtOnce);
    EXPECT_EQ(this->run(this->store().forget_before(kToday)).value(), 1U);
    EXPECT_EQ(this->run(this->store().forget_before(kToday)).value(), 0U);
}

// However many keys ever spent something, a provider's books are found again.
TYPED_TEST_P(SpendStoreConformance, ManyKeysPushNobodyElseOut) {
    std::vector<SpendRow> rows;
    for (std::size_t i = 0; i <= kMaxAccounts; ++i) {
        rows.push_back(
            spend_row(Purse::kKey, "k" + std::to_string(i), kToday, {1, 1, 1}, {1, 1, 1}));
    }
    rows.push_back(spend_row(Purse::kProvider, "serper", kToday, {7, 7, 7}, {7, 7, 7}));
    rows.push_back(spend_row(Purse::kToken, "t", kToday, {8, 8, 8}, {8, 8, 8}));
    this->write(std::move(rows));
    const auto balances = this->run(this->store().load(kToday)).value();
    EXPECT_EQ(balances.size(), kMaxAccounts + 2);
    const auto calls_of = [&](Purse purse) {
        std::int64_t calls = 0;
        for (const Balance& balance : balances) {
            calls += balance.account.purse == purse ? balance.spent[0].calls : 0;
        }
        return calls;
    };
    EXPECT_EQ(calls_of(Purse::kProvider), 7);
    EXPECT_EQ(calls_of(Purse::kToken), 8);
}

// Of two rows of one account in one write the later one says what it spent in all.
TYPED_TEST_P(SpendStoreConformance, TheLaterRowSaysWhatWasSpentInAll) {
    const UtcDay yesterday = kToday - days(1);
    this->write({spend_row(Purse::kToken, "t1", yesterday, {1, 1, 1}, {1, 1, 1}),
                 spend_row(Purse::kToken, "t1", kToday, {2, 2, 2}, {3, 3, 3})});
    const auto balances = this->run(this->store().load(kToday)).value();
    EXPECT_EQ(balances.at(0).spent[index_of(Period::kTotal)], (Spent{3, 3, 3}));
    EXPECT_EQ(balances.at(0).spent[index_of(Period::kMonth)], (Spent{3, 3, 3}));
    EXPECT_EQ(balances.at(0).spent[index_of(Period::kDay)], (Spent{2, 2, 2}));
}

// Books keep their name.
TYPED_TEST_P(SpendStoreConformance, BooksHaveAName) {
    const std::string name = this->run(this->store().name()).value();
    EXPECT_EQ(name.size(), 16U);
    EXPECT_EQ(this->run(this->store().name()).value(), name);
}

REGISTER_TYPED_TEST_SUITE_P(SpendStoreConformance, BalancesAreByPeriod, FiguresAreReplaced,
                            ReportsByAccountAndByDay, NothingSpentIsNoError, ALongReportIsCut,
                            ForgettingKeepsTotals, ForgetsInPieces, ManyKeysPushNobodyElseOut,
                            TheLaterRowSaysWhatWasSpentInAll, BooksHaveAName);

}  // namespace sluice::access
