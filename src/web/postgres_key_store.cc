#include "web/postgres_key_store.h"

#include "io/postgres_history.h"
#include "web/key_rows.h"

#include <array>
#include <chrono>
#include <utility>

namespace sluice::web {

namespace {

using io::PostgresBytes;
using io::PostgresRows;
using io::PostgresSession;
using io::PostgresValues;
using Vault = std::shared_ptr<const KeyVault>;

constexpr std::string_view kPlace = "the database";

// As the tables of web/sqlite_key_store.cc are. Who changes something bumps the revision first,
// which makes all others that do so wait until it has committed: so revisions come into sight in
// their order.
constexpr std::array kSteps = {
    io::PostgresMigration{R"sql(
        CREATE TABLE sluice_key (
            id TEXT PRIMARY KEY,
            provider TEXT NOT NULL,
            label TEXT NOT NULL,
            account TEXT NOT NULL,
            last4 TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('active', 'disabled')),
            weight BIGINT NOT NULL,
            max_in_flight BIGINT,
            quota_limit BIGINT,
            quota_per TEXT,
            engine_id TEXT NOT NULL,
            created_at BIGINT NOT NULL,
            digest BYTEA NOT NULL UNIQUE CHECK (length(digest) = 32),
            vault_key_id TEXT NOT NULL,
            sealed BYTEA NOT NULL,
            used BIGINT NOT NULL DEFAULT 0,
            used_since BIGINT NOT NULL DEFAULT 0,
            changed BIGINT NOT NULL,
            CHECK ((quota_limit IS NULL) = (quota_per IS NULL))
        );
        CREATE INDEX sluice_key_changed ON sluice_key (changed);
        CREATE TABLE sluice_removed_key (
            digest BYTEA PRIMARY KEY CHECK (length(digest) = 32),
            id TEXT NOT NULL,
            removed_at BIGINT NOT NULL,
            changed BIGINT NOT NULL
        );
        CREATE INDEX sluice_removed_key_changed ON sluice_removed_key (changed);
        CREATE TABLE sluice_key_revision (
            row BIGINT PRIMARY KEY CHECK (row = 1),
            revision BIGINT NOT NULL
        );
        INSERT INTO sluice_key_revision VALUES (1, 0);
        CREATE TABLE sluice_key_vault (
            row BIGINT PRIMARY KEY CHECK (row = 1),
            key_id TEXT NOT NULL,
            check_value BYTEA NOT NULL
        );
    )sql"},
    io::kHistoryStep,
    io::PostgresMigration{R"sql(
        DELETE FROM sluice_history WHERE store = 'keys';
        CREATE TRIGGER sluice_key_noted AFTER UPDATE OF revision ON sluice_key_revision
            FOR EACH ROW EXECUTE FUNCTION sluice_note_revision('keys');
        UPDATE sluice_key_revision SET revision = revision + 1;
    )sql"},
};

constexpr std::string_view kSelect =
    "SELECT id, provider, label, account, last4, state, weight, max_in_flight, quota_limit,"
    " quota_per, engine_id, created_at, sealed, used, used_since"
    " FROM sluice_key WHERE changed > $1 ORDER BY created_at, id COLLATE \"C\"";
constexpr std::string_view kSelectOne =
    "SELECT id, provider, label, account, last4, state, weight, max_in_flight, quota_limit,"
    " quota_per, engine_id, created_at FROM sluice_key WHERE id = $1";
constexpr std::string_view kCount = "SELECT count(*) FROM sluice_key";
constexpr std::string_view kIsKept = "SELECT count(*) FROM sluice_key WHERE digest = $1";
constexpr std::string_view kIsRemoved = "SELECT count(*) FROM sluice_removed_key WHERE digest = $1";
constexpr std::string_view kBump =
    "UPDATE sluice_key_revision SET revision = revision + 1 RETURNING revision";
constexpr std::string_view kRevision =
    "SELECT r.revision, coalesce(h.mark, '') FROM sluice_key_revision r LEFT JOIN sluice_history h"
    " ON h.store = 'keys' AND h.revision = r.revision";
constexpr std::string_view kNotify = "SELECT pg_notify('sluice_keys', '')";
constexpr std::string_view kInsert =
    "INSERT INTO sluice_key (id, provider, label, account, last4, state, weight, max_in_flight,"
    " quota_limit, quota_per, engine_id, created_at, digest, vault_key_id, sealed, changed)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)";
constexpr std::string_view kUpdate =
    "UPDATE sluice_key SET state = $2, label = $3, account = $4, weight = $5, max_in_flight = $6,"
    " quota_limit = $7, quota_per = $8, engine_id = $9, changed = $10 WHERE id = $1";
constexpr std::string_view kRemember =
    "INSERT INTO sluice_removed_key (digest, id, removed_at, changed)"
    " SELECT digest, id, $2, $3 FROM sluice_key WHERE id = $1"
    " ON CONFLICT (digest) DO UPDATE SET id = excluded.id, removed_at = excluded.removed_at,"
    " changed = excluded.changed";
constexpr std::string_view kSaveUsage =
    "UPDATE sluice_key AS k SET used_since = u.since,"
    " used = CASE WHEN k.used_since = u.since THEN greatest(k.used, u.used) ELSE u.used END"
    " FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS u (id, since, used)"
    " WHERE k.id = u.id AND u.since >= k.used_since";

// The first twelve columns of either query.
KeyRecord read_record(const PostgresRows& rows, std::size_t row) {
    KeyRecord record;
    record.id = rows.text(row, 0);
    record.provider = rows.text(row, 1);
    record.label = rows.text(row, 2);
    record.account = rows.text(row, 3);
    record.last4 = rows.text(row, 4);
    record.state = stored_state(rows.text(row, 5));
    record.weight = static_cast<std::uint32_t>(rows.integer(row, 6));
    if (const auto bound = rows.optional_integer(row, 7)) {
        record.max_in_flight = static_cast<std::uint32_t>(*bound);
    }
    if (const auto limit = rows.optional_integer(row, 8)) {
        record.quota = make_quota(*limit, rows.text(row, 9)).value();
    }
    record.engine_id = rows.text(row, 10);
    record.created_at = from_stored(rows.integer(row, 11));
    return record;
}

Task<Result<std::int64_t>> number(PostgresSession& db, std::string_view sql,
                                  PostgresValues values = {}) {
    CO_TRY(const PostgresRows rows, co_await db.query_row(sql, std::move(values)));
    co_return rows.integer(0, 0);
}

Task<Result<bool>> has_digest(PostgresSession& db, std::string_view sql, const Sha256& digest) {
    PostgresValues values{PostgresBytes{bytes_of(digest)}};
    CO_TRY(const std::int64_t found, co_await number(db, sql, std::move(values)));
    co_return found > 0;
}

// Ends what changed something.
Task<Status> notify_and_commit(PostgresSession& db) {
    CO_TRY(const PostgresRows told, co_await db.query(kNotify));
    co_return co_await db.commit();
}

Task<Status> insert_key(PostgresSession& db, const KeyVault& vault, Random& random,
                        const NewKey& key, const Sha256& digest, const KeyRecord& record,
                        std::int64_t revision) {
    const std::string sealed = vault.seal(key.secret, record.id, random);
    const StoredQuota quota = to_stored(record.quota);
    PostgresValues values{record.id,
                          record.provider,
                          record.label,
                          record.account,
                          record.last4,
                          to_string(record.state),
                          record.weight,
                          record.max_in_flight,
                          quota.limit,
                          quota.per,
                          record.engine_id,
                          to_stored(record.created_at),
                          PostgresBytes{bytes_of(digest)},
                          vault.key_id(),
                          PostgresBytes{sealed},
                          revision};
    CO_TRY(const PostgresRows inserted, co_await db.query(kInsert, std::move(values)));
    co_return Status();
}

Task<Result<KeyRecord>> add_in_transaction(PostgresSession& db, Vault vault, Random& random,
                                           NewKey key, WallTime now) {
    const Sha256 digest = vault->digest(key.provider, key.secret);
    KeyRecord record = record_of(key, digest, now);
    CO_TRY_STATUS(co_await db.begin());
    CO_TRY(const std::int64_t revision, co_await number(db, kBump));
    CO_TRY(const bool kept, co_await has_digest(db, kIsKept, digest));
    if (kept) {
        co_return key_is_there(record);
    }
    CO_TRY(const std::int64_t count, co_await number(db, kCount));
    if (count >= static_cast<std::int64_t>(kMaxKeys)) {
        co_return too_many_keys();
    }
    PostgresValues forgotten{PostgresBytes{bytes_of(digest)}};
    CO_TRY(const PostgresRows deleted,
           co_await db.query("DELETE FROM sluice_removed_key WHERE digest = $1",
                             std::move(forgotten)));
    CO_TRY_STATUS(co_await insert_key(db, *vault, random, key, digest, record, revision));
    CO_TRY_STATUS(co_await notify_and_commit(db));
    co_return record;
}

Task<Result<std::size_t>> seed_in_transaction(PostgresSession& db, Vault vault, Random& random,
                                              std::vector<NewKey> keys, WallTime now) {
    CO_TRY_STATUS(co_await db.begin());
    // Of no account if nothing is added.
    CO_TRY(const std::int64_t revision, co_await number(db, kBump));
    CO_TRY(std::int64_t count, co_await number(db, kCount));
    std::size_t added = 0;
    for (const NewKey& key : keys) {
        const Sha256 digest = vault->digest(key.provider, key.secret);
        CO_TRY(const bool kept, co_await has_digest(db, kIsKept, digest));
        CO_TRY(const bool removed, co_await has_digest(db, kIsRemoved, digest));
        if (kept || removed) {
            continue;
        }
        if (count >= static_cast<std::int64_t>(kMaxKeys)) {
            co_return too_many_keys();
        }
        // A millisecond apart, so that they stay in the order in which they are named.
        const KeyRecord record = record_of(key, digest, now + Millis(added));
        CO_TRY_STATUS(co_await insert_key(db, *vault, random, key, digest, record, revision));
        added += 1;
        count += 1;
    }
    if (added > 0) {
        CO_TRY_STATUS(co_await notify_and_commit(db));
    }
    co_return added;
}

Task<Result<KeyRecord>> patch_in_transaction(PostgresSession& db, std::string id, KeyPatch patch) {
    CO_TRY_STATUS(co_await db.begin());
    CO_TRY(const std::int64_t revision, co_await number(db, kBump));
    PostgresValues one{id};
    CO_TRY(const PostgresRows rows, co_await db.query(kSelectOne, std::move(one)));
    if (rows.empty()) {
        co_return no_such_key();
    }
    KeyRecord record = read_record(rows, 0);
    apply_patch(record, patch);
    const StoredQuota quota = to_stored(record.quota);
    PostgresValues values{id,
                          to_string(record.state),
                          record.label,
                          record.account,
                          record.weight,
                          record.max_in_flight,
                          quota.limit,
                          quota.per,
                          record.engine_id,
                          revision};
    CO_TRY(const PostgresRows updated, co_await db.query(kUpdate, std::move(values)));
    CO_TRY_STATUS(co_await notify_and_commit(db));
    co_return record;
}

Task<Status> remove_in_transaction(PostgresSession& db, std::string id, WallTime now) {
    CO_TRY_STATUS(co_await db.begin());
    CO_TRY(const std::int64_t revision, co_await number(db, kBump));
    PostgresValues remembered{id, to_stored(now), revision};
    CO_TRY(const PostgresRows kept, co_await db.query(kRemember, std::move(remembered)));
    PostgresValues gone{id};
    CO_TRY(const PostgresRows removed,
           co_await db.query("DELETE FROM sluice_key WHERE id = $1", std::move(gone)));
    if (removed.changed() == 0) {
        co_return no_such_key();
    }
    co_return co_await notify_and_commit(db);
}

Task<Result<StoreRevision>> read_revision(PostgresSession& db) {
    return io::read_revision(db, kRevision);
}

Status read_keys(const PostgresRows& rows, const KeyVault& vault, KeySet& set) {
    for (std::size_t row = 0; row < rows.size(); ++row) {
        StoredKey key;
        key.record = read_record(rows, row);
        Result<Secret> secret = vault.open(rows.text(row, 12), key.record.id);
        if (!secret.ok()) {
            return unreadable_key(key.record.id, std::string(kPlace), secret.error());
        }
        key.secret = *std::move(secret);
        if (rows.integer(row, 13) > 0) {
            set.usage.push_back(
                {key.record.id, from_stored(rows.integer(row, 14)), rows.integer(row, 13)});
        }
        set.keys.push_back(std::move(key));
    }
    return {};
}

Task<Result<KeySet>> load_in_transaction(PostgresSession& db, Vault vault, StoreRevision known) {
    // One snapshot: a revision with another one's keys would hide a change.
    CO_TRY_STATUS(co_await db.begin_snapshot());
    KeySet set;
    CO_TRY(set.revision, co_await read_revision(db));
    CO_TRY(const bool has_been, co_await io::has_been_at(db, "keys", known, set.revision));
    set.is_whole = !has_been;
    const std::int64_t since = has_been ? known.number : 0;
    PostgresValues changed{since};
    CO_TRY(const PostgresRows keys, co_await db.query(kSelect, std::move(changed)));
    CO_TRY_STATUS(read_keys(keys, *vault, set));
    if (!set.is_whole) {
        PostgresValues removed{since};
        CO_TRY(const PostgresRows ids,
               co_await db.query("SELECT id FROM sluice_removed_key WHERE changed > $1",
                                 std::move(removed)));
        for (std::size_t row = 0; row < ids.size(); ++row) {
            set.removed.emplace_back(ids.text(row, 0));
        }
    }
    CO_TRY_STATUS(co_await db.commit());
    co_return set;
}

// The first to come says which secrets key this database belongs to; all others have to have the
// same.
Task<Status> unlock_database(PostgresSession& db, Vault vault, Random& random) {
    const std::string mark = seal_vault_mark(*vault, random);
    PostgresValues first{vault->key_id(), PostgresBytes{mark}};
    CO_TRY(const PostgresRows inserted,
           co_await db.query("INSERT INTO sluice_key_vault VALUES (1, $1, $2)"
                             " ON CONFLICT (row) DO NOTHING",
                             std::move(first)));
    CO_TRY(const PostgresRows rows,
           co_await db.query_row("SELECT key_id, check_value FROM sluice_key_vault"));
    co_return check_vault_mark(*vault, std::string(rows.text(0, 0)), rows.text(0, 1),
                               std::string(kPlace), "name another database (setting database.url)");
}

Error locked() {
    return Error{Code::kUnavailable, Blame::kGateway,
                 "the keys in the database can't be read yet: it was not there at the start, or "
                 "another secrets key was",
                 std::nullopt};
}

Task<Result<bool>> has_vault(PostgresSession& db) {
    CO_TRY(const std::int64_t rows, co_await number(db, "SELECT count(*) FROM sluice_key_vault"));
    co_return rows > 0;
}

Task<Status> save_usage_in_one(PostgresSession& db, std::vector<KeyUsage> usage) {
    std::vector<std::string> ids;
    std::vector<std::string> since;
    std::vector<std::string> used;
    for (KeyUsage& one : usage) {
        ids.push_back(std::move(one.id));
        since.push_back(std::to_string(to_stored(one.period_start)));
        used.push_back(std::to_string(one.used));
    }
    PostgresValues values{io::postgres_array(ids), io::postgres_array(since),
                          io::postgres_array(used)};
    CO_TRY(const PostgresRows saved, co_await db.query(kSaveUsage, std::move(values)));
    co_return Status();
}

}  // namespace

