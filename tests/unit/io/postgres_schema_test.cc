#include "io/postgres_schema.h"

#include "support/postgres_server.h"
#include "unit/io/postgres_fixture.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

namespace sluice::io {
namespace {

using test::PostgresFixture;

// Each would fail if it were taken twice.
constexpr std::array kSteps = {
    PostgresMigration{"CREATE TABLE thing (n int); INSERT INTO thing VALUES (1);"
                      " SELECT pg_sleep(0.2)"},
    PostgresMigration{"ALTER TABLE thing ADD COLUMN m int; INSERT INTO thing VALUES (2, 2)"},
};
constexpr std::array kBroken = {kSteps[0], PostgresMigration{"CREATE TABLE x (n int); nonsense"}};

PostgresSchema schema(std::span<const PostgresMigration> steps) {
    return {"thing", steps};
}

class PostgresSchemaTest : public testing::Test {
 protected:
    static Task<Status> migrated(PostgresFixture& db, PostgresSchema to) {
        auto work = [to](PostgresSession& session) { return migrate(session, to); };
        return db.client->run(std::move(work));
    }
    static Status required(PostgresFixture& db, PostgresSchema what) {
        auto work = [what](PostgresSession& session) { return require_version(session, what); };
        return db.run(db.client->run(std::move(work)));
    }

    PostgresFixture db_{test::shared_postgres().make_database()};
};

// A store's tables grow step by step, whatever they began with, and others' are left alone.
TEST_F(PostgresSchemaTest, TakesTheStepsThatAreMissing) {
    ASSERT_TRUE(db_.start().ok());
    EXPECT_EQ(required(db_, schema(kSteps)).error().code, Code::kNotFound);
    const std::span<const PostgresMigration> first(kSteps.data(), 1);
    ASSERT_TRUE(db_.run(migrated(db_, schema(first))).ok());
    EXPECT_TRUE(required(db_, schema(first)).ok());
    EXPECT_EQ(required(db_, schema(kSteps)).error().code, Code::kConflict);
    for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(db_.run(migrated(db_, schema(kSteps))).ok());
    }
    EXPECT_EQ(db_.query("SELECT count(*) FROM thing")->integer(0, 0), 2);
    EXPECT_TRUE(required(db_, schema(kSteps)).ok());
}

// Tables of a newer program are left as they are, and the message has both versions.
TEST_F(PostgresSchemaTest, NewerTablesAreRefused) {
    ASSERT_TRUE(db_.start().ok());
    ASSERT_TRUE(db_.run(migrated(db_, schema(kSteps))).ok());
    const std::span<const PostgresMigration> older(kSteps.data(), 1);
    const Status refused = db_.run(migrated(db_, schema(older)));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::kConflict);
    EXPECT_NE(refused.error().message.find("version 2"), std::string::npos);
    EXPECT_NE(refused.error().message.find("version 1"), std::string::npos);
    EXPECT_TRUE(required(db_, schema(kSteps)).ok());
}

// Tables whose version was lost are left as they are, and the message says what was found and how
// to go on; it is right that way.
TEST_F(PostgresSchemaTest, TablesOfAnUnknownVersionAreRefused) {
    ASSERT_TRUE(db_.start().ok());
    ASSERT_TRUE(db_.run(migrated(db_, schema(kSteps))).ok());
    ASSERT_TRUE(db_.query("DELETE FROM sluice_schema").ok());
    const Status refused = db_.run(migrated(db_, schema(kSteps)));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::kConflict);
    const std::string& message = refused.error().message;
    EXPECT_NE(message.find("store 'thing'"), std::string::npos) << message;
    EXPECT_NE(message.find("no row of sluice_schema"), std::string::npos) << message;
    const std::size_t mend = message.find("INSERT INTO");
    ASSERT_NE(mend, std::string::npos) << message;
    EXPECT_EQ(db_.query("SELECT count(*) FROM thing")->integer(0, 0), 2);
    ASSERT_TRUE(db_.query(message.substr(mend)).ok());
    EXPECT_TRUE(db_.run(migrated(db_, schema(kSteps))).ok());
    EXPECT_TRUE(required(db_, schema(kSteps)).ok());
}

// All steps or none.
TEST_F(PostgresSchemaTest, AStepThatFailsTakesAllBack) {
    ASSERT_TRUE(db_.start().ok());
    EXPECT_FALSE(db_.run(migrated(db_, schema(kBroken))).ok());
    EXPECT_EQ(
        db_.query("SELECT count(*) FROM pg_class WHERE relname IN ('thing', 'x')")->integer(0, 0),
        0);
    EXPECT_TRUE(db_.run(migrated(db_, schema(kSteps))).ok());
}

// Several that start at once: each finds the tables right, and every step was taken once.
TEST_F(PostgresSchemaTest, SeveralMayStartAtOnce) {
    ASSERT_TRUE(db_.start().ok());
    std::vector<std::optional<Status>> ends(4);
    for (auto& end : ends) {
        boost::asio::co_spawn(db_.loop, store_result(migrated(db_, schema(kSteps)), end),
                              [](const std::exception_ptr&) {});
    }
    ASSERT_TRUE(db_.until([&] {
        return std::ranges::all_of(ends, [](const auto& end) { return end.has_value(); });
    }));
    for (const auto& end : ends) {
        EXPECT_TRUE(end->ok()) << end->error().message;
    }
    EXPECT_EQ(db_.query("SELECT count(*) FROM thing")->integer(0, 0), 2);
}

}  // namespace
}  // namespace sluice::io
