#include "io/sqlite_copy.h"

#include <sqlite3.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::io {

namespace {

constexpr int kBusyTimeoutMs = 10'000;  // for a checkpoint that truncates the log
constexpr int kEveryPage = -1;

struct Close {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
using Database = std::unique_ptr<sqlite3, Close>;

struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

Error unusable(const std::string& path, std::string_view reason) {
    return Error{
        Code::kUnavailable, Blame::kGateway, "database " + path + ": " + std::string(reason), {}};
}

Result<Database> open(const std::string& path, int flags) {
    sqlite3* raw = nullptr;
    const int opened = sqlite3_open_v2(path.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, nullptr);
    Database database(raw);
    if (opened != SQLITE_OK) {
        return unusable(path, sqlite3_errstr(opened));
    }
    sqlite3_busy_timeout(raw, kBusyTimeoutMs);
    sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    return database;
}

Status execute(sqlite3* database, const std::string& path, const char* sql) {
    const int done = sqlite3_exec(database, sql, nullptr, nullptr, nullptr);
    return done == SQLITE_OK ? Status() : Status(unusable(path, sqlite3_errmsg(database)));
}

// Whether a copying that failed so did where it wrote. The original was read from before.
bool is_of_copy(int extended) {
    switch (extended) {
        case SQLITE_IOERR_WRITE:
        case SQLITE_IOERR_FSYNC:
        case SQLITE_IOERR_DIR_FSYNC:
        case SQLITE_IOERR_TRUNCATE:
        case SQLITE_IOERR_CLOSE:
        case SQLITE_IOERR_DELETE:
            return true;
        default:
            break;
    }
    const int primary = extended & 0xff;
    return primary == SQLITE_FULL || primary == SQLITE_CANTOPEN || primary == SQLITE_READONLY;
}

// The copy could not be written: `failed`, a result of SQLite's.
Error unwritten(const std::string& path, sqlite3* copy, int failed) {
    const int reason = sqlite3_system_errno(copy);
    return unusable(
        path, std::string("it can't be written: ") + sqlite3_errstr(failed) +
                  (reason == 0 ? std::string() : " (" + std::string(std::strerror(reason)) + ")"));
}

// The first column of the first row.
Result<std::string> first_text(sqlite3* database, const std::string& path, const char* sql) {
    sqlite3_stmt* raw = nullptr;
    const int prepared = sqlite3_prepare_v2(database, sql, -1, &raw, nullptr);
    const Statement statement(raw);
    if (prepared != SQLITE_OK || sqlite3_step(raw) != SQLITE_ROW) {
        return unusable(path, sqlite3_errmsg(database));
    }
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(raw, 0));
    return std::string(text == nullptr ? "" : text);
}

}  // namespace

Status copy_database(const std::string& from, const std::string& to) {
    struct stat found{};
    if (::stat(from.c_str(), &found) != 0 && errno == ENOENT) {
        return Error{Code::kNotFound, Blame::kGateway, "there is no " + from, {}};
    }
    const int file = ::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (file < 0) {
        return unusable(to, std::strerror(errno));
    }
    ::close(file);
    // Not SQLITE_OPEN_READONLY, which leaves files beside one in WAL mode that nobody has open.
    TRY(const Database original, open(from, SQLITE_OPEN_READWRITE));
    TRY_STATUS(execute(original.get(), from, "PRAGMA query_only = ON"));
    // So that what is wrong with the original itself is found here.
    TRY_STATUS(execute(original.get(), from, "SELECT 1 FROM sqlite_schema LIMIT 1"));
    TRY(const Database copy, open(to, SQLITE_OPEN_READWRITE));
    sqlite3_extended_result_codes(copy.get(), 1);
    sqlite3_backup* backup = sqlite3_backup_init(copy.get(), "main", original.get(), "main");
    if (backup == nullptr) {
        return unusable(to, sqlite3_errmsg(copy.get()));
    }
    // In one step: a copy that lets others write in between starts again with each of them.
    sqlite3_backup_step(backup, kEveryPage);
    const int copied = sqlite3_backup_finish(backup);
    if (copied != SQLITE_OK) {
        return is_of_copy(copied) ? unwritten(to, copy.get(), copied)
                                  : unusable(from, sqlite3_errstr(copied));
    }
    const int closed =
        sqlite3_exec(copy.get(), "PRAGMA journal_mode = DELETE", nullptr, nullptr, nullptr);
    return closed == SQLITE_OK ? Status() : Status(unwritten(to, copy.get(), closed));
}

Result<std::int64_t> check_copied_database(const std::string& path) {
    TRY(const Database database, open(path, SQLITE_OPEN_READONLY));
    TRY(const std::string finding, first_text(database.get(), path, "PRAGMA integrity_check(1)"));
    if (finding != "ok") {
        return unusable(path, "it is damaged: " + finding);
    }
    sqlite3_stmt* raw = nullptr;
    const int prepared =
        sqlite3_prepare_v2(database.get(), "PRAGMA user_version", -1, &raw, nullptr);
    const Statement statement(raw);
    if (prepared != SQLITE_OK || sqlite3_step(raw) != SQLITE_ROW) {
        return unusable(path, sqlite3_errmsg(database.get()));
    }
    return sqlite3_column_int64(raw, 0);
}

}  // namespace sluice::io
