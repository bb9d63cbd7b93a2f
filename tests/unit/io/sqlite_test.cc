#include "io/sqlite.h"

#include "support/temp_dir.h"

#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace sluice::io {
namespace {

using Mode = SqliteTransaction::Mode;
using test::TempDir;

constexpr std::array kSchema = {
    SqliteMigration{"CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT UNIQUE, size REAL,"
                    " bytes BLOB)"},
};

SqliteConnection open_ok(const std::string& path, SqliteSchema schema = kSchema,
                         const SqliteOptions& options = {}) {
    auto opened = SqliteConnection::open(path, schema, options);
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    return std::move(opened).value();
}

std::int64_t count(SqliteConnection& connection) {
    return connection.integer("SELECT count(*) FROM item").value();
}

mode_t mode_of(const std::string& path) {
    struct stat found{};
    EXPECT_EQ(::stat(path.c_str(), &found), 0) << path;
    return found.st_mode & 0777U;
}

std::string bytes_of(const std::string& path) {
    if (!std::filesystem::is_regular_file(path)) {
        return {};
    }
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

// Runs `body` in another process; what it returns is the process's exit code.
pid_t in_child(const std::function<int()>& body) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(body());
    }
    return child;
}

int exit_code_of(pid_t child) {
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// ---- values and statements --------------------------------------------------------------------

// Every type of value comes back as it was given, the awkward ones included.
TEST(Sqlite, ValuesRoundTrip) {
    TempDir dir;
    auto db = open_ok(dir.file("a.db"));
    const std::string bytes("\0\xff'\"\n", 5);
    const std::optional<std::string> no_name;
    const std::optional<double> some_size = 2.5;
    ASSERT_TRUE(db.change("INSERT INTO item VALUES (?1, ?2, ?3, ?4)",
                          {INT64_MIN, no_name, some_size, SqliteBlob{bytes}})
                    .ok());
    ASSERT_TRUE(db.change("INSERT INTO item VALUES (?1, ?2, ?3, ?4)",
                          {INT64_MAX, std::string_view(), nullptr, SqliteBlob{}})
                    .ok());

    auto rows = db.query("SELECT id, name, size, bytes FROM item ORDER BY id").value();
    ASSERT_TRUE(rows.next().value());
    EXPECT_EQ(rows.integer(0), INT64_MIN);
    EXPECT_TRUE(rows.is_null(1));
    EXPECT_EQ(rows.text(1), "");
    EXPECT_EQ(rows.real(2), 2.5);
    EXPECT_EQ(rows.blob(3), bytes);
    ASSERT_TRUE(rows.next().value());
    EXPECT_EQ(rows.integer(0), INT64_MAX);
    EXPECT_FALSE(rows.is_null(1));
    EXPECT_EQ(rows.text(1), "");
    EXPECT_EQ(rows.optional_integer(2), std::nullopt);
    EXPECT_FALSE(rows.is_null(3));
    EXPECT_FALSE(rows.next().value());
}

// A text with quotes is data, and a parameter that a statement got does not stay for its next use.
TEST(Sqlite, ParametersAreDataAndAreForgotten) {
    TempDir dir;
    auto db = open_ok(dir.file("a.db"));
    const std::string hostile = "x'); DROP TABLE item; --";
    for (int id = 1; id <= 2; ++id) {
        std::optional<std::string> name;
        if (id == 1) {
            name = hostile;
        }
        ASSERT_TRUE(db.change("INSERT INTO item (id, name) VALUES (?1, ?2)", {id, name}).ok());
    }
    EXPECT_EQ(db.integer("SELECT count(*) FROM item WHERE name = ?1", {hostile}).value(), 1);
    EXPECT_EQ(db.integer("SELECT count(*) FROM item WHERE name IS NULL").value(), 1);
}

// The same text may be used inside a loop over its own rows: each use has a statement of its own.
TEST(Sqlite, StatementsNestAndAreReused) {
    TempDir dir;
    auto db = open_ok(dir.file("a.db"));
    ASSERT_TRUE(db.execute("INSERT INTO item (id) VALUES (1), (2), (3)").ok());
    constexpr std::string_view kAll = "SELECT id FROM item ORDER BY id";
    std::vector<std::int64_t> seen;
    auto outer = db.query(kAll).value();
    while (outer.next().value()) {
        auto inner = db.query(kAll).value();
        while (inner.next().value()) {
            seen.push_back(outer.integer(0) * 10 + inner.integer(0));
        }
    }
    EXPECT_EQ(seen, (std::vector<std::int64_t>{11, 12, 13, 21, 22, 23, 31, 32, 33}));
}

// More statement texts than are kept: they go on working, those in use too.
TEST(Sqlite, TheStatementCacheIsBounded) {
    TempDir dir;
    auto db = open_ok(dir.file("a.db"));
    ASSERT_TRUE(db.execute("INSERT INTO item (id) VALUES (1), (2)").ok());
    auto in_use = db.query("SELECT id FROM item ORDER BY id").value();
    ASSERT_TRUE(in_use.next().value());
    for (int i = 0; i < 500; ++i) {
        EXPECT_EQ(db.integer("SELECT " + std::to_string(i)).value(), i);
    }
    ASSERT_TRUE(in_use.next().value());
    EXPECT_EQ(in_use.integer(0), 2);
}

// Who reads code and blame can tell a constraint from a mistake of ours from a missing row.
TEST(Sqlite, ErrorsSayWhatKindTheyAre) {
    TempDir dir;
    auto db = open_ok(dir.file("items.db"));
    ASSERT_TRUE(db.execute("INSERT INTO item (id, name) VALUES (1, 'a')").ok());

    const auto twice = db.change("INSERT INTO item (id, name) VALUES (2, 'a')");
    ASSERT_FALSE(twice.ok());
    EXPECT_EQ(twice.error().code, Code::kConflict);
    EXPECT_EQ(twice.error().blame, Blame::kGateway);

    const auto typo = db.query("SELEC 1");
    ASSERT_FALSE(typo.ok());
    EXPECT_EQ(typo.error().code, Code::kInternal);
    EXPECT_NE(typo.error().message.find("items.db"), std::string::npos);
    // Runtime messages may reach a caller: the folder is nobody's business there.
    EXPECT_EQ(typo.error().message.find(dir.path().string()), std::string::npos);

    const auto absent = db.integer("SELECT id FROM item WHERE id = 9");
    ASSERT_FALSE(absent.ok());
    EXPECT_EQ(absent.error().code, Code::kNotFound);
    EXPECT_EQ(count(db), 1);
}

// ---- transactions -----------------------------------------------------------------------------

// What was not committed is undone, and a committed transaction stays.
TEST(Sqlite, ATransactionIsAllOrNothing) {
    TempDir dir;
    auto db = open_ok(dir.file("a.db"));
    {
        auto transaction = db.begin(Mode::kImmediate).value();
        ASSERT_TRUE(db.execute("INSERT INTO item (id) VALUES (1)").ok());
    }
    EXPECT_EQ(count(db), 0);
    {
        auto transaction = db.begin(Mode::kImmediate).value();
        ASSERT_TRUE(db.execute("INSERT INTO item (id) VALUES (1)").ok());
        ASSERT_TRUE(transaction.commit().ok());
    }
    EXPECT_EQ(count(db), 1);
    auto other = open_ok(dir.file("a.db"));
    EXPECT_EQ(count(other), 1);
}

// A deferred transaction reads one snapshot, whatever others commit meanwhile.
TEST(Sqlite, ADeferredTransactionSeesOneSnapshot) {
    TempDir dir;
    auto reader = open_ok(dir.file("a.db"));
    auto writer = open_ok(dir.file("a.db"));
    auto transaction = reader.begin(Mode::kDeferred).value();
    EXPECT_EQ(count(reader), 0);
    ASSERT_TRUE(writer.execute("INSERT INTO item (id) VALUES (1)").ok());
    EXPECT_EQ(count(reader), 0);
    ASSERT_TRUE(transaction.commit().ok());
    EXPECT_EQ(count(reader), 1);
}

// A lock that stays beyond busy_timeout is an answer, with a time to try again, and not a wait.
TEST(Sqlite, ABusyFileIsUnavailableForNow) {
    TempDir dir;
    SqliteOptions impatient;
    impatient.busy_timeout = Millis{1};
    auto holder = open_ok(dir.file("a.db"));
    auto waiting = open_ok(dir.file("a.db"), kSchema, impatient);
    auto lock = holder.begin(Mode::kImmediate).value();

    const auto refused = waiting.begin(Mode::kImmediate);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::kUnavailable);
    EXPECT_TRUE(refused.error().retry_after.has_value());
    EXPECT_NE(refused.error().message.find("another process holds its lock"), std::string::npos);

    ASSERT_TRUE(lock.commit().ok());
    EXPECT_TRUE(waiting.begin(Mode::kImmediate).ok());
}

