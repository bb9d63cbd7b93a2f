#include "access/postgres_spend_store.h"

#include "support/postgres_server.h"
#include "unit/access/spend_store_conformance.h"
#include "unit/io/postgres_fixture.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace sluice::access {
namespace {

// The books of two replicas in one database.
class PostgresBackend {
 public:
    PostgresBackend() {
        EXPECT_TRUE(db_.start().ok());
        EXPECT_TRUE(db_.migrate(postgres_spend_schema()).ok());
    }

    SpendStore& store() { return first_; }
    SpendStore& second_store() { return second_; }
    template <class T>
    T run(Task<T> task) {
        return db_.run(std::move(task));
    }
    PostgresSpendStore copy_of_first() { return {*db_.client, "0000000000000001"}; }
    Status migrate() { return db_.migrate(postgres_spend_schema()); }
    // A constant.
    Result<io::PostgresRows> query(std::string_view sql) { return db_.query(sql); }

 private:
    test::PostgresFixture db_{test::shared_postgres().make_database(), std::chrono::seconds(60)};
    PostgresSpendStore first_{*db_.client, "0000000000000001"};
    PostgresSpendStore second_{*db_.client, "0000000000000002"};
};

INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, SpendStoreConformance, PostgresBackend);

// What one replica writes is not the other's to go on from; a report has both, and so does
// forgetting, since a replica that is gone forgets nothing.
TEST(PostgresSpendStoreTest, ReplicasHaveBooksOfTheirOwn) {
    PostgresBackend backend;
    const auto row = spend_row(Purse::kProvider, "serper", kToday, {1, 2, 30}, {1, 2, 30});
    ASSERT_TRUE(backend.run(backend.store().write({row})).ok());
    EXPECT_TRUE(backend.run(backend.second_store().load(kToday))->empty());
    ASSERT_TRUE(backend.run(backend.second_store().write({row, row})).ok());
    for (SpendStore* store : {&backend.store(), &backend.second_store()}) {
        const auto balances = backend.run(store->load(kToday)).value();
        ASSERT_EQ(balances.size(), 1U);
        EXPECT_EQ(balances[0].spent[index_of(Period::kTotal)], (Spent{1, 2, 30}));
        UsageQuery query;
        query.since = query.until = kToday;
        const Usage all = backend.run(store->usage(query)).value();
        ASSERT_EQ(all.rows.size(), 1U);
        EXPECT_EQ(all.rows[0].spent, (Spent{2, 4, 60}));
        EXPECT_EQ(all.sum, (Spent{2, 4, 60}));
    }
    EXPECT_EQ(backend.run(backend.store().forget_before(kToday + days(1))).value(), 2U);
}

// Two processes under one name, since one's data directory is a copy of the other's: the later one
// has the books, and the earlier is told, and writes over nothing.
TEST(PostgresSpendStoreTest, OfTwoProcessesUnderOneNameOnlyTheLaterWrites) {
    PostgresBackend backend;
    const auto row = [](std::int64_t calls) {
        return spend_row(Purse::kProvider, "serper", kToday, {calls, 0, 0}, {calls, 0, 0});
    };
    ASSERT_TRUE(backend.run(backend.store().load(kToday)).ok());
    ASSERT_TRUE(backend.run(backend.store().write({row(3)})).ok());
    PostgresSpendStore copy = backend.copy_of_first();
    EXPECT_EQ(backend.run(copy.load(kToday)).value().at(0).spent[index_of(Period::kTotal)].calls,
              3);
    const Status refused = backend.run(backend.store().write({row(4)}));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::kConflict);
    EXPECT_NE(refused.error().message.find("remove the file replica there"), std::string::npos);
    ASSERT_TRUE(backend.run(copy.write({row(5)})).ok());
    EXPECT_TRUE(backend.run(backend.second_store().write({row(1)})).ok()) << "of another name";
    UsageQuery query;
    query.since = query.until = kToday;
    EXPECT_EQ(backend.run(copy.usage(query)).value().sum.calls, 6);
}

// A database that was restored knows of an earlier process, which is gone: that is no copy.
TEST(PostgresSpendStoreTest, ARestoredDatabaseIsWrittenOn) {
    PostgresBackend backend;
    const auto row = spend_row(Purse::kProvider, "serper", kToday, {1, 0, 0}, {1, 0, 0});
    for (int starts = 0; starts < 2; ++starts) {
        ASSERT_TRUE(backend.run(backend.store().load(kToday)).ok());
    }
    for (const char* before :
         {"UPDATE sluice_books SET process = 'before', claim = 1", "DELETE FROM sluice_books"}) {
        ASSERT_TRUE(backend.query(before).ok());
        EXPECT_TRUE(backend.run(backend.store().write({row})).ok()) << before;
        EXPECT_TRUE(backend.run(backend.store().write({row})).ok()) << before;
    }
}

// A backup of the former tables leaves the later one in place: whom it names is of another past.
TEST(PostgresSpendStoreTest, FormerTablesThatWereRestoredAreBroughtUpToDate) {
    PostgresBackend backend;
    const auto row = spend_row(Purse::kProvider, "serper", kToday, {1, 0, 0}, {1, 0, 0});
    ASSERT_TRUE(backend.run(backend.store().load(kToday)).ok());
    ASSERT_TRUE(backend.query("UPDATE sluice_books SET claim = 70").ok());
    ASSERT_TRUE(
        backend.query("UPDATE sluice_schema SET version = 1 WHERE store = 'spending'").ok());
    ASSERT_TRUE(backend.migrate().ok());
    EXPECT_EQ(backend.query("SELECT count(*) FROM sluice_books")->integer(0, 0), 0);
    EXPECT_TRUE(backend.run(backend.store().write({row})).ok());
}

}  // namespace
}  // namespace sluice::access