io::PostgresSchema postgres_key_schema() {
    return {"keys", kSteps};
}

PostgresKeyStore::PostgresKeyStore(io::PostgresClient& client, VaultSource vault, Use use,
                                   const Clock& clock, Random& random)
    : client_(client), source_(std::move(vault)), use_(use), clock_(clock), random_(random) {}

Task<Status> PostgresKeyStore::unlock() {
    CO_TRY(const bool has_keys, co_await client_.run(has_vault));
    CO_TRY(KeyVault opened, source_(has_keys));
    auto vault = std::make_shared<const KeyVault>(std::move(opened));
    if (has_keys || use_ == Use::kChange) {
        auto work = [vault, random = &random_](PostgresSession& db) {
            return unlock_database(db, vault, *random);
        };
        CO_TRY_STATUS(co_await client_.run(std::move(work)));
    }
    vault_ = std::move(vault);
    co_return Status();
}

Task<Result<KeyRecord>> PostgresKeyStore::add(NewKey key) {
    CO_TRY_STATUS(validate(key));
    if (!vault_) {
        co_return locked();
    }
    auto work = [vault = vault_, random = &random_, key = std::move(key),
                 now = clock_.wall_now()](PostgresSession& db) {
        return add_in_transaction(db, vault, *random, key, now);
    };
    co_return co_await client_.run(std::move(work));
}