// ---- the file and its schema ------------------------------------------------------------------

// Nobody but the owner reads a database or the files beside it, also one that was made wider
// before.
TEST(Sqlite, FilesArePrivate) {
    TempDir dir;
    const std::string path = dir.file("a.db");
    {
        auto db = open_ok(path);
        ASSERT_TRUE(db.execute("INSERT INTO item (id) VALUES (1)").ok());
        EXPECT_EQ(mode_of(path), 0600U);
        EXPECT_EQ(mode_of(path + "-wal"), 0600U);
        EXPECT_EQ(mode_of(path + "-shm"), 0600U);
    }
    ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
    auto db = open_ok(path);
    EXPECT_EQ(mode_of(path), 0600U);
    EXPECT_EQ(count(db), 1);
}

// A file that is no database is somebody else's, whoever named it: it is refused as it is.
TEST(Sqlite, LeavesOtherFilesAlone) {
    TempDir dir;
    for (const std::size_t size : {5U, 8192U}) {
        const std::string path = dir.file(std::to_string(size));
        std::ofstream(path) << std::string(size, 'x');
        ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
        EXPECT_FALSE(SqliteConnection::open(path, kSchema).ok());
        EXPECT_EQ(mode_of(path), 0644U);
    }
}

// The promises of the header about every connection.
TEST(Sqlite, ConnectionsAreConfigured) {
    TempDir dir;
    SqliteOptions full;
    full.synchronous = SqliteOptions::Synchronous::kFull;
    auto normal_db = open_ok(dir.file("a.db"));
    auto full_db = open_ok(dir.file("b.db"), kSchema, full);
    EXPECT_EQ(normal_db.integer("PRAGMA foreign_keys").value(), 1);
    EXPECT_EQ(normal_db.integer("PRAGMA synchronous").value(), 1);
    EXPECT_EQ(full_db.integer("PRAGMA synchronous").value(), 2);
    EXPECT_EQ(normal_db.integer("PRAGMA busy_timeout").value(), 250);
    EXPECT_EQ(normal_db.integer("PRAGMA trusted_schema").value(), 0);
    auto mode = normal_db.query("PRAGMA journal_mode").value();
    ASSERT_TRUE(mode.next().value());
    EXPECT_EQ(mode.text(0), "wal");
}

