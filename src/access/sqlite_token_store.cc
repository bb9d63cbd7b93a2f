#include "access/sqlite_token_store.h"

#include "access/token_rows.h"

#include <array>
#include <utility>

namespace sluice::access {

namespace {

using io::SqliteBlob;
using io::SqliteConnection;
using io::SqliteStatement;
using io::SqliteTransaction;

// Instants are milliseconds since 1970. One row holds the revision, so that a poll reads one page.
constexpr std::array kSchema = {
    io::SqliteMigration{R"sql(
        CREATE TABLE token (
            id TEXT PRIMARY KEY,
            label TEXT NOT NULL,
            scopes TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            expires_at INTEGER,
            requests_per_minute INTEGER,
            last4 TEXT NOT NULL,
            revoked_at INTEGER,
            digest BLOB NOT NULL CHECK (length(digest) = 32)
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE token_revision (
            row INTEGER PRIMARY KEY CHECK (row = 1),
            revision INTEGER NOT NULL
        ) STRICT;
        INSERT INTO token_revision VALUES (1, 0);
    )sql"},
    io::SqliteMigration{R"sql(
        ALTER TABLE token ADD COLUMN calls_day INTEGER;
        ALTER TABLE token ADD COLUMN calls_month INTEGER;
        ALTER TABLE token ADD COLUMN calls_total INTEGER;
        ALTER TABLE token ADD COLUMN micro_usd_day INTEGER;
        ALTER TABLE token ADD COLUMN micro_usd_month INTEGER;
        ALTER TABLE token ADD COLUMN micro_usd_total INTEGER;
    )sql"},
};

constexpr std::string_view kSelect =
    "SELECT id, label, scopes, created_at, expires_at, requests_per_minute, last4, revoked_at,"
    " digest, calls_day, calls_month, calls_total, micro_usd_day, micro_usd_month,"
    " micro_usd_total FROM token ORDER BY created_at, id";
constexpr std::string_view kSelectOne =
    "SELECT id, label, scopes, created_at, expires_at, requests_per_minute, last4, revoked_at,"
    " digest, calls_day, calls_month, calls_total, micro_usd_day, micro_usd_month,"
    " micro_usd_total FROM token WHERE id = ?1";

// A row of either query.
Result<StoredToken> read_token(const SqliteStatement& row) {
    StoredToken token;
    token.record.id = row.text(0);
    TRY_STATUS(read_scopes_and_digest(row.text(2), row.blob(8), token));
    token.record.label = row.text(1);
    token.record.created_at = from_stored(row.integer(3));
    token.record.expires_at = from_stored(row.optional_integer(4));
    token.record.requests_per_minute = row.optional_integer(5);
    token.record.last4 = row.text(6);
    token.record.revoked_at = from_stored(row.optional_integer(7));
    for (std::size_t i = 0; i < kPeriods; ++i) {
        token.record.budget.calls[i] = row.optional_integer(9 + static_cast<int>(i));
        token.record.budget.micro_usd[i] = row.optional_integer(12 + static_cast<int>(i));
    }
    return token;
}

Status bump_revision(SqliteConnection& db) {
    return db.execute("UPDATE token_revision SET revision = revision + 1");
}

Status insert_token(SqliteConnection& db, const StoredToken& token) {
    const TokenRecord& record = token.record;
    TRY_STATUS(
        db.change("DELETE FROM token WHERE revoked_at < ?1", {forget_before(record.created_at)}));
    TRY(const std::int64_t kept, db.integer("SELECT count(*) FROM token"));
    if (kept >= static_cast<std::int64_t>(kMaxTokens)) {
        return too_many_tokens();
    }
    const std::string scopes = record.scopes.to_string();
    TRY_STATUS(
        db.change("INSERT INTO token (id, label, scopes, created_at, expires_at,"
                  " requests_per_minute, last4, digest, calls_day, calls_month, calls_total,"
                  " micro_usd_day, micro_usd_month, micro_usd_total)"
                  " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
                  {record.id, record.label, scopes, to_stored(record.created_at),
                   to_stored(record.expires_at), record.requests_per_minute, record.last4,
                   SqliteBlob{bytes_of(token.digest)}, record.budget.calls[0],
                   record.budget.calls[1], record.budget.calls[2], record.budget.micro_usd[0],
                   record.budget.micro_usd[1], record.budget.micro_usd[2]}));
    return bump_revision(db);
}

enum class When : std::uint8_t { kAlways, kNoneIsActive };

// False when `when` says that there is no need.
Result<bool> add_in_transaction(SqliteConnection& db, const StoredToken& token, When when) {
    TRY(auto transaction, db.begin(SqliteTransaction::Mode::kImmediate));
    if (when == When::kNoneIsActive) {
        TRY(const std::int64_t active,
            db.integer("SELECT count(*) FROM token WHERE revoked_at IS NULL"));
        if (active > 0) {
            return false;
        }
    }
    TRY_STATUS(insert_token(db, token));
    TRY_STATUS(transaction.commit());
    return true;
}

Result<TokenRecord> revoke_in_transaction(SqliteConnection& db, const std::string& id,
                                          WallTime now) {
    TRY(auto transaction, db.begin(SqliteTransaction::Mode::kImmediate));
    TRY(const std::int64_t changed,
        db.change("UPDATE token SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL",
                  {id, to_stored(now)}));
    TRY(auto rows, db.query(kSelectOne, {id}));
    TRY(const bool found, rows.next());
    if (!found) {
        return no_such_token();
    }
    TRY(auto token, read_token(rows));
    if (changed > 0) {
        TRY_STATUS(bump_revision(db));
    }
    TRY_STATUS(transaction.commit());
    return std::move(token.record);
}

Result<StoreRevision> read_revision(SqliteConnection& db) {
    TRY(const std::int64_t number, db.integer("SELECT revision FROM token_revision"));
    return StoreRevision(number);
}

Result<TokenSet> load_in_transaction(SqliteConnection& db) {
    // One snapshot: a revision with another one's tokens would hide a change.
    TRY(auto transaction, db.begin(SqliteTransaction::Mode::kDeferred));
    TokenSet set;
    TRY(set.revision, read_revision(db));
    TRY(auto rows, db.query(kSelect));
    for (;;) {
        TRY(const bool row, rows.next());
        if (!row) {
            return set;
        }
        TRY(auto token, read_token(rows));
        set.tokens.push_back(std::move(token));
    }
}

Task<Result<std::optional<IssuedToken>>> issue(io::SqliteStore& store, NewToken token, When when,
                                               WallTime now, Random& random) {
    CO_TRY_STATUS(validate(token, now));
    TokenText text = make_token_text(random);
    StoredToken stored = to_stored_token(token, text, now);
    auto work = [stored, when](SqliteConnection& db) {
        return add_in_transaction(db, stored, when);
    };
    CO_TRY(const bool added, co_await store.run(std::move(work)));
    if (!added) {
        co_return std::optional<IssuedToken>();
    }
    co_return std::optional<IssuedToken>(to_issued(std::move(stored), std::move(text)));
}

}  // namespace

io::SqliteSchema token_schema() {
    return kSchema;
}

SqliteTokenStore::SqliteTokenStore(io::SqliteStore& store, const Clock& clock, Random& random)
    : store_(store), clock_(clock), random_(random) {}

Task<Result<IssuedToken>> SqliteTokenStore::add(NewToken token) {
    CO_TRY(auto issued,
           co_await issue(store_, std::move(token), When::kAlways, clock_.wall_now(), random_));
    co_return std::move(issued).value();
}

Task<Result<std::optional<IssuedToken>>> SqliteTokenStore::add_first(NewToken token) {
    co_return co_await issue(store_, std::move(token), When::kNoneIsActive, clock_.wall_now(),
                             random_);
}

Task<Result<TokenRecord>> SqliteTokenStore::revoke(std::string id) {
    auto work = [id = std::move(id), now = clock_.wall_now()](SqliteConnection& db) {
        return revoke_in_transaction(db, id, now);
    };
    co_return co_await store_.run(std::move(work));
}

Task<Result<TokenSet>> SqliteTokenStore::load() {
    co_return co_await store_.run(load_in_transaction);
}

Task<Result<StoreRevision>> SqliteTokenStore::revision() {
    co_return co_await store_.run(read_revision);
}

}  // namespace sluice::access
