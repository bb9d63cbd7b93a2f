// Tables of ours in a PostgreSQL, with a version for each store, so that several stores share one
// database and several processes may start at once.
#pragma once

#include "base/result.h"
#include "base/task.h"
#include "io/postgres.h"

#include <span>
#include <string_view>

namespace sluice::io {

// One step in the history of a store's tables. Its version is its place in the list, from 1; a step
// that was released is never changed.
struct PostgresMigration {
    std::string_view sql;  // one or more statements, without transaction control
};

struct PostgresSchema {
    std::string_view store;  // "access": a constant
    std::span<const PostgresMigration> steps;
};

// How long a process waits for another one that migrates, and one step may take.
inline constexpr Millis kMigrationTimeout{60'000};

// Brings the store's tables up to date, all steps or none. Of several processes that do so at once
// one migrates and the others wait. kConflict when they are left as they are: with both versions
// where they are newer than `schema`, and with what to do where nothing says of which version they
// are.
Task<Status> migrate(PostgresSession& session, PostgresSchema schema);

// For who only looks: kNotFound when there are no such tables yet, kConflict when they are of any
// other version.
Task<Status> require_version(PostgresSession& session, PostgresSchema schema);

}  // namespace sluice::io