constexpr std::array kSchema2 = {
    kSchema[0],
    SqliteMigration{"ALTER TABLE item ADD COLUMN colour TEXT NOT NULL DEFAULT 'grey';"
                    "CREATE INDEX item_by_colour ON item (colour)"},
};

// A file goes from any older version to the newest and keeps its rows.
TEST(Sqlite, MigrationsGoForward) {
    TempDir dir;
    {
        auto old = open_ok(dir.file("a.db"));
        ASSERT_TRUE(old.execute("INSERT INTO item (id) VALUES (7)").ok());
        EXPECT_EQ(old.integer("PRAGMA user_version").value(), 1);
    }
    auto db = open_ok(dir.file("a.db"), kSchema2);
    EXPECT_EQ(db.integer("PRAGMA user_version").value(), 2);
    EXPECT_EQ(db.integer("SELECT id FROM item WHERE colour = 'grey'").value(), 7);
}

// A step that fails leaves the file as it was, the steps before it undone too.
TEST(Sqlite, AFailedMigrationChangesNothing) {
    TempDir dir;
    {
        auto old = open_ok(dir.file("a.db"));
        ASSERT_TRUE(old.execute("INSERT INTO item (id) VALUES (7)").ok());
    }
    const std::array broken = {kSchema2[0], kSchema2[1], SqliteMigration{"CREATE TABLE item (x)"}};
    const auto failed = SqliteConnection::open(dir.file("a.db"), broken);
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().code, Code::kInternal);
    auto db = open_ok(dir.file("a.db"));
    EXPECT_EQ(db.integer("PRAGMA user_version").value(), 1);
    EXPECT_EQ(count(db), 1);
}

