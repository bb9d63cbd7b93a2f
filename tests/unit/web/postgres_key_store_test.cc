#include "web/postgres_key_store.h"

#include "key_store_conformance.h"
#include "support/postgres_server.h"
#include "unit/io/postgres_fixture.h"
#include "web/key_vault.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::web {
namespace {

constexpr const char* kSecretsKey =
    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
constexpr const char* kOtherSecretsKey =
    "ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

VaultSource vault_of(std::string_view secrets_key) {
    return [text = std::string(secrets_key)](bool) { return KeyVault::from_text(text); };
}

// Two stores on one database, each with connections of its own, as two replicas have.
class PostgresBackend {
 public:
    PostgresBackend() {
        EXPECT_TRUE(db_.start().ok());
        EXPECT_TRUE(db_.migrate(postgres_key_schema()).ok());
        EXPECT_TRUE(db_.run(other_->start()).ok());
    }
    ~PostgresBackend() { db_.run(other_->stop()); }

    KeyStore& store() { return first_; }
    KeyStore& second_store() { return second_; }
    test::ManualClock& clock() { return clock_; }
    test::PostgresFixture& db() { return db_; }

    template <class T>
    Result<T> run(Task<Result<T>> task) {
        return db_.run(std::move(task));
    }
    std::unique_ptr<PostgresKeyStore> open(std::string_view secrets_key) {
        return std::make_unique<PostgresKeyStore>(*db_.client, vault_of(secrets_key),
                                                  PostgresKeyStore::Use::kChange, clock_, random_);
    }

 private:
    const std::string url_ = test::shared_postgres().make_database();
    test::ManualClock clock_;
    SystemRandom random_;
    test::PostgresFixture db_{url_};
    std::unique_ptr<io::PostgresClient> other_ = db_.make_client(url_);
    PostgresKeyStore first_{*db_.client, vault_of(kSecretsKey), PostgresKeyStore::Use::kChange,
                            clock_, random_};
    PostgresKeyStore second_{*other_, vault_of(kSecretsKey), PostgresKeyStore::Use::kChange, clock_,
                             random_};
};

INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, KeyStoreConformance, PostgresBackend);

NewKey serper_key(std::string secret) {
    NewKey key;
    key.provider = "serper";
    key.secret = Secret(std::move(secret));
    return key;
}

// With another secrets key nothing is read and nothing is changed, and the message names both. Of
// several that come first at once one says which it is.
TEST(PostgresKeyStoreTest, AnotherSecretsKeyIsRefused) {
    PostgresBackend backend;
    ASSERT_TRUE(backend.run(backend.store().unlock()).ok());
    const auto stranger = backend.open(kOtherSecretsKey);
    const Status refused = backend.run(stranger->unlock());
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::kConflict);
    for (const char* key : {kSecretsKey, kOtherSecretsKey}) {
        EXPECT_NE(refused.error().message.find(KeyVault::from_text(key)->key_id()),
                  std::string::npos)
            << refused.error().message;
    }
    EXPECT_TRUE(backend.run(backend.second_store().unlock()).ok());
}

// Who only looks leaves a database without keys as it is; and before it is unlocked nothing is
// given or taken.
TEST(PostgresKeyStoreTest, ALookLeavesNoMark) {
    PostgresBackend backend;
    SystemRandom random;
    PostgresKeyStore looks(*backend.db().client, vault_of(kOtherSecretsKey),
                           PostgresKeyStore::Use::kRead, backend.clock(), random);
    EXPECT_EQ(backend.run(looks.load(0)).error().code, Code::kUnavailable);
    EXPECT_EQ(backend.run(looks.add(serper_key("serper-secret-1"))).error().code,
              Code::kUnavailable);
    ASSERT_TRUE(backend.run(looks.unlock()).ok());
    EXPECT_TRUE(backend.run(looks.load(0))->keys.empty());
    ASSERT_TRUE(backend.run(backend.store().unlock()).ok());
    EXPECT_EQ(backend.run(looks.unlock()).error().code, Code::kConflict);
}

// Nobody who reads the database learns a key.
TEST(PostgresKeyStoreTest, TheDatabaseHoldsNoSecret) {
    PostgresBackend backend;
    ASSERT_TRUE(backend.run(backend.store().unlock()).ok());
    const std::string secret = "serper-a-secret-that-is-looked-for";
    ASSERT_TRUE(backend.run(backend.store().add(serper_key(secret))).ok());
    const auto rows = backend.db().query(
        "SELECT k::text || encode(k.sealed, 'escape') || encode(k.digest, 'hex') FROM sluice_key "
        "k");
    ASSERT_TRUE(rows.ok()) << rows.error().message;
    EXPECT_EQ(rows->text(0, 0).find("looked-for"), std::string_view::npos);
    EXPECT_EQ(rows->text(0, 0).find(to_hex(sha256("serper\n" + secret)).substr(0, 12)),
              std::string_view::npos);
}