Task<Result<std::size_t>> PostgresKeyStore::seed(std::vector<NewKey> keys) {
    if (!vault_) {
        co_return locked();
    }
    for (const NewKey& key : keys) {
        SLUICE_ASSERT(validate(key).ok());
    }
    auto work = [vault = vault_, random = &random_, keys = std::move(keys),
                 now = clock_.wall_now()](PostgresSession& db) {
        return seed_in_transaction(db, vault, *random, keys, now);
    };
    co_return co_await client_.run(std::move(work));
}

Task<Result<KeyRecord>> PostgresKeyStore::patch(std::string id, KeyPatch patch) {
    CO_TRY_STATUS(validate(patch));
    auto work = [id = std::move(id), patch = std::move(patch)](PostgresSession& db) {
        return patch_in_transaction(db, id, patch);
    };
    co_return co_await client_.run(std::move(work));
}

Task<Status> PostgresKeyStore::remove(std::string id) {
    auto work = [id = std::move(id), now = clock_.wall_now()](PostgresSession& db) {
        return remove_in_transaction(db, id, now);
    };
    co_return co_await client_.run(std::move(work));
}

Task<Result<KeySet>> PostgresKeyStore::load(StoreRevision since) {
    if (!vault_) {
        co_return locked();
    }
    auto work = [vault = vault_, since = std::move(since)](PostgresSession& db) {
        return load_in_transaction(db, vault, since);
    };
    co_return co_await client_.run(std::move(work));
}

Task<Result<StoreRevision>> PostgresKeyStore::revision() {
    co_return co_await client_.run(read_revision);
}

Task<Status> PostgresKeyStore::save_usage(std::vector<KeyUsage> usage) {
    auto work = [usage = std::move(usage)](PostgresSession& db) {
        return save_usage_in_one(db, usage);
    };
    co_return co_await client_.run(std::move(work));
}

}  // namespace sluice::web