// A file of a newer program is refused with both versions named, and not touched.
TEST(Sqlite, ANewerSchemaIsRefused) {
    TempDir dir;
    {
        auto newer = open_ok(dir.file("a.db"), kSchema2);
        ASSERT_TRUE(newer.execute("INSERT INTO item (id) VALUES (7)").ok());
    }
    const std::string before = bytes_of(dir.file("a.db"));
    const auto refused = SqliteConnection::open(dir.file("a.db"), kSchema);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::kConflict);
    EXPECT_NE(refused.error().message.find("schema version 2"), std::string::npos);
    EXPECT_NE(refused.error().message.find("up to 1"), std::string::npos);
    EXPECT_EQ(bytes_of(dir.file("a.db")), before);
}

// ---- what goes wrong with disks ---------------------------------------------------------------

struct BadPlace {
    const char* name;
    std::function<std::string(const TempDir&)> prepare;  // the path to open
    const char* message_part;
};

const std::vector<BadPlace>& bad_places() {
    static const std::vector<BadPlace> places = {
        {"a folder that is not there", [](const TempDir& dir) { return dir.file("none/a.db"); },
         "it cannot be made"},
        {"a folder in the place of the file",
         [](const TempDir& dir) {
             std::filesystem::create_directory(dir.file("a.db"));
             return dir.file("a.db");
         },
         "it is not a file"},
        {"a file of something else",
         [](const TempDir& dir) {
             std::ofstream(dir.file("a.db")) << std::string(4096, 'x');
             return dir.file("a.db");
         },
         "it is not a SQLite database"},
        {"a database whose schema page is damaged",
         [](const TempDir& dir) {
             const std::string path = dir.file("a.db");
             static_cast<void>(open_ok(path));
             std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
             file.seekp(100);
             file << std::string(200, '\x7f');
             return path;
         },
         "it is damaged"},
    };
    return places;
}

// Each is an error that names the file and says what to do, and the file is left as it was.
TEST(Sqlite, BadFilesAreClearErrors) {
    for (const BadPlace& place : bad_places()) {
        SCOPED_TRACE(place.name);
        TempDir dir;
        const std::string path = place.prepare(dir);
        const std::string before = bytes_of(path);
        auto opened = SqliteConnection::open(path, kSchema2);
        ASSERT_FALSE(opened.ok());
        EXPECT_EQ(opened.error().code, Code::kUnavailable);
        EXPECT_EQ(opened.error().blame, Blame::kGateway);
        EXPECT_NE(opened.error().message.find("a.db"), std::string::npos);
        EXPECT_NE(opened.error().message.find(place.message_part), std::string::npos)
            << opened.error().message;
        EXPECT_EQ(bytes_of(path), before);
    }
}

// Without permission for the folder the answer says so. A process of its own gives up root's
// rights, which no permission holds back.
TEST(Sqlite, AReadOnlyFolderIsAClearError) {
    TempDir dir;
    const std::string path = dir.file("a.db");
    constexpr uid_t kNobody = 65'534;
    const pid_t child = in_child([&] {
        if (::chmod(dir.path().c_str(), 0555) != 0 ||
            (::geteuid() == 0 && ::setuid(kNobody) != 0)) {
            return 1;
        }
        auto opened = SqliteConnection::open(path, kSchema);
        const bool clear = !opened.ok() && opened.error().code == Code::kUnavailable &&
                           opened.error().message.find("Permission denied") != std::string::npos;
        return clear ? 0 : 2;
    });
    EXPECT_EQ(exit_code_of(child), 0);
    EXPECT_FALSE(std::filesystem::exists(path));
    ASSERT_EQ(::chmod(dir.path().c_str(), 0755), 0);
}

