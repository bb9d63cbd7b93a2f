#include "io/postgres_schema.h"

#include <cstdint>
#include <string>
#include <utility>

namespace sluice::io {

namespace {

// Names the lock among those that others may take in the same database: "sluice".
constexpr std::string_view kLock = "SELECT pg_advisory_xact_lock(126943898952549)";
constexpr std::string_view kHasTable =
    "SELECT count(*) FROM pg_class WHERE oid = to_regclass('sluice_schema')";
constexpr std::string_view kVersion = "SELECT version FROM sluice_schema WHERE store = $1";
constexpr std::string_view kSetVersion =
    "INSERT INTO sluice_schema (store, version) VALUES ($1, $2)"
    " ON CONFLICT (store) DO UPDATE SET version = excluded.version";
constexpr const char* kMakeTable =
    "CREATE TABLE sluice_schema (store TEXT PRIMARY KEY, version BIGINT NOT NULL)";

std::int64_t newest(const PostgresSchema& schema) {
    return static_cast<std::int64_t>(schema.steps.size());
}

// 0: there are no tables.
Task<Result<std::int64_t>> version_of(PostgresSession& session, PostgresSchema schema) {
    CO_TRY(const PostgresRows tables, co_await session.query(kHasTable));
    if (tables.integer(0, 0) == 0) {
        co_return std::int64_t{0};
    }
    PostgresValues store{schema.store};
    CO_TRY(const PostgresRows rows, co_await session.query(kVersion, std::move(store)));
    co_return rows.empty() ? std::int64_t{0} : rows.integer(0, 0);
}

Error wrong_version(const PostgresSchema& schema, std::int64_t found) {
    const bool is_newer = found > newest(schema);
    return Error{Code::kConflict, Blame::kCaller,
                 "the tables of the store '" + std::string(schema.store) +
                     "' in the database are of version " + std::to_string(found) +
                     ", and this program knows version " + std::to_string(newest(schema)) +
                     (is_newer ? "; start the newer program that made them, or name another "
                                 "database (setting database.url)"
                               : "; `sluice serve` brings them up to date"),
                 std::nullopt};
}

// The first step failed with `found`, on what is there: of which version that is, nobody can know.
Error unknown_version(const PostgresSchema& schema, const Error& found) {
    const std::string store(schema.store);
    return Error{Code::kConflict, Blame::kCaller,
                 "the database has tables of the store '" + store +
                     "', and no row of sluice_schema says of which version they are (" +
                     found.message +
                     "); restore the database from a backup, or name an empty one (setting "
                     "database.url); where you know that this version wrote them: INSERT INTO "
                     "sluice_schema VALUES ('" +
                     store + "', " + std::to_string(newest(schema)) + ")",
                 std::nullopt};
}

Task<Status> take_steps(PostgresSession& session, PostgresSchema schema, std::int64_t version) {
    for (std::int64_t next = version; next < newest(schema); ++next) {
        std::string step(schema.steps[static_cast<std::size_t>(next)].sql);
        Status taken = co_await session.script(std::move(step), kMigrationTimeout);
        if (!taken.ok() && version == 0 && taken.error().code == Code::kConflict) {
            co_return unknown_version(schema, taken.error());
        }
        CO_TRY_STATUS(std::move(taken));
    }
    PostgresValues values{schema.store, newest(schema)};
    CO_TRY(const PostgresRows written, co_await session.query(kSetVersion, std::move(values)));
    co_return Status();
}

}  // namespace

Task<Status> migrate(PostgresSession& session, PostgresSchema schema) {
    CO_TRY(std::int64_t version, co_await version_of(session, schema));
    if (version == newest(schema)) {
        co_return Status();
    }
    CO_TRY_STATUS(co_await session.begin());
    std::string lock("SET LOCAL statement_timeout = ");
    lock.append(std::to_string(kMigrationTimeout.count())).append(";").append(kLock);
    CO_TRY_STATUS(co_await session.script(std::move(lock), kMigrationTimeout));
    CO_TRY(const PostgresRows tables, co_await session.query(kHasTable));
    if (tables.integer(0, 0) == 0) {
        CO_TRY_STATUS(co_await session.script(kMakeTable, kMigrationTimeout));
    }
    // Again under the lock: somebody else may have been first in between.
    CO_TRY(version, co_await version_of(session, schema));
    if (version > newest(schema)) {
        co_return wrong_version(schema, version);
    }
    CO_TRY_STATUS(co_await take_steps(session, schema, version));
    co_return co_await session.commit();
}

Task<Status> require_version(PostgresSession& session, PostgresSchema schema) {
    CO_TRY(const std::int64_t version, co_await version_of(session, schema));
    if (version == 0) {
        co_return Error{Code::kNotFound, Blame::kCaller,
                        "there is nothing of a gateway in the database yet; `sluice serve` makes "
                        "its tables",
                        std::nullopt};
    }
    if (version != newest(schema)) {
        co_return wrong_version(schema, version);
    }
    co_return Status();
}

}  // namespace sluice::io
