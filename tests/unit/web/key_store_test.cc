#include "web/key_store.h"

#include "key_store_conformance.h"
#include "support/fake_key_store.h"
#include "support/run_io.h"
#include "support/temp_dir.h"
#include "web/key_vault.h"
#include "web/sqlite_key_store.h"

#include <boost/asio/io_context.hpp>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>

namespace sluice::web {
namespace {

constexpr const char* kSecretsKey =
    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
constexpr const char* kOtherSecretsKey =
    "ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

// Two stores on one file, each with a connection and a thread of its own, as two processes have.
class SqliteBackend {
 public:
    SqliteBackend() : first_(open(kSecretsKey)), second_(open(kSecretsKey)) {}

    KeyStore& store() { return *first_; }
    KeyStore& second_store() { return *second_; }
    test::ManualClock& clock() { return clock_; }

    template <class T>
    Result<T> run(Task<Result<T>> task) {
        return test::run_io(io_, std::move(task));
    }
    std::unique_ptr<SqliteKeyStore> open(std::string_view secrets_key) {
        auto connection = io::SqliteConnection::open(file(), key_schema());
        files_.push_back(
            std::make_unique<io::SqliteStore>("keys", std::move(connection).value(), metrics_));
        return std::make_unique<SqliteKeyStore>(
            *files_.back(), KeyVault::from_text(secrets_key).value(), clock_, random_);
    }
    std::string file() const { return dir_.file("keys.db"); }
    const std::filesystem::path& folder() const { return dir_.path(); }

 private:
    test::TempDir dir_;
    test::ManualClock clock_;
    SystemRandom random_;
    obs::Metrics metrics_;
    boost::asio::io_context io_{1};
    std::vector<std::unique_ptr<io::SqliteStore>> files_;
    std::unique_ptr<SqliteKeyStore> first_;
    std::unique_ptr<SqliteKeyStore> second_;
};

// The store that other tests put in place of a real one keeps the same promises.
class FakeBackend {
 public:
    KeyStore& store() { return store_; }
    KeyStore& second_store() { return store_; }
    test::ManualClock& clock() { return clock_; }
    template <class T>
    Result<T> run(Task<Result<T>> task) {
        return test::run_io(io_, std::move(task));
    }