// Replicas that start at once with the same keys in their environments keep each of them once.
TEST(PostgresKeyStoreTest, SeedsOnceByManyAtOnce) {
    PostgresBackend backend;
    ASSERT_TRUE(backend.run(backend.store().unlock()).ok());
    ASSERT_TRUE(backend.run(backend.second_store().unlock()).ok());
    std::vector<std::optional<Result<std::size_t>>> ends(6);
    for (std::size_t i = 0; i < ends.size(); ++i) {
        std::vector<NewKey> keys;
        for (const char* secret : {"serper-secret-1", "serper-secret-2", "serper-secret-3"}) {
            keys.push_back(serper_key(secret));
        }
        KeyStore& store = i % 2 == 0 ? backend.store() : backend.second_store();
        boost::asio::co_spawn(backend.db().loop, store_result(store.seed(std::move(keys)), ends[i]),
                              [](const std::exception_ptr&) {});
    }
    ASSERT_TRUE(backend.db().until(
        [&] { return std::ranges::all_of(ends, [](auto& end) { return !!end; }); }));
    std::size_t added = 0;
    for (const auto& end : ends) {
        ASSERT_TRUE(end->ok()) << end->error().message;
        added += end->value();
    }
    EXPECT_EQ(added, 3u);
    EXPECT_EQ(backend.run(backend.store().load(0))->keys.size(), 3u);
}

// Who knows a revision that the database never was at, as after a restore, gets everything; and so
// does who is too far behind for the marks that are kept.
TEST(PostgresKeyStoreTest, OfAnotherPastEverythingIsRead) {
    PostgresBackend backend;
    KeyStore& store = backend.store();
    ASSERT_TRUE(backend.run(store.unlock()).ok());
    ASSERT_TRUE(backend.run(store.add(serper_key("serper-secret-1"))).ok());
    const StoreRevision first = backend.run(store.revision()).value();
    EXPECT_FALSE(first.mark.empty());
    ASSERT_TRUE(backend.run(store.add(serper_key("serper-secret-2"))).ok());
    const auto keys_since = [&](StoreRevision since) {
        const KeySet set = backend.run(store.load(std::move(since))).value();
        EXPECT_EQ(set.is_whole, set.keys.size() == 2);
        return set.keys.size();
    };
    EXPECT_EQ(keys_since(first), 1u);
    EXPECT_EQ(keys_since(StoreRevision(first.number, "another mark")), 2u);
    EXPECT_EQ(keys_since(StoreRevision(first.number + 7, first.mark)), 2u);
    // A long way on: each change takes the mark away that is too old by then.
    const auto jump_to = [&](std::int64_t number) {
        ASSERT_TRUE(
            backend.db().query("UPDATE sluice_key_revision SET revision = $1", {number}).ok());
    };
    jump_to(first.number + 9'999);
    EXPECT_EQ(keys_since(first), 1u);
    jump_to(first.number + 10'000);
    EXPECT_EQ(keys_since(first), 2u);
}

// A program of the former version counts on without marks, up to where the lost past was and
// beyond.
TEST(PostgresKeyStoreTest, FormerTablesThatCountedOnAreAnotherPast) {
    PostgresBackend backend;
    KeyStore& store = backend.store();
    ASSERT_TRUE(backend.run(store.unlock()).ok());
    ASSERT_TRUE(backend.run(store.add(serper_key("serper-secret-1"))).ok());
    const StoreRevision lost = backend.run(store.revision()).value();
    for (const char* sql : {"DROP TRIGGER sluice_key_noted ON sluice_key_revision",
                            "UPDATE sluice_key_revision SET revision = revision + 1",
                            "UPDATE sluice_schema SET version = 1 WHERE store = 'keys'"}) {
        ASSERT_TRUE(backend.db().query(sql).ok()) << sql;
    }
    EXPECT_TRUE(backend.run(store.load(lost)).value().is_whole);
    ASSERT_TRUE(backend.db().migrate(postgres_key_schema()).ok());
    EXPECT_TRUE(backend.run(store.load(lost)).value().is_whole);
}

// A replica that knows less takes nothing back of what another one counted; a new period begins
// anew.
TEST(PostgresKeyStoreTest, AnotherReplicasCountIsNotLowered) {
    PostgresBackend backend;
    ASSERT_TRUE(backend.run(backend.store().unlock()).ok());
    const auto key = backend.run(backend.store().add(serper_key("serper-secret-1")));
    ASSERT_TRUE(key.ok());
    const auto save = [&](KeyStore& store, WallTime since, std::int64_t used) {
        std::vector<KeyUsage> usage{{key->id, since, used}};
        ASSERT_TRUE(backend.run(store.save_usage(std::move(usage))).ok());
    };
    const auto used = [&] { return backend.run(backend.store().load(0))->usage.at(0).used; };
    const WallTime month = quota_period_start(KeyQuota::Per::kMonth, backend.clock().wall_now());
    save(backend.store(), month, 41);
    save(backend.second_store(), month, 7);
    EXPECT_EQ(used(), 41);
    save(backend.second_store(), month + std::chrono::hours(24 * 31), 2);
    EXPECT_EQ(used(), 2);
    save(backend.store(), month, 42);
    EXPECT_EQ(used(), 2) << "a period that is over";
}

}  // namespace
}  // namespace sluice::web