// A file that may be read but not written is refused at the start and not at the first write.
TEST(Sqlite, AReadOnlyFileIsAClearError) {
    TempDir dir;
    const std::string path = dir.file("a.db");
    static_cast<void>(open_ok(path));
    constexpr uid_t kNobody = 65'534;
    const pid_t child = in_child([&] {
        if (::chmod(path.c_str(), 0444) != 0 || ::chmod(dir.path().c_str(), 0777) != 0 ||
            (::geteuid() == 0 && ::setuid(kNobody) != 0)) {
            return 1;
        }
        auto opened = SqliteConnection::open(path, kSchema);
        const bool clear = !opened.ok() && opened.error().code == Code::kUnavailable &&
                           opened.error().message.find("cannot be written") != std::string::npos;
        return clear ? 0 : 2;
    });
    EXPECT_EQ(exit_code_of(child), 0);
}

// A damaged page is found by the check and is an error where a query meets it, never an invented
// row.
TEST(Sqlite, ADamagedPageIsFound) {
    TempDir dir;
    const std::string path = dir.file("a.db");
    {
        auto db = open_ok(path);
        const std::string bytes(3000, 'b');
        for (int i = 0; i < 50; ++i) {
            ASSERT_TRUE(
                db.change("INSERT INTO item (bytes) VALUES (?1)", {SqliteBlob{bytes}}).ok());
        }
        ASSERT_TRUE(db.check_integrity().ok());
    }
    {
        std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(4096);  // the root page of the table
        file << std::string(4096, '\x7f');
    }
    auto db = open_ok(path);
    auto checked = db.check_integrity();
    ASSERT_FALSE(checked.ok());
    EXPECT_EQ(checked.error().code, Code::kUnavailable);
    auto summed = db.integer("SELECT sum(length(bytes)) FROM item");
    ASSERT_FALSE(summed.ok());
    EXPECT_NE(summed.error().message.find("it is damaged"), std::string::npos);
}

