#include "access/sqlite_spend_store.h"

#include "support/run_io.h"
#include "support/temp_dir.h"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace sluice::access {
namespace {

using namespace std::chrono;

const UtcDay kToday = 2026y / November / 30;

SpendRow row(Purse purse, std::string id, UtcDay day, Spent on_day, Spent in_all) {
    SpendRow made;
    made.account.purse = purse;
    made.account.id = std::move(id);
    made.account.provider = purse == Purse::kKey ? "serper" : "";
    made.day = day;
    made.on_day = on_day;
    made.in_all = in_all;
    return made;
}

class SqliteSpendStoreTest : public testing::Test {
 protected:
    template <class T>
    T run(Task<T> task) {
        return test::run_io(io_, std::move(task));
    }
    void write(std::vector<SpendRow> rows) { ASSERT_TRUE(run(store_.write(std::move(rows))).ok()); }
    Usage usage(UsageQuery query) { return run(store_.usage(std::move(query))).value(); }

    test::TempDir dir_;
    obs::Metrics metrics_;
    boost::asio::io_context io_{1};
    io::SqliteStore file_{"usage",
                          io::SqliteConnection::open(dir_.file("usage.db"), spend_schema()).value(),
                          metrics_};
    io::SqliteStore reports_{
        "usage_reports", io::SqliteConnection::open(dir_.file("usage.db"), spend_schema()).value(),
        metrics_};
    SqliteSpendStore store_{file_, reports_};
};

// What was written comes back summed up by period; only the month's days are in the month.
TEST_F(SqliteSpendStoreTest, BalancesAreByPeriod) {
    write({row(Purse::kProvider, "serper", 2026y / October / 31, {5, 5, 50}, {5, 5, 50}),
           row(Purse::kProvider, "serper", 2026y / November / 1, {3, 3, 30}, {8, 8, 80}),
           row(Purse::kProvider, "serper", kToday, {1, 1, 10}, {9, 9, 90}),
           row(Purse::kKey, "k1", kToday, {1, 1, 10}, {1, 1, 10})});
    const auto balances = run(store_.load(kToday)).value();
    ASSERT_EQ(balances.size(), 2U);
    EXPECT_EQ(balances[0].account, (AccountName{Purse::kKey, "k1", "serper"}));
    EXPECT_EQ(balances[1].account, (AccountName{Purse::kProvider, "serper", ""}));
    EXPECT_EQ(balances[1].spent[index_of(Period::kDay)], (Spent{1, 1, 10}));
    EXPECT_EQ(balances[1].spent[index_of(Period::kMonth)], (Spent{4, 4, 40}));
    EXPECT_EQ(balances[1].spent[index_of(Period::kTotal)], (Spent{9, 9, 90}));
}

// Writing again replaces; and figures of days to come count for today, so that a clock that went
// back gives no second budget.
TEST_F(SqliteSpendStoreTest, FiguresAreReplaced) {
    write({row(Purse::kToken, "t1", kToday, {9, 9, 9}, {9, 9, 9})});
    write({row(Purse::kToken, "t1", kToday, {2, 2, 2}, {2, 2, 2})});
    EXPECT_EQ(run(store_.load(kToday)).value().at(0).spent[index_of(Period::kTotal)],
              (Spent{2, 2, 2}));
    EXPECT_EQ(run(store_.load(kToday - days(3))).value().at(0).spent[index_of(Period::kDay)],
              (Spent{2, 2, 2}));
}

// A report has one row an account, the dearest first, or one row a day; both end where asked.
TEST_F(SqliteSpendStoreTest, ReportsByAccountAndByDay) {
    const UtcDay yesterday = kToday - days(1);
    write({row(Purse::kToken, "t1", yesterday, {1, 1, 10}, {1, 1, 10}),
           row(Purse::kToken, "t1", kToday, {2, 2, 20}, {3, 3, 30}),
           row(Purse::kToken, "t2", kToday, {1, 4, 40}, {1, 4, 40}),
           row(Purse::kProvider, "exa", kToday, {3, 6, 60}, {3, 6, 60}),
           row(Purse::kToken, "t2", kToday - days(40), {7, 7, 70}, {8, 11, 110})});
    UsageQuery query;
    query.purse = Purse::kToken;
    query.since = yesterday;
    query.until = kToday;
    const Usage by_account = usage(query);
    ASSERT_EQ(by_account.rows.size(), 2U);
    EXPECT_EQ(by_account.rows[0].account.id, "t2");
    EXPECT_EQ(by_account.rows[0].spent, (Spent{1, 4, 40}));
    EXPECT_EQ(by_account.rows[1].spent, (Spent{3, 3, 30}));
    EXPECT_EQ(by_account.sum, (Spent{4, 7, 70}));
    EXPECT_FALSE(by_account.truncated);

    query.group = UsageQuery::Group::kDay;
    const Usage by_day = usage(query);
    ASSERT_EQ(by_day.rows.size(), 2U);
    EXPECT_EQ(by_day.rows[0].day, yesterday);
    EXPECT_EQ(by_day.rows[1].spent, (Spent{3, 6, 60}));

    query.id = "t1";
    const Usage of_one = usage(query);
    EXPECT_EQ(of_one.rows.at(1).spent, (Spent{2, 2, 20}));
    EXPECT_EQ(of_one.sum, (Spent{3, 3, 30}));
}

// An empty report is a report.
TEST_F(SqliteSpendStoreTest, NothingSpentIsNoError) {
    UsageQuery query;
    query.since = query.until = kToday;
    EXPECT_TRUE(usage(query).rows.empty());
    EXPECT_EQ(usage(query).sum, Spent());
    EXPECT_TRUE(run(store_.load(kToday)).value().empty());
}

// A report is bounded, says that it was cut, and still has the whole sum.
TEST_F(SqliteSpendStoreTest, ALongReportIsCut) {
    std::vector<SpendRow> rows;
    for (std::size_t i = 0; i <= kMaxUsageRows; ++i) {
        rows.push_back(row(Purse::kKey, "k" + std::to_string(i), kToday, {1, 1, 1}, {1, 1, 1}));
    }
    write(std::move(rows));
    UsageQuery query;
    query.purse = Purse::kKey;
    query.since = query.until = kToday;
    const Usage cut = usage(query);
    EXPECT_EQ(cut.rows.size(), kMaxUsageRows);
    EXPECT_TRUE(cut.truncated);
    EXPECT_EQ(cut.sum.calls, static_cast<std::int64_t>(kMaxUsageRows) + 1);
}

// Old days go, the totals that they were part of stay.
TEST_F(SqliteSpendStoreTest, ForgettingKeepsTotals) {
    write({row(Purse::kGateway, "", kToday - days(2), {1, 1, 1}, {1, 1, 1}),
           row(Purse::kGateway, "", kToday, {1, 1, 1}, {2, 2, 2})});
    ASSERT_TRUE(run(store_.forget_before(kToday)).ok());
    UsageQuery query;
    query.purse = Purse::kGateway;
    query.since = kToday - days(9);
    query.until = kToday;
    EXPECT_EQ(usage(query).sum.calls, 1);
    EXPECT_EQ(run(store_.load(kToday)).value().at(0).spent[index_of(Period::kTotal)].calls, 2);
}

// Old days go in pieces, so that a call's write never waits behind all of them.
TEST_F(SqliteSpendStoreTest, ForgetsInPieces) {
    std::vector<SpendRow> rows;
    for (std::size_t i = 0; i <= kForgottenAtOnce; ++i) {
        rows.push_back(
            row(Purse::kKey, "k" + std::to_string(i), kToday - days(2), {1, 1, 1}, {1, 1, 1}));
    }
    write(std::move(rows));
    EXPECT_EQ(run(store_.forget_before(kToday)).value(), kForgottenAtOnce);
    EXPECT_EQ(run(store_.forget_before(kToday)).value(), 1U);
    EXPECT_EQ(run(store_.forget_before(kToday)).value(), 0U);
}

// However many keys ever spent something, a provider's books are found again.
TEST_F(SqliteSpendStoreTest, ManyKeysPushNobodyElseOut) {
    std::vector<SpendRow> rows;
    for (std::size_t i = 0; i <= kMaxAccounts; ++i) {
        rows.push_back(row(Purse::kKey, "k" + std::to_string(i), kToday, {1, 1, 1}, {1, 1, 1}));
    }
    rows.push_back(row(Purse::kProvider, "serper", kToday, {7, 7, 7}, {7, 7, 7}));
    rows.push_back(row(Purse::kToken, "t", kToday, {8, 8, 8}, {8, 8, 8}));
    write(std::move(rows));
    const auto balances = run(store_.load(kToday)).value();
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

}  // namespace
}  // namespace sluice::access