 private:
    test::ManualClock clock_;
    boost::asio::io_context io_{1};
    test::FakeKeyStore store_{clock_};
};

INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, KeyStoreConformance, SqliteBackend);
INSTANTIATE_TYPED_TEST_SUITE_P(Fake, KeyStoreConformance, FakeBackend);

NewKey serper_key(std::string secret) {
    NewKey key;
    key.provider = "serper";
    key.secret = Secret(std::move(secret));
    return key;
}

// Nobody who reads the files learns a key: neither its text nor, without the secrets key, a hash
// that a guess could be tried against. A removed key leaves no text behind either.
TEST(SqliteKeyStoreTest, TheFilesHoldNoSecret) {
    SqliteBackend backend;
    ASSERT_TRUE(backend.run(backend.store().unlock()).ok());
    const std::string secret = "serper-a-secret-that-is-looked-for";
    const auto record = backend.run(backend.store().add(serper_key(secret)));
    ASSERT_TRUE(record.ok());
    ASSERT_TRUE(backend.run(backend.store().remove(record->id)).ok());
    ASSERT_TRUE(backend.run(backend.store().add(serper_key(secret))).ok());
    const Sha256 plain_hash = sha256("serper\n" + secret);
    for (const auto& entry : std::filesystem::directory_iterator(backend.folder())) {
        std::ifstream in(entry.path(), std::ios::binary);
        const std::string bytes{std::istreambuf_iterator<char>(in), {}};
        EXPECT_EQ(bytes.find("looked-for"), std::string::npos) << entry.path();
        EXPECT_EQ(bytes.find(to_hex(plain_hash).substr(0, 12)), std::string::npos);
        EXPECT_EQ(entry.status().permissions() & std::filesystem::perms(077),
                  std::filesystem::perms::none);
    }
}

// With another secrets key nothing is read and nothing is changed, and the message names both.
TEST(SqliteKeyStoreTest, AnotherSecretsKeyIsRefused) {
    SqliteBackend backend;
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
    EXPECT_TRUE(backend.run(backend.store().unlock()).ok()) << "the right one still opens it";
}

// A row that was changed or moved to another key is not taken for a key.
TEST(SqliteKeyStoreTest, ADamagedRowIsNoticed) {
    SqliteBackend backend;
    ASSERT_TRUE(backend.run(backend.store().unlock()).ok());
    ASSERT_TRUE(backend.run(backend.store().add(serper_key("serper-secret-1"))).ok());
    ASSERT_TRUE(backend.run(backend.store().add(serper_key("serper-secret-2"))).ok());
    auto connection = io::SqliteConnection::open(backend.file(), key_schema());
    ASSERT_TRUE(connection
                    ->execute("UPDATE provider_key SET sealed = (SELECT sealed FROM "
                              "provider_key ORDER BY id LIMIT 1)")
                    .ok());
    const auto set = backend.run(backend.store().load(0));
    ASSERT_FALSE(set.ok());
    EXPECT_EQ(set.error().code, Code::kUnavailable);
}

// What is sealed opens with the same key and for the same purpose only, and never looks the same.
TEST(KeyVaultTest, SealsAndOpens) {
    const KeyVault vault = KeyVault::from_text(kSecretsKey).value();
    SystemRandom random;
    std::set<std::string> sealed;
    for (int i = 0; i < 100; ++i) {
        sealed.insert(vault.seal(Secret("text"), "row-1", random));
    }
    EXPECT_EQ(sealed.size(), 100u);
    const std::string one = *sealed.begin();
    EXPECT_EQ(vault.open(one, "row-1")->reveal(), "text");
    EXPECT_FALSE(vault.open(one, "row-2").ok());
    EXPECT_FALSE(vault.open(one, "row-").ok());
    EXPECT_FALSE(KeyVault::from_text(kOtherSecretsKey)->open(one, "row-1").ok());
    for (std::size_t i = 0; i < one.size(); ++i) {
        std::string changed = one;
        changed[i] = static_cast<char>(changed[i] ^ 1);
        EXPECT_FALSE(vault.open(changed, "row-1").ok()) << i;
    }
    EXPECT_FALSE(vault.open(one.substr(0, 10), "row-1").ok());
    EXPECT_EQ(vault.open(vault.seal(Secret(), "row-1", random), "row-1")->reveal(), "");
}

// The hash of a key depends on its provider and on the secrets key.
TEST(KeyVaultTest, DigestsAreKeyed) {
    const KeyVault vault = KeyVault::from_text(kSecretsKey).value();
    const Secret secret("serper-secret-1");
    EXPECT_EQ(vault.digest("serper", secret), vault.digest("serper", secret));
    EXPECT_NE(vault.digest("serper", secret), vault.digest("tavily", secret));
    EXPECT_NE(vault.digest("serper", secret),
              KeyVault::from_text(kOtherSecretsKey)->digest("serper", secret));
    EXPECT_NE(vault.digest("serper", secret), sha256("serper\nserper-secret-1"));
}

// A secrets key is exactly its digits; what is wrong with it is said without quoting it.
TEST(KeyVaultTest, ReadsASecretsKey) {
    SystemRandom random;
    const Secret made = make_secrets_key(random);
    EXPECT_TRUE(KeyVault::from_text("  " + std::string(made.reveal()) + "\r\n").ok());
    EXPECT_NE(made.reveal(), make_secrets_key(random).reveal());
    for (const std::string& wrong :
         {std::string(), std::string("hunter2"), std::string(63, 'a'), std::string(65, 'a'),
          std::string(64, 'g'), std::string(32, 'a') + " " + std::string(31, 'a')}) {
        const auto vault = KeyVault::from_text(wrong);
        ASSERT_FALSE(vault.ok()) << wrong;
        EXPECT_EQ(vault.error().code, Code::kInvalidRequest);
        EXPECT_TRUE(wrong.empty() || vault.error().message.find(wrong) == std::string::npos);
    }
}

}  // namespace
}  // namespace sluice::web
