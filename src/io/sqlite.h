// SQLite as the program uses it: connections whose errors are values, statements that stay
// prepared, transactions that roll back by themselves, and files whose schema has a version.
//
// A connection belongs to one thread at a time. On a server that is the thread of a SqliteStore
// (io/sqlite_store.h); a command that runs beside no server may use one directly.
//
// Errors, all blamed on the gateway: kUnavailable (busy beyond busy_timeout, no permission, disk
// full, damaged, I/O error; retry_after is set where waiting helps), kConflict (a constraint, or a
// file of another schema version) and kInternal (SQL that does not fit the schema: our own
// mistake). Messages name the file and say what to do. What was committed before an error stays.
#pragma once

#include "base/result.h"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

struct sqlite3;
struct sqlite3_stmt;

namespace sluice::io {

struct SqliteOptions {
    enum class Synchronous : std::uint8_t {
        kNormal,  // a power cut may lose the last commits, never the consistency of the file
        kFull,    // a commit that was reported survives a power cut
    };
    Synchronous synchronous = Synchronous::kNormal;
    Millis busy_timeout{250};  // how long a statement waits for another connection's lock
};

// One step in the history of a schema. Its version is its place in the list, from 1; a step that
// was released is never changed.
struct SqliteMigration {
    std::string_view sql;  // one or more statements, without transaction control
};
using SqliteSchema = std::span<const SqliteMigration>;

struct SqliteBlob {
    std::string_view bytes;
};

// A parameter of a statement. Holds views: it lives as long as the call it is made for.
class SqliteValue {
 public:
    SqliteValue(std::nullptr_t) {}
    template <std::integral T>
    SqliteValue(T number) : value_(static_cast<std::int64_t>(number)) {}
    SqliteValue(double number) : value_(number) {}
    SqliteValue(std::string_view text) : value_(text) {}
    SqliteValue(const std::string& text) : value_(std::string_view(text)) {}
    SqliteValue(const char* text) : value_(std::string_view(text)) {}
    SqliteValue(SqliteBlob blob) : value_(blob) {}
    template <class T>
    SqliteValue(const std::optional<T>& value) {
        if (value) {
            *this = SqliteValue(*value);
        }
    }

 private:
    friend class SqliteConnection;
    std::variant<std::monostate, std::int64_t, double, std::string_view, SqliteBlob> value_;
};

namespace detail {
struct SqliteHandle;
struct SqliteCachedStatement;
}  // namespace detail

// The rows of a query. Goes back to its connection's cache when destroyed; must not outlive it.
class SqliteStatement {
 public:
    SqliteStatement(SqliteStatement&& other) noexcept;
    SqliteStatement& operator=(SqliteStatement&& other) noexcept;
    ~SqliteStatement();

    // Steps to the next row; false when there is none. To be called before the first row is read.
    Result<bool> next();

    // The columns of the row, from 0. SQLite's conversions apply: NULL reads as 0 and as empty.
    bool is_null(int column) const;
    std::int64_t integer(int column) const;
    double real(int column) const;
    // Valid until next() or the end of this object.
    std::string_view text(int column) const;
    std::string_view blob(int column) const;
    std::optional<std::int64_t> optional_integer(int column) const;

 private:
    friend class SqliteConnection;
    SqliteStatement(detail::SqliteHandle& handle, detail::SqliteCachedStatement& cached);
    void give_back();

    detail::SqliteHandle* handle_ = nullptr;
    detail::SqliteCachedStatement* cached_ = nullptr;
};

// Rolls back when destroyed unless it was committed. Not nested; must not outlive its connection.
class SqliteTransaction {
 public:
    enum class Mode : std::uint8_t {
        kDeferred,   // takes locks as statements need them: for several reads of one snapshot
        kImmediate,  // takes the write lock at once: for everything that writes
    };

    SqliteTransaction(SqliteTransaction&& other) noexcept;
    SqliteTransaction& operator=(SqliteTransaction&&) = delete;
    ~SqliteTransaction();

    // On an error the transaction is rolled back.
    Status commit();

 private:
    friend class SqliteConnection;
    explicit SqliteTransaction(detail::SqliteHandle& handle);
    void roll_back();

    detail::SqliteHandle* handle_;
};

class SqliteConnection {
 public:
    // Opens the file, makes it (mode 0600) where there is none, and brings its schema up to date in
    // one transaction. Of several processes that do so at once one migrates and the others wait. A
    // file whose schema is newer than `schema` is left as it is: kConflict, with both versions. The
    // folder must exist. WAL, foreign keys on, no functions with side effects from the schema.
    static Result<SqliteConnection> open(const std::string& path, SqliteSchema schema,
                                         const SqliteOptions& options = {});

    // The same file, to be looked at beside whoever uses it: nothing is made or migrated, and every
    // change is refused. A file that is not there reads as an empty one; one of any other schema
    // version is kConflict, with both versions.
    static Result<SqliteConnection> open_to_read(const std::string& path, SqliteSchema schema,
                                                 const SqliteOptions& options = {});
    // Gone with the connection.
    static Result<SqliteConnection> open_in_memory(SqliteSchema schema);

    SqliteConnection(SqliteConnection&&) noexcept;
    SqliteConnection& operator=(SqliteConnection&&) noexcept;
    ~SqliteConnection();

    // One statement with ?1, ?2, ... for `parameters` (their number must be right, which is
    // asserted); `sql` is a constant of ours, since each text stays prepared.
    Result<SqliteStatement> query(std::string_view sql,
                                  std::initializer_list<SqliteValue> parameters = {});
    // The same for a statement without rows; how many rows it changed.
    Result<std::int64_t> change(std::string_view sql,
                                std::initializer_list<SqliteValue> parameters = {});
    // The same for a query with one row of one number; kNotFound when there is no row.
    Result<std::int64_t> integer(std::string_view sql,
                                 std::initializer_list<SqliteValue> parameters = {});

    // Statements without parameters, one after the other, not kept.
    Status execute(const std::string& script);

    Result<SqliteTransaction> begin(SqliteTransaction::Mode mode);

    // Reads the whole file; kUnavailable with the first finding when it is damaged.
    Status check_integrity();

    const std::string& path() const;

 private:
    explicit SqliteConnection(std::unique_ptr<detail::SqliteHandle> handle);
    static Result<SqliteConnection> open_existing(const std::string& path);
    Status configure(const SqliteOptions& options);
    Status switch_to_wal();
    Status migrate(SqliteSchema schema);
    Status require_version(SqliteSchema schema);

    std::unique_ptr<detail::SqliteHandle> handle_;
};

}  // namespace sluice::io
