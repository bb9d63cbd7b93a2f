#include "access/postgres_token_store.h"

#include "access/token_rows.h"
#include "io/postgres_history.h"

#include <array>
#include <utility>

namespace sluice::access {

namespace {

using io::PostgresBytes;
using io::PostgresRows;
using io::PostgresSession;
using io::PostgresValues;

// As the tables of access/sqlite_token_store.cc are. Who changes something bumps the revision
// first, which makes all others that do so wait until it has committed: so revisions come into
// sight in their order.
constexpr std::array kSteps = {
    io::PostgresMigration{R"sql(
        CREATE TABLE sluice_token (
            id TEXT PRIMARY KEY,
            label TEXT NOT NULL,
            scopes TEXT NOT NULL,
            created_at BIGINT NOT NULL,
            expires_at BIGINT,
            requests_per_minute BIGINT,
            last4 TEXT NOT NULL,
            revoked_at BIGINT,
            digest BYTEA NOT NULL CHECK (length(digest) = 32),
            calls_day BIGINT,
            calls_month BIGINT,
            calls_total BIGINT,
            micro_usd_day BIGINT,
            micro_usd_month BIGINT,
            micro_usd_total BIGINT
        );
        CREATE TABLE sluice_token_revision (
            row BIGINT PRIMARY KEY CHECK (row = 1),
            revision BIGINT NOT NULL
        );
        INSERT INTO sluice_token_revision VALUES (1, 0);
    )sql"},
    io::kHistoryStep,
    io::PostgresMigration{R"sql(
        DELETE FROM sluice_history WHERE store = 'access';
        CREATE TRIGGER sluice_token_noted AFTER UPDATE OF revision ON sluice_token_revision
            FOR EACH ROW EXECUTE FUNCTION sluice_note_revision('access');
        UPDATE sluice_token_revision SET revision = revision + 1;
    )sql"},
};

constexpr std::string_view kSelect =
    "SELECT id, label, scopes, created_at, expires_at, requests_per_minute, last4, revoked_at,"
    " digest, calls_day, calls_month, calls_total, micro_usd_day, micro_usd_month,"
    " micro_usd_total FROM sluice_token ORDER BY created_at, id COLLATE \"C\"";
constexpr std::string_view kSelectOne =
    "SELECT id, label, scopes, created_at, expires_at, requests_per_minute, last4, revoked_at,"
    " digest, calls_day, calls_month, calls_total, micro_usd_day, micro_usd_month,"
    " micro_usd_total FROM sluice_token WHERE id = $1";
constexpr std::string_view kInsert =
    "INSERT INTO sluice_token (id, label, scopes, created_at, expires_at, requests_per_minute,"
    " last4, digest, calls_day, calls_month, calls_total, micro_usd_day, micro_usd_month,"
    " micro_usd_total) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";
constexpr std::string_view kBump = "UPDATE sluice_token_revision SET revision = revision + 1";
constexpr std::string_view kRevision =
    "SELECT r.revision, coalesce(h.mark, '') FROM sluice_token_revision r"
    " LEFT JOIN sluice_history h ON h.store = 'access' AND h.revision = r.revision";
constexpr std::string_view kNotify = "SELECT pg_notify('sluice_tokens', '')";

// A row of either query.
Result<StoredToken> read_token(const PostgresRows& rows, std::size_t row) {
    StoredToken token;
    token.record.id = rows.text(row, 0);
    TRY_STATUS(read_scopes_and_digest(rows.text(row, 2), rows.text(row, 8), token));
    token.record.label = rows.text(row, 1);
    token.record.created_at = from_stored(rows.integer(row, 3));
    token.record.expires_at = from_stored(rows.optional_integer(row, 4));
    token.record.requests_per_minute = rows.optional_integer(row, 5);
    token.record.last4 = rows.text(row, 6);
    token.record.revoked_at = from_stored(rows.optional_integer(row, 7));
    for (std::size_t i = 0; i < kPeriods; ++i) {
        token.record.budget.calls[i] = rows.optional_integer(row, 9 + i);
        token.record.budget.micro_usd[i] = rows.optional_integer(row, 12 + i);
    }
    return token;
}

Task<Status> insert_token(PostgresSession& db, const StoredToken& token) {
    const TokenRecord& record = token.record;
    PostgresValues old{forget_before(record.created_at)};
    CO_TRY(const PostgresRows forgotten,
           co_await db.query("DELETE FROM sluice_token WHERE revoked_at < $1", std::move(old)));
    CO_TRY(const PostgresRows kept, co_await db.query("SELECT count(*) FROM sluice_token"));
    if (kept.integer(0, 0) >= static_cast<std::int64_t>(kMaxTokens)) {
        co_return too_many_tokens();
    }
    PostgresValues values{record.id,
                          record.label,
                          record.scopes.to_string(),
                          to_stored(record.created_at),
                          to_stored(record.expires_at),
                          record.requests_per_minute,
                          record.last4,
                          PostgresBytes{bytes_of(token.digest)},
                          record.budget.calls[0],
                          record.budget.calls[1],
                          record.budget.calls[2],
                          record.budget.micro_usd[0],
                          record.budget.micro_usd[1],
                          record.budget.micro_usd[2]};
    CO_TRY(const PostgresRows inserted, co_await db.query(kInsert, std::move(values)));
    co_return Status();
}

// Ends what changed something.
Task<Status> notify_and_commit(PostgresSession& db) {
    CO_TRY(const PostgresRows told, co_await db.query(kNotify));
    co_return co_await db.commit();
}

enum class When : std::uint8_t { kAlways, kNoneIsActive };

// False when `when` says that there is no need.
Task<Result<bool>> add_in_transaction(PostgresSession& db, StoredToken token, When when) {
    CO_TRY_STATUS(co_await db.begin());
    CO_TRY(const PostgresRows bumped, co_await db.query(kBump));
    if (when == When::kNoneIsActive) {
        CO_TRY(const PostgresRows active,
               co_await db.query("SELECT count(*) FROM sluice_token WHERE revoked_at IS NULL"));
        if (active.integer(0, 0) > 0) {
            co_return false;
        }
    }
    CO_TRY_STATUS(co_await insert_token(db, token));
    CO_TRY_STATUS(co_await notify_and_commit(db));
    co_return true;
}

Task<Result<TokenRecord>> revoke_in_transaction(PostgresSession& db, std::string id, WallTime now) {
    CO_TRY_STATUS(co_await db.begin());
    CO_TRY(const PostgresRows bumped, co_await db.query(kBump));
    PostgresValues revoked{id, to_stored(now)};
    CO_TRY(const PostgresRows changed, co_await db.query("UPDATE sluice_token SET revoked_at = $2"
                                                         " WHERE id = $1 AND revoked_at IS NULL",
                                                         std::move(revoked)));
    PostgresValues one{id};
    CO_TRY(const PostgresRows rows, co_await db.query(kSelectOne, std::move(one)));
    if (rows.empty()) {
        co_return no_such_token();
    }
    CO_TRY(StoredToken token, read_token(rows, 0));
    if (changed.changed() > 0) {
        CO_TRY_STATUS(co_await notify_and_commit(db));
    }
    co_return std::move(token.record);
}

Task<Result<StoreRevision>> read_revision(PostgresSession& db) {
    return io::read_revision(db, kRevision);
}

Task<Result<TokenSet>> load_in_transaction(PostgresSession& db) {
    // One snapshot: a revision with another one's tokens would hide a change.
    CO_TRY_STATUS(co_await db.begin_snapshot());
    TokenSet set;
    CO_TRY(set.revision, co_await read_revision(db));
    CO_TRY(const PostgresRows rows, co_await db.query(kSelect));
    CO_TRY_STATUS(co_await db.commit());
    for (std::size_t row = 0; row < rows.size(); ++row) {
        CO_TRY(StoredToken token, read_token(rows, row));
        set.tokens.push_back(std::move(token));
    }
    co_return set;
}

Task<Result<std::optional<IssuedToken>>> issue(io::PostgresClient& client, NewToken token,
                                               When when, WallTime now, Random& random) {
    CO_TRY_STATUS(validate(token, now));
    TokenText text = make_token_text(random);
    StoredToken stored = to_stored_token(token, text, now);
    auto work = [stored, when](PostgresSession& db) {
        return add_in_transaction(db, stored, when);
    };
    CO_TRY(const bool added, co_await client.run(std::move(work)));
    if (!added) {
        co_return std::optional<IssuedToken>();
    }
    co_return std::optional<IssuedToken>(to_issued(std::move(stored), std::move(text)));
}

}  // namespace

io::PostgresSchema postgres_token_schema() {
    return {"access", kSteps};
}

PostgresTokenStore::PostgresTokenStore(io::PostgresClient& client, const Clock& clock,
                                       Random& random)
    : client_(client), clock_(clock), random_(random) {}

Task<Result<IssuedToken>> PostgresTokenStore::add(NewToken token) {
    CO_TRY(auto issued,
           co_await issue(client_, std::move(token), When::kAlways, clock_.wall_now(), random_));
    co_return std::move(issued).value();
}

Task<Result<std::optional<IssuedToken>>> PostgresTokenStore::add_first(NewToken token) {
    co_return co_await issue(client_, std::move(token), When::kNoneIsActive, clock_.wall_now(),
                             random_);
}

Task<Result<TokenRecord>> PostgresTokenStore::revoke(std::string id) {
    auto work = [id = std::move(id), now = clock_.wall_now()](PostgresSession& db) {
        return revoke_in_transaction(db, id, now);
    };
    co_return co_await client_.run(std::move(work));
}

Task<Result<TokenSet>> PostgresTokenStore::load() {
    co_return co_await client_.run(load_in_transaction);
}

Task<Result<StoreRevision>> PostgresTokenStore::revision() {
    co_return co_await client_.run(read_revision);
}

}  // namespace sluice::access
