#include "web/sqlite_key_store.h"

#include "web/key_rows.h"

#include <array>
#include <utility>

namespace sluice::web {

namespace {

using io::SqliteBlob;
using io::SqliteConnection;
using io::SqliteStatement;
using io::SqliteTransaction;
using Vault = std::shared_ptr<const KeyVault>;

// Instants are milliseconds since 1970. The digest recognises a key without its text; of a key that
// was removed only its id is kept besides. One row holds the revision, so that a poll reads one
// page; the period of a quota is text as web/key_types.h writes it; `changed` is the revision of a
// row's last change, so that a change is read without the rest. One row says which secrets key
// everything was sealed with.
constexpr std::array kSchema = {
    io::SqliteMigration{R"sql(
        CREATE TABLE provider_key (
            id TEXT PRIMARY KEY,
            provider TEXT NOT NULL,
            label TEXT NOT NULL,
            account TEXT NOT NULL,
            last4 TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('active', 'disabled')),
            weight INTEGER NOT NULL,
            max_in_flight INTEGER,
            quota_limit INTEGER,
            quota_per TEXT,
            engine_id TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
            vault_key_id TEXT NOT NULL,
            sealed BLOB NOT NULL,
            used INTEGER NOT NULL DEFAULT 0,
            used_since INTEGER NOT NULL DEFAULT 0,
            changed INTEGER NOT NULL,
            CHECK ((quota_limit IS NULL) = (quota_per IS NULL))
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX provider_key_changed ON provider_key (changed);
        CREATE TABLE removed_key (
            digest BLOB PRIMARY KEY CHECK (length(digest) = 32),
            id TEXT NOT NULL,
            removed_at INTEGER NOT NULL,
            changed INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX removed_key_changed ON removed_key (changed);
        CREATE TABLE key_revision (
            row INTEGER PRIMARY KEY CHECK (row = 1),
            revision INTEGER NOT NULL
        ) STRICT;
        INSERT INTO key_revision VALUES (1, 0);
        CREATE TABLE key_vault (
            row INTEGER PRIMARY KEY CHECK (row = 1),
            key_id TEXT NOT NULL,
            check_value BLOB NOT NULL
        ) STRICT;
    )sql"},
};

constexpr std::string_view kSelect =
    "SELECT id, provider, label, account, last4, state, weight, max_in_flight, quota_limit,"
    " quota_per, engine_id, created_at, sealed, used, used_since"
    " FROM provider_key WHERE changed > ?1 ORDER BY created_at, id";
constexpr std::string_view kSelectOne =
    "SELECT id, provider, label, account, last4, state, weight, max_in_flight, quota_limit,"
    " quota_per, engine_id, created_at FROM provider_key WHERE id = ?1";

// The first twelve columns of either query.
KeyRecord read_record(const SqliteStatement& row) {
    KeyRecord record;
    record.id = row.text(0);
    record.provider = row.text(1);
    record.label = row.text(2);
    record.account = row.text(3);
    record.last4 = row.text(4);
    record.state = stored_state(row.text(5));
    record.weight = static_cast<std::uint32_t>(row.integer(6));
    if (const auto bound = row.optional_integer(7)) {
        record.max_in_flight = static_cast<std::uint32_t>(*bound);
    }
    if (const auto limit = row.optional_integer(8)) {
        record.quota = make_quota(*limit, row.text(9)).value();
    }
    record.engine_id = row.text(10);
    record.created_at = from_stored(row.integer(11));
    return record;
}

// The revision of the change that this transaction makes.
Result<std::int64_t> next_revision(SqliteConnection& db) {
    TRY_STATUS(db.execute("UPDATE key_revision SET revision = revision + 1"));
    return db.integer("SELECT revision FROM key_revision");
}

Status insert_key(SqliteConnection& db, const KeyVault& vault, Random& random, const NewKey& key,
                  const Sha256& digest, const KeyRecord& record, std::int64_t revision) {
    TRY(const std::int64_t kept, db.integer("SELECT count(*) FROM provider_key"));
    if (kept >= static_cast<std::int64_t>(kMaxKeys)) {
        return too_many_keys();
    }
    const std::string sealed = vault.seal(key.secret, record.id, random);
    const StoredQuota quota = to_stored(record.quota);
    TRY_STATUS(db.change(
        "INSERT INTO provider_key (id, provider, label, account, last4, state, weight,"
        " max_in_flight, quota_limit, quota_per, engine_id, created_at, digest, vault_key_id,"
        " sealed, changed) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, "
        "?15, ?16)",
        {record.id, record.provider, record.label, record.account, record.last4,
         to_string(record.state), record.weight, record.max_in_flight, quota.limit, quota.per,
         record.engine_id, to_stored(record.created_at), SqliteBlob{bytes_of(digest)},
         vault.key_id(), SqliteBlob{sealed}, revision}));
    return {};
}

Result<bool> has_digest(SqliteConnection& db, std::string_view sql, const Sha256& digest) {
    TRY(const std::int64_t found, db.integer(sql, {SqliteBlob{bytes_of(digest)}}));
    return found > 0;
}

constexpr std::string_view kIsKept = "SELECT count(*) FROM provider_key WHERE digest = ?1";
constexpr std::string_view kIsRemoved = "SELECT count(*) FROM removed_key WHERE digest = ?1";

Result<KeyRecord> add_in_transaction(SqliteConnection& db, const KeyVault& vault, Random& random,
                                     const NewKey& key, WallTime now) {
    const Sha256 digest = vault.digest(key.provider, key.secret);
    KeyRecord record = record_of(key, digest, now);
    TRY(auto transaction, db.begin(SqliteTransaction::Mode::kImmediate));
    TRY(const bool kept, has_digest(db, kIsKept, digest));
    if (kept) {
        return key_is_there(record);
    }
    TRY_STATUS(
        db.change("DELETE FROM removed_key WHERE digest = ?1", {SqliteBlob{bytes_of(digest)}}));
    TRY(const std::int64_t revision, next_revision(db));
    TRY_STATUS(insert_key(db, vault, random, key, digest, record, revision));
    TRY_STATUS(transaction.commit());
    return record;
}

Result<std::size_t> seed_in_transaction(SqliteConnection& db, const KeyVault& vault, Random& random,
                                        const std::vector<NewKey>& keys, WallTime now) {
    TRY(auto transaction, db.begin(SqliteTransaction::Mode::kImmediate));
    TRY(const std::int64_t revision, next_revision(db));  // of no account if nothing is added
    std::size_t added = 0;
    for (const NewKey& key : keys) {
        const Sha256 digest = vault.digest(key.provider, key.secret);
        TRY(const bool kept, has_digest(db, kIsKept, digest));
        TRY(const bool removed, has_digest(db, kIsRemoved, digest));
        if (!kept && !removed) {
            // A millisecond apart, so that they stay in the order in which they are named.
            const KeyRecord record = record_of(key, digest, now + Millis(added));
            TRY_STATUS(insert_key(db, vault, random, key, digest, record, revision));
            added += 1;
        }
    }
    if (added > 0) {
        TRY_STATUS(transaction.commit());
    }
    return added;
}

Result<KeyRecord> read_one(SqliteConnection& db, const std::string& id) {
    TRY(auto rows, db.query(kSelectOne, {id}));
    TRY(const bool found, rows.next());
    if (!found) {
        return no_such_key();
    }
    return read_record(rows);
}

Result<KeyRecord> patch_in_transaction(SqliteConnection& db, const std::string& id,
                                       const KeyPatch& patch) {
    TRY(auto transaction, db.begin(SqliteTransaction::Mode::kImmediate));
    TRY(KeyRecord record, read_one(db, id));
    apply_patch(record, patch);
    TRY(const std::int64_t revision, next_revision(db));
    const StoredQuota quota = to_stored(record.quota);
    TRY_STATUS(
        db.change("UPDATE provider_key SET state = ?2, label = ?3, account = ?4,"
                  " weight = ?5, max_in_flight = ?6, quota_limit = ?7, quota_per = ?8,"
                  " engine_id = ?9, changed = ?10 WHERE id = ?1",
                  {id, to_string(record.state), record.label, record.account, record.weight,
                   record.max_in_flight, quota.limit, quota.per, record.engine_id, revision}));
    TRY_STATUS(transaction.commit());
    return record;
}

Status remove_in_transaction(SqliteConnection& db, const std::string& id, WallTime now) {
    TRY(auto transaction, db.begin(SqliteTransaction::Mode::kImmediate));
    TRY(const std::int64_t revision, next_revision(db));
    TRY_STATUS(
        db.change("INSERT OR REPLACE INTO removed_key (digest, id, removed_at, changed)"
                  " SELECT digest, id, ?2, ?3 FROM provider_key WHERE id = ?1",
                  {id, to_stored(now), revision}));
    TRY(const std::int64_t removed, db.change("DELETE FROM provider_key WHERE id = ?1", {id}));
    if (removed == 0) {
        return no_such_key();
    }
    return transaction.commit();
}

Result<StoreRevision> read_revision(SqliteConnection& db) {
    TRY(const std::int64_t number, db.integer("SELECT revision FROM key_revision"));
    return StoreRevision(number);
}

Status read_keys(SqliteConnection& db, const KeyVault& vault, std::int64_t since, KeySet& set) {
    TRY(auto rows, db.query(kSelect, {since}));
    for (;;) {
        TRY(const bool row, rows.next());
        if (!row) {
            return {};
        }
        StoredKey key;
        key.record = read_record(rows);
        Result<Secret> secret = vault.open(rows.blob(12), key.record.id);
        if (!secret.ok()) {
            return unreadable_key(key.record.id, db.path(), secret.error());
        }
        key.secret = *std::move(secret);
        if (rows.integer(13) > 0) {
            set.usage.push_back({key.record.id, from_stored(rows.integer(14)), rows.integer(13)});
        }
        set.keys.push_back(std::move(key));
    }
}

Status read_removed(SqliteConnection& db, std::int64_t since, KeySet& set) {
    TRY(auto rows, db.query("SELECT id FROM removed_key WHERE changed > ?1", {since}));
    for (;;) {
        TRY(const bool row, rows.next());
        if (!row) {
            return {};
        }
        set.removed.emplace_back(rows.text(0));
    }
}

Result<KeySet> load_in_transaction(SqliteConnection& db, const KeyVault& vault,
                                   std::int64_t since) {
    // One snapshot: a revision with another one's keys would hide a change.
    TRY(auto transaction, db.begin(SqliteTransaction::Mode::kDeferred));
    KeySet set;
    TRY(set.revision, read_revision(db));
    set.is_whole = since == 0 || since > set.revision.number;
    TRY_STATUS(read_keys(db, vault, set.is_whole ? 0 : since, set));
    if (!set.is_whole) {
        TRY_STATUS(read_removed(db, since, set));
    }
    return set;
}

// Whether the file belongs to a secrets key already; an error when that is another one.
Result<bool> belongs_to(SqliteConnection& db, const KeyVault& vault) {
    TRY(auto rows, db.query("SELECT key_id, check_value FROM key_vault"));
    TRY(const bool known, rows.next());
    if (!known) {
        return false;
    }
    TRY_STATUS(check_vault_mark(vault, std::string(rows.text(0)), rows.blob(1), db.path(),
                                "move the file away to begin without those keys"));
    return true;
}

// The first to come says which secrets key this file belongs to; all others have to have the same,
// and only look.
Status unlock_file(SqliteConnection& db, const KeyVault& vault, Random& random) {
    TRY(bool known, belongs_to(db, vault));
    if (known) {
        return {};
    }
    TRY(auto transaction, db.begin(SqliteTransaction::Mode::kImmediate));
    // Again under the write lock: somebody else may have been first in between.
    TRY(known, belongs_to(db, vault));
    if (known) {
        return {};
    }
    const std::string mark = seal_vault_mark(vault, random);
    TRY_STATUS(
        db.change("INSERT INTO key_vault VALUES (1, ?1, ?2)", {vault.key_id(), SqliteBlob{mark}}));
    return transaction.commit();
}

Status save_usage_in_transaction(SqliteConnection& db, const std::vector<KeyUsage>& usage) {
    TRY(auto transaction, db.begin(SqliteTransaction::Mode::kImmediate));
    for (const KeyUsage& one : usage) {
        TRY_STATUS(db.change("UPDATE provider_key SET used = ?2, used_since = ?3 WHERE id = ?1",
                             {one.id, one.used, to_stored(one.period_start)}));
    }
    return transaction.commit();
}

}  // namespace

io::SqliteSchema key_schema() {
    return kSchema;
}

Result<bool> has_vault(io::SqliteConnection& db) {
    TRY(const std::int64_t rows, db.integer("SELECT count(*) FROM key_vault"));
    return rows > 0;
}

SqliteKeyStore::SqliteKeyStore(io::SqliteStore& store, KeyVault vault, const Clock& clock,
                               Random& random)
    : store_(store),
      vault_(std::make_shared<const KeyVault>(std::move(vault))),
      clock_(clock),
      random_(random) {}

Task<Status> SqliteKeyStore::unlock() {
    auto work = [vault = vault_, random = &random_](SqliteConnection& db) {
        return unlock_file(db, *vault, *random);
    };
    co_return co_await store_.run(std::move(work));
}

Task<Result<KeyRecord>> SqliteKeyStore::add(NewKey key) {
    CO_TRY_STATUS(validate(key));
    auto work = [vault = vault_, random = &random_, key = std::move(key),
                 now = clock_.wall_now()](SqliteConnection& db) {
        return add_in_transaction(db, *vault, *random, key, now);
    };
    co_return co_await store_.run(std::move(work));
}

Task<Result<std::size_t>> SqliteKeyStore::seed(std::vector<NewKey> keys) {
    for (const NewKey& key : keys) {
        SLUICE_ASSERT(validate(key).ok());
    }
    auto work = [vault = vault_, random = &random_, keys = std::move(keys),
                 now = clock_.wall_now()](SqliteConnection& db) {
        return seed_in_transaction(db, *vault, *random, keys, now);
    };
    co_return co_await store_.run(std::move(work));
}

Task<Result<KeyRecord>> SqliteKeyStore::patch(std::string id, KeyPatch patch) {
    CO_TRY_STATUS(validate(patch));
    auto work = [id = std::move(id), patch = std::move(patch)](SqliteConnection& db) {
        return patch_in_transaction(db, id, patch);
    };
    co_return co_await store_.run(std::move(work));
}

Task<Status> SqliteKeyStore::remove(std::string id) {
    auto work = [id = std::move(id), now = clock_.wall_now()](SqliteConnection& db) {
        return remove_in_transaction(db, id, now);
    };
    co_return co_await store_.run(std::move(work));
}

Task<Result<KeySet>> SqliteKeyStore::load(StoreRevision since) {
    auto work = [vault = vault_, since = since.number](SqliteConnection& db) {
        return load_in_transaction(db, *vault, since);
    };
    co_return co_await store_.run(std::move(work));
}

Task<Result<StoreRevision>> SqliteKeyStore::revision() {
    co_return co_await store_.run(read_revision);
}

Task<Status> SqliteKeyStore::save_usage(std::vector<KeyUsage> usage) {
    auto work = [usage = std::move(usage)](SqliteConnection& db) {
        return save_usage_in_transaction(db, usage);
    };
    co_return co_await store_.run(std::move(work));
}

}  // namespace sluice::web