// A full disk refuses the write, keeps what was committed, and is over once there is room.
TEST(Sqlite, AFullDiskLosesNothing) {
    TempDir dir;
    auto db = open_ok(dir.file("a.db"));
    ASSERT_TRUE(db.execute("INSERT INTO item (id) VALUES (1)").ok());
    ASSERT_TRUE(db.integer("PRAGMA max_page_count = 8").ok());
    const std::string bytes(100'000, 'b');
    {
        auto transaction = db.begin(Mode::kImmediate).value();
        ASSERT_TRUE(db.execute("INSERT INTO item (id) VALUES (2)").ok());
        const auto full = db.change("INSERT INTO item (bytes) VALUES (?1)", {SqliteBlob{bytes}});
        ASSERT_FALSE(full.ok());
        EXPECT_EQ(full.error().code, Code::kUnavailable);
        EXPECT_NE(full.error().message.find("disk is full"), std::string::npos);
    }
    EXPECT_EQ(count(db), 1);
    ASSERT_TRUE(db.integer("PRAGMA max_page_count = 100000").ok());
    EXPECT_TRUE(db.change("INSERT INTO item (bytes) VALUES (?1)", {SqliteBlob{bytes}}).ok());
    EXPECT_EQ(count(db), 2);
    EXPECT_TRUE(db.check_integrity().ok());
}

// ---- several writers --------------------------------------------------------------------------

SqliteOptions patient() {
    SqliteOptions options;
    options.busy_timeout = Millis{20'000};
    return options;
}

// Adds `times` rows, one transaction each; 0 when all were committed.
int insert_rows(const std::string& path, int times) {
    auto opened = SqliteConnection::open(path, kSchema2, patient());
    if (!opened.ok()) {
        return 1;
    }
    for (int i = 0; i < times; ++i) {
        auto transaction = opened->begin(Mode::kImmediate);
        if (!transaction.ok() || !opened->execute("INSERT INTO item (size) VALUES (1)").ok() ||
            !transaction->commit().ok()) {
            return 2;
        }
    }
    return 0;
}

// Connections of several threads on one file take turns and lose no row.
TEST(Sqlite, ThreadsShareAFile) {
    TempDir dir;
    const std::string path = dir.file("a.db");
    std::vector<std::thread> threads;
    std::array<int, 4> results{};
    for (int& result : results) {
        threads.emplace_back([&path, &result] { result = insert_rows(path, 50); });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(results, (std::array<int, 4>{}));
    auto db = open_ok(path, kSchema2);
    EXPECT_EQ(count(db), 200);
}

// Processes that find no file yet all make and migrate it at the same time; one schema results and
// every row is there.
TEST(Sqlite, ProcessesShareAFileFromItsFirstMoment) {
    for (int round = 0; round < 5; ++round) {
        TempDir dir;
        const std::string path = dir.file("a.db");
        std::array<pid_t, 4> children{};
        for (pid_t& child : children) {
            child = in_child([&path] { return insert_rows(path, 20); });
        }
        for (const pid_t child : children) {
            EXPECT_EQ(exit_code_of(child), 0);
        }
        auto db = open_ok(path, kSchema2);
        EXPECT_EQ(count(db), 80);
        EXPECT_EQ(db.integer("PRAGMA user_version").value(), 2);
    }
}

// A process killed in the midst of writing leaves a sound file with every commit that it reported.
TEST(Sqlite, AKillDuringWritesLosesNoCommit) {
    for (int round = 0; round < 3; ++round) {
        TempDir dir;
        const std::string path = dir.file("a.db");
        std::array<int, 2> pipe_ends{};
        ASSERT_EQ(::pipe(pipe_ends.data()), 0);
        const pid_t child = in_child([&] {
            auto opened = SqliteConnection::open(path, kSchema);
            const std::string bytes(2000, 'b');
            const char report = '.';
            while (
                opened.ok() &&
                opened->change("INSERT INTO item (bytes) VALUES (?1)", {SqliteBlob{bytes}}).ok() &&
                ::write(pipe_ends[1], &report, 1) == 1) {
            }
            return 1;
        });
        ::close(pipe_ends[1]);
        std::int64_t reported = 0;
        char report = 0;
        while (reported < 100 + 37 * round && ::read(pipe_ends[0], &report, 1) == 1) {
            reported += 1;
        }
        ASSERT_EQ(::kill(child, SIGKILL), 0);
        EXPECT_EQ(exit_code_of(child), -1);
        while (::read(pipe_ends[0], &report, 1) == 1) {
            reported += 1;
        }
        ::close(pipe_ends[0]);

        auto db = open_ok(path);
        EXPECT_TRUE(db.check_integrity().ok());
        EXPECT_GE(count(db), reported);
        EXPECT_LE(count(db), reported + 1);  // the commit whose report was cut off
        EXPECT_TRUE(db.execute("INSERT INTO item (id) VALUES (1000000)").ok());
    }
}

// Whoever only looks makes nothing, changes nothing and migrates nothing.
TEST(SqliteReading, LeavesEverythingAsItIs) {
    const TempDir dir;
    const std::string path = dir.file("a.db");
    {
        auto missing = SqliteConnection::open_to_read(path, kSchema);
        ASSERT_TRUE(missing.ok()) << missing.error().message;
        EXPECT_EQ(missing->integer("SELECT count(*) FROM item").value(), 0);
        EXPECT_FALSE(std::filesystem::exists(path));
    }
    auto writer = open_ok(path);
    ASSERT_TRUE(writer.change("INSERT INTO item (name) VALUES ('a')").ok());
    auto reader = SqliteConnection::open_to_read(path, kSchema);
    ASSERT_TRUE(reader.ok()) << reader.error().message;
    EXPECT_EQ(reader->integer("SELECT count(*) FROM item").value(), 1);
    EXPECT_FALSE(reader->change("INSERT INTO item (name) VALUES ('b')").ok());
    const std::array newer = {kSchema[0], SqliteMigration{"CREATE TABLE other (id INTEGER)"}};
    const auto old = SqliteConnection::open_to_read(path, newer);
    ASSERT_FALSE(old.ok());
    EXPECT_EQ(old.error().code, Code::kConflict);
    EXPECT_NE(old.error().message.find("has schema version 1"), std::string::npos);
    EXPECT_EQ(writer.integer("PRAGMA user_version").value(), 1);
}

}  // namespace
}  // namespace sluice::io
