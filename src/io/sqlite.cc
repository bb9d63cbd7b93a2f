#include "io/sqlite.h"

#include <sqlite3.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_map>
#include <utility>

namespace sluice::io {

namespace {

constexpr std::size_t kMaxKeptStatements = 128;
constexpr Millis kBusyRetryAfter{1'000};
// While a file is opened its first opener may be switching it to WAL or migrating it.
constexpr Millis kOpenBusyTimeout{10'000};
constexpr Millis kWalRetryDelay{5};  // between tries to change the mode of a fresh file
// What is left of the WAL file after a checkpoint is cut to this.
constexpr const char* kConfiguration =
    "PRAGMA journal_size_limit = 16777216;"
    "PRAGMA foreign_keys = ON;"
    "PRAGMA trusted_schema = OFF;";

constexpr const char* kReadingConfiguration =
    "PRAGMA query_only = ON;"
    "PRAGMA trusted_schema = OFF;";

struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
        return std::hash<std::string_view>()(text);
    }
};

Error gateway_error(Code code, std::string message) {
    return Error{code, Blame::kGateway, std::move(message), std::nullopt};
}

// What a SQLite result code means to an operator, and nothing where SQLite's own words must do.
std::string_view advice_for(int primary_code) {
    switch (primary_code) {
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return "another process holds its lock: end that one, or wait for it";
        case SQLITE_FULL:
            return "the disk is full: free some space";
        case SQLITE_READONLY:
            return "it cannot be written: check the permissions of file and folder";
        case SQLITE_CANTOPEN:
        case SQLITE_PERM:
        case SQLITE_AUTH:
            return "it cannot be opened: check the permissions of file and folder";
        case SQLITE_CORRUPT:
            return "it is damaged: restore it from a backup";
        case SQLITE_NOTADB:
            return "it is not a SQLite database: move it away or restore a backup";
        default:
            return {};
    }
}

Code code_for(int primary_code) {
    switch (primary_code) {
        case SQLITE_CONSTRAINT:
            return Code::kConflict;
        // SQL that does not fit the schema, a misuse of the library: mistakes of ours.
        case SQLITE_ERROR:
        case SQLITE_MISUSE:
        case SQLITE_RANGE:
        case SQLITE_MISMATCH:
        case SQLITE_INTERNAL:
            return Code::kInternal;
        default:
            return Code::kUnavailable;
    }
}

Error error_from(int code, std::string_view database, std::string_view detail) {
    const int primary = code & 0xff;
    const std::string_view advice = advice_for(primary);
    Error error = gateway_error(code_for(primary), "database " + std::string(database) + ": ");
    error.message += advice.empty() ? detail : advice;
    if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED) {
        error.retry_after = kBusyRetryAfter;
    }
    return error;
}

std::string_view file_name_of(std::string_view path) {
    return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

// SQLite would make the file readable for everybody that the umask lets. It is made without being
// opened: closing a descriptor of a database would drop the locks that this process has on it.
Status ensure_private_file(const std::string& path) {
    constexpr mode_t kPrivate = S_IRUSR | S_IWUSR;
    if (::mknod(path.c_str(), S_IFREG | kPrivate, 0) == 0) {
        return {};
    }
    const int reason = errno;
    struct stat found{};
    if (reason != EEXIST || ::stat(path.c_str(), &found) != 0) {
        return gateway_error(Code::kUnavailable,
                             "database " + path + ": it cannot be made: " + std::strerror(reason));
    }
    if (!S_ISREG(found.st_mode)) {
        return gateway_error(Code::kUnavailable, "database " + path + ": it is not a file");
    }
    return {};
}

// Whether the file that was opened holds a database, or nothing yet. Asked by SQLite's own
// descriptor, for the same reason.
bool is_database(sqlite3* database, const std::string& path) {
    static constexpr std::string_view kMagic("SQLite format 3\0", 16);
    sqlite3_file* file = nullptr;
    sqlite3_int64 size = 0;
    std::array<char, kMagic.size()> head{};
    if (sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK ||
        file->pMethods == nullptr || file->pMethods->xFileSize(file, &size) != SQLITE_OK) {
        return false;
    }
    // SQLite puts back what a power cut left half written, the head included.
    const bool is_unfinished = ::access((path + "-journal").c_str(), F_OK) == 0;
    return size == 0 || is_unfinished ||
           (size >= static_cast<sqlite3_int64>(head.size()) &&
            file->pMethods->xRead(file, head.data(), static_cast<int>(head.size()), 0) ==
                SQLITE_OK &&
            std::string_view(head.data(), head.size()) == kMagic);
}

// A wider mode is narrowed as far as we may, before files beside it get the same: a file of another
// owner stays as that owner wants.
void make_private(const std::string& path) {
    struct stat found{};
    if (::stat(path.c_str(), &found) == 0 && (found.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        static_cast<void>(::chmod(path.c_str(), found.st_mode & S_IRWXU));
    }
}

}  // namespace

namespace detail {

struct SqliteCachedStatement {
    sqlite3_stmt* statement = nullptr;
    bool in_use = false;
};

// A connection's state at a fixed address, so that statements and transactions can point to it.
struct SqliteHandle {
    SqliteHandle() = default;
    SqliteHandle(const SqliteHandle&) = delete;
    SqliteHandle& operator=(const SqliteHandle&) = delete;
    ~SqliteHandle() {
        for (auto& [sql, kept] : statements) {
            SLUICE_ASSERT(!kept.in_use);
            sqlite3_finalize(kept.statement);
        }
        SLUICE_ASSERT(sqlite3_close(database) == SQLITE_OK);
    }

    Error error() const {
        return error_from(sqlite3_extended_errcode(database), file_name_of(path),
                          sqlite3_errmsg(database));
    }

    Status execute(const char* script) {
        if (sqlite3_exec(database, script, nullptr, nullptr, nullptr) != SQLITE_OK) {
            return error();
        }
        return {};
    }

    Result<SqliteCachedStatement*> prepare(std::string_view sql);
    void forget_idle_statements();

    sqlite3* database = nullptr;
    std::string path;
    // One text has several entries while it is used again inside a loop over its own rows.
    std::unordered_multimap<std::string, SqliteCachedStatement, TextHash, std::equal_to<>>
        statements;
};

Result<SqliteCachedStatement*> SqliteHandle::prepare(std::string_view sql) {
    const auto [first, last] = statements.equal_range(sql);
    for (auto it = first; it != last; ++it) {
        if (!it->second.in_use) {
            return &it->second;
        }
    }
    if (statements.size() >= kMaxKeptStatements) {
        forget_idle_statements();
    }
    sqlite3_stmt* statement = nullptr;
    const char* tail = nullptr;
    if (sqlite3_prepare_v3(database, sql.data(), static_cast<int>(sql.size()),
                           SQLITE_PREPARE_PERSISTENT, &statement, &tail) != SQLITE_OK) {
        return error();
    }
    SLUICE_ASSERT(statement != nullptr &&
                  tail == sql.data() + sql.size());  // exactly one statement
    auto entry = statements.emplace(std::string(sql), SqliteCachedStatement{statement, false});
    return &entry->second;
}

void SqliteHandle::forget_idle_statements() {
    std::erase_if(statements, [](const auto& entry) {
        if (entry.second.in_use) {
            return false;
        }
        sqlite3_finalize(entry.second.statement);
        return true;
    });
}

}  // namespace detail

// ---- statements -------------------------------------------------------------------------------

SqliteStatement::SqliteStatement(detail::SqliteHandle& handle,
                                 detail::SqliteCachedStatement& cached)
    : handle_(&handle), cached_(&cached) {
    cached_->in_use = true;
}

SqliteStatement::SqliteStatement(SqliteStatement&& other) noexcept
    : handle_(other.handle_), cached_(std::exchange(other.cached_, nullptr)) {}

SqliteStatement& SqliteStatement::operator=(SqliteStatement&& other) noexcept {
    if (this != &other) {
        give_back();
        handle_ = other.handle_;
        cached_ = std::exchange(other.cached_, nullptr);
    }
    return *this;
}

SqliteStatement::~SqliteStatement() {
    give_back();
}

void SqliteStatement::give_back() {
    if (cached_ == nullptr) {
        return;
    }
    // Both repeat or clear what step() reported already; a parameter may be a secret's hash.
    sqlite3_reset(cached_->statement);
    sqlite3_clear_bindings(cached_->statement);
    cached_->in_use = false;
    cached_ = nullptr;
}

Result<bool> SqliteStatement::next() {
    switch (sqlite3_step(cached_->statement)) {
        case SQLITE_ROW:
            return true;
        case SQLITE_DONE:
            return false;
        default:
            return handle_->error();
    }
}

bool SqliteStatement::is_null(int column) const {
    return sqlite3_column_type(cached_->statement, column) == SQLITE_NULL;
}

std::int64_t SqliteStatement::integer(int column) const {
    return sqlite3_column_int64(cached_->statement, column);
}

double SqliteStatement::real(int column) const {
    return sqlite3_column_double(cached_->statement, column);
}

std::string_view SqliteStatement::text(int column) const {
    // The pointer first: asking for it may convert the value and so change its length.
    const auto* bytes = sqlite3_column_text(cached_->statement, column);
    const int size = sqlite3_column_bytes(cached_->statement, column);
    return {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

std::string_view SqliteStatement::blob(int column) const {
    const void* bytes = sqlite3_column_blob(cached_->statement, column);
    const int size = sqlite3_column_bytes(cached_->statement, column);
    return {static_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

std::optional<std::int64_t> SqliteStatement::optional_integer(int column) const {
    if (is_null(column)) {
        return std::nullopt;
    }
    return integer(column);
}

// ---- transactions -----------------------------------------------------------------------------

SqliteTransaction::SqliteTransaction(detail::SqliteHandle& handle) : handle_(&handle) {}

SqliteTransaction::SqliteTransaction(SqliteTransaction&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)) {}

SqliteTransaction::~SqliteTransaction() {
    roll_back();
}

void SqliteTransaction::roll_back() {
    if (handle_ == nullptr) {
        return;
    }
    // A full disk or an I/O error ends a transaction by itself. A ROLLBACK that fails has nothing
    // that could be done about it: what was not committed is not in the file either way.
    if (sqlite3_get_autocommit(handle_->database) == 0) {
        static_cast<void>(handle_->execute("ROLLBACK"));
    }
    handle_ = nullptr;
}

Status SqliteTransaction::commit() {
    SLUICE_ASSERT(handle_ != nullptr);
    Status done = handle_->execute("COMMIT");
    roll_back();
    return done;
}

// ---- connections ------------------------------------------------------------------------------

SqliteConnection::SqliteConnection(std::unique_ptr<detail::SqliteHandle> handle)
    : handle_(std::move(handle)) {}
SqliteConnection::SqliteConnection(SqliteConnection&&) noexcept = default;
SqliteConnection& SqliteConnection::operator=(SqliteConnection&&) noexcept = default;
SqliteConnection::~SqliteConnection() = default;

Result<SqliteConnection> SqliteConnection::open(const std::string& path, SqliteSchema schema,
                                                const SqliteOptions& options) {
    TRY_STATUS(ensure_private_file(path));
    TRY(auto connection, open_existing(path));
    if (sqlite3_db_readonly(connection.handle_->database, "main") != 0) {
        return error_from(SQLITE_READONLY, path, {});
    }
    if (!is_database(connection.handle_->database, path)) {
        return error_from(SQLITE_NOTADB, path, {});  // somebody else's, and left as it is
    }
    make_private(path);
    TRY_STATUS(connection.configure(options));
    TRY_STATUS(connection.migrate(schema));
    sqlite3_busy_timeout(connection.handle_->database,
                         static_cast<int>(options.busy_timeout.count()));
    return connection;
}

// Without SQLITE_OPEN_READONLY: such a connection can't open a file in WAL mode that nobody else
// has open, unless it leaves files beside it. SQLite itself falls back to reading only where it has
// to.
Result<SqliteConnection> SqliteConnection::open_to_read(const std::string& path,
                                                        SqliteSchema schema,
                                                        const SqliteOptions& options) {
    struct stat found{};
    if (::stat(path.c_str(), &found) != 0 && errno == ENOENT) {
        return open_in_memory(schema);
    }
    TRY(auto connection, open_existing(path));
    sqlite3* database = connection.handle_->database;
    sqlite3_busy_timeout(database, static_cast<int>(options.busy_timeout.count()));
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    TRY_STATUS(connection.execute(kReadingConfiguration));
    TRY_STATUS(connection.require_version(schema));
    return connection;
}

Result<SqliteConnection> SqliteConnection::open_in_memory(SqliteSchema schema) {
    TRY(auto connection, open_existing(":memory:"));
    TRY_STATUS(connection.migrate(schema));
    return connection;
}

Result<SqliteConnection> SqliteConnection::open_existing(const std::string& path) {
    auto handle = std::make_unique<detail::SqliteHandle>();
    handle->path = path;
    // One thread at a time uses a connection, so SQLite's own mutexes would only cost.
    constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    const int opened = sqlite3_open_v2(path.c_str(), &handle->database, kFlags, nullptr);
    if (opened != SQLITE_OK) {
        return error_from(opened, path, sqlite3_errstr(opened));
    }
    return SqliteConnection(std::move(handle));
}

Status SqliteConnection::configure(const SqliteOptions& options) {
    sqlite3* database = handle_->database;
    sqlite3_busy_timeout(database, static_cast<int>(kOpenBusyTimeout.count()));
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    TRY_STATUS(execute(kConfiguration));
    const bool full = options.synchronous == SqliteOptions::Synchronous::kFull;
    TRY_STATUS(execute(full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL"));

    return switch_to_wal();
}

// Of several connections that find a fresh file at once SQLite lets one change its mode and refuses
// the others without waiting, whatever the busy timeout is; at other locks it would wait that long
// in every round. So each round only asks, and the rounds together take kOpenBusyTimeout.
Status SqliteConnection::switch_to_wal() {
    sqlite3_busy_timeout(handle_->database, 0);
    for (Millis waited{0};; waited += kWalRetryDelay) {
        Result<SqliteStatement> mode = query("PRAGMA journal_mode = WAL");
        const Result<bool> answered = mode.ok() ? mode->next() : Result<bool>(mode.error());
        if (answered.ok() && *answered && mode->text(0) == "wal") {
            sqlite3_busy_timeout(handle_->database, static_cast<int>(kOpenBusyTimeout.count()));
            return {};
        }
        const bool is_busy = !answered.ok() && answered.error().retry_after.has_value();
        if (!answered.ok() && !is_busy) {
            return answered.error();
        }
        if (waited >= kOpenBusyTimeout) {
            return is_busy ? answered.error()
                           : gateway_error(Code::kUnavailable,
                                           "database " + path() +
                                               ": its file system does not support WAL: use a "
                                               "local disk");
        }
        sqlite3_sleep(static_cast<int>(kWalRetryDelay.count()));
    }
}

Status SqliteConnection::require_version(SqliteSchema schema) {
    const auto known = static_cast<std::int64_t>(schema.size());
    TRY(const std::int64_t version, integer("PRAGMA user_version"));
    if (version == known) {
        return {};
    }
    const bool is_older = version >= 0 && version < known;
    return gateway_error(Code::kConflict,
                         "database " + path() + " has schema version " + std::to_string(version) +
                             ", this program reads version " + std::to_string(known) + ": " +
                             (is_older ? "`sluice serve` of this version brings it up to date"
                                       : "use the newer program, or restore a backup"));
}

Status SqliteConnection::migrate(SqliteSchema schema) {
    const auto known = static_cast<std::int64_t>(schema.size());
    TRY(std::int64_t version, integer("PRAGMA user_version"));
    if (version == known) {
        return {};
    }
    TRY(auto transaction, begin(SqliteTransaction::Mode::kImmediate));
    // Read again under the write lock: another process may have migrated in between.
    TRY(version, integer("PRAGMA user_version"));
    if (version < 0 || version > known) {
        return gateway_error(Code::kConflict, "database " + path() + " has schema version " +
                                                  std::to_string(version) +
                                                  ", this program knows versions up to " +
                                                  std::to_string(known) +
                                                  ": use the newer program, or restore a backup");
    }
    for (const SqliteMigration& step : schema.subspan(static_cast<std::size_t>(version))) {
        TRY_STATUS(execute(std::string(step.sql)));
    }
    TRY_STATUS(execute("PRAGMA user_version = " + std::to_string(known)));
    return transaction.commit();
}

Result<SqliteStatement> SqliteConnection::query(std::string_view sql,
                                                std::initializer_list<SqliteValue> parameters) {
    TRY(auto* cached, handle_->prepare(sql));
    SqliteStatement statement(*handle_, *cached);
    sqlite3_stmt* raw = cached->statement;
    SLUICE_ASSERT(sqlite3_bind_parameter_count(raw) == static_cast<int>(parameters.size()));
    int index = 0;
    for (const SqliteValue& parameter : parameters) {
        index += 1;
        int bound = SQLITE_OK;  // an unbound parameter is NULL
        if (const auto* number = std::get_if<std::int64_t>(&parameter.value_)) {
            bound = sqlite3_bind_int64(raw, index, *number);
        } else if (const auto* real = std::get_if<double>(&parameter.value_)) {
            bound = sqlite3_bind_double(raw, index, *real);
        } else if (const auto* text = std::get_if<std::string_view>(&parameter.value_)) {
            bound = sqlite3_bind_text64(raw, index, text->empty() ? "" : text->data(), text->size(),
                                        SQLITE_TRANSIENT, SQLITE_UTF8);
        } else if (const auto* blob = std::get_if<SqliteBlob>(&parameter.value_)) {
            bound = sqlite3_bind_blob64(raw, index, blob->bytes.empty() ? "" : blob->bytes.data(),
                                        blob->bytes.size(), SQLITE_TRANSIENT);
        }
        if (bound != SQLITE_OK) {
            return handle_->error();
        }
    }
    return statement;
}

Result<std::int64_t> SqliteConnection::change(std::string_view sql,
                                              std::initializer_list<SqliteValue> parameters) {
    TRY(auto statement, query(sql, parameters));
    TRY(const bool row, statement.next());
    SLUICE_ASSERT(!row);
    return sqlite3_changes64(handle_->database);
}

Result<std::int64_t> SqliteConnection::integer(std::string_view sql,
                                               std::initializer_list<SqliteValue> parameters) {
    TRY(auto statement, query(sql, parameters));
    TRY(const bool row, statement.next());
    if (!row) {
        return gateway_error(Code::kNotFound, "database " + std::string(file_name_of(path())) +
                                                  ": a row that was asked for is not there");
    }
    return statement.integer(0);
}

Status SqliteConnection::execute(const std::string& script) {
    return handle_->execute(script.c_str());
}

Result<SqliteTransaction> SqliteConnection::begin(SqliteTransaction::Mode mode) {
    SLUICE_ASSERT(sqlite3_get_autocommit(handle_->database) != 0);  // they do not nest
    const bool immediate = mode == SqliteTransaction::Mode::kImmediate;
    TRY_STATUS(handle_->execute(immediate ? "BEGIN IMMEDIATE" : "BEGIN DEFERRED"));
    return SqliteTransaction(*handle_);
}

Status SqliteConnection::check_integrity() {
    TRY(auto findings, query("PRAGMA integrity_check(1)"));
    TRY(const bool row, findings.next());
    if (!row || findings.text(0) != "ok") {
        return gateway_error(Code::kUnavailable,
                             "database " + path() + ": it is damaged: restore it from a backup (" +
                                 std::string(row ? findings.text(0) : "no answer") + ")");
    }
    return {};
}

const std::string& SqliteConnection::path() const {
    return handle_->path;
}

}  // namespace sluice::io
