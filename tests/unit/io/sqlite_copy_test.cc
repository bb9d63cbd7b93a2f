// Copies of a database that somebody writes to, and what is found out about a damaged one.
#include "io/sqlite_copy.h"

#include "io/sqlite.h"
#include "support/file_limit.h"
#include "support/temp_dir.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <stop_token>
#include <string>
#include <thread>

namespace sluice::io {
namespace {

constexpr SqliteMigration kSchema[] = {
    {"CREATE TABLE account (id INTEGER PRIMARY KEY, coins INTEGER NOT NULL);"
     "INSERT INTO account VALUES (1, 500), (2, 500)"}};

SqliteConnection open(const std::string& path) {
    auto connection = SqliteConnection::open(path, kSchema);
    SLUICE_ASSERT(connection.ok());
    return *std::move(connection);
}

// One coin from one account to the other: at no moment is the sum another one.
void move_coin(SqliteConnection& connection) {
    auto transaction = connection.begin(SqliteTransaction::Mode::kImmediate);
    SLUICE_ASSERT(transaction.ok());
    SLUICE_ASSERT(connection.change("UPDATE account SET coins = coins - 1 WHERE id = 1").ok());
    SLUICE_ASSERT(connection.change("UPDATE account SET coins = coins + 1 WHERE id = 2").ok());
    SLUICE_ASSERT(transaction->commit().ok());
}

// A copy is what was committed at one moment, however busy the original is.
TEST(SqliteCopyTest, IsOfOneMoment) {
    const test::TempDir dir;
    open(dir.file("original.db"));
    const std::jthread writer([&dir](const std::stop_token& stop) {
        SqliteConnection connection = open(dir.file("original.db"));
        while (!stop.stop_requested()) {
            move_coin(connection);
        }
    });
    for (int i = 0; i < 20; ++i) {
        const std::string copy = dir.file("copy-" + std::to_string(i));
        const Status copied = copy_database(dir.file("original.db"), copy);
        EXPECT_TRUE(copied.ok()) << copied.error().message;
        const auto version = check_copied_database(copy);
        ASSERT_TRUE(version.ok()) << version.error().message;
        EXPECT_EQ(*version, 1);
        EXPECT_FALSE(std::filesystem::exists(copy + "-wal")) << "a copy is one file";
        EXPECT_EQ(*open(copy).integer("SELECT SUM(coins) FROM account"), 1000);
    }
}

// What is not committed is not in it, and what is committed is, though it is in the log alone.
TEST(SqliteCopyTest, HasWhatIsCommitted) {
    const test::TempDir dir;
    SqliteConnection connection = open(dir.file("original.db"));
    move_coin(connection);
    auto transaction = connection.begin(SqliteTransaction::Mode::kImmediate);
    ASSERT_TRUE(transaction.ok());
    ASSERT_TRUE(connection.change("UPDATE account SET coins = 0").ok());
    ASSERT_TRUE(copy_database(dir.file("original.db"), dir.file("copy.db")).ok());
    EXPECT_EQ(*open(dir.file("copy.db")).integer("SELECT coins FROM account WHERE id = 2"), 501);
}

TEST(SqliteCopyTest, TakesNobodysPlace) {
    const test::TempDir dir;
    open(dir.file("original.db"));
    std::ofstream(dir.file("copy.db")) << "precious";
    EXPECT_FALSE(copy_database(dir.file("original.db"), dir.file("copy.db")).ok());
    EXPECT_EQ(std::filesystem::file_size(dir.file("copy.db")), 8u);
    const Status absent = copy_database(dir.file("absent.db"), dir.file("other.db"));
    ASSERT_FALSE(absent.ok());
    EXPECT_EQ(absent.error().code, Code::kNotFound);
    EXPECT_FALSE(std::filesystem::exists(dir.file("other.db")));
}

// A full disk, here a file that may not grow, is where the copy is, and its error says so; a
// damaged original is named as that.
TEST(SqliteCopyTest, SaysWhichSideFailed) {
    const test::TempDir dir;
    ASSERT_TRUE(open(dir.file("original.db"))
                    .change("CREATE TABLE page AS SELECT zeroblob(200000) AS content")
                    .ok());
    Status full;
    {
        const test::FileLimit limit(64 * 1024);
        full = copy_database(dir.file("original.db"), dir.file("copy.db"));
    }
    ASSERT_FALSE(full.ok());
    EXPECT_NE(full.error().message.find(dir.file("copy.db") + ": it can't be written"),
              std::string::npos)
        << full.error().message;
    EXPECT_EQ(full.error().message.find("original.db"), std::string::npos) << full.error().message;

    std::ofstream(dir.file("text.db"))
        << "this is no database, and long enough to be taken for one" << std::string(4096, ' ');
    const Status damaged = copy_database(dir.file("text.db"), dir.file("other.db"));
    ASSERT_FALSE(damaged.ok());
    EXPECT_NE(damaged.error().message.find(dir.file("text.db")), std::string::npos)
        << damaged.error().message;
    EXPECT_EQ(damaged.error().message.find("other.db"), std::string::npos);
}

TEST(SqliteCopyTest, FindsDamage) {
    const test::TempDir dir;
    open(dir.file("original.db"));
    ASSERT_TRUE(copy_database(dir.file("original.db"), dir.file("copy.db")).ok());
    std::filesystem::resize_file(dir.file("copy.db"), 4096);  // of its pages the first one
    EXPECT_FALSE(check_copied_database(dir.file("copy.db")).ok());
    std::ofstream(dir.file("text.db"))
        << "this is no database, and long enough to be taken for one";
    EXPECT_FALSE(check_copied_database(dir.file("text.db")).ok());
}

}  // namespace
}  // namespace sluice::io
