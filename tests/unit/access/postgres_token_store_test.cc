#include "access/postgres_token_store.h"

#include "support/manual_clock.h"
#include "support/postgres_server.h"
#include "unit/access/token_store_conformance.h"
#include "unit/io/postgres_fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::access {
namespace {

// Two stores on one database, each with connections of its own, as two replicas have.
class PostgresBackend {
 public:
    PostgresBackend() {
        EXPECT_TRUE(db_.start().ok());
        EXPECT_TRUE(db_.migrate(postgres_token_schema()).ok());
        EXPECT_TRUE(db_.run(other_->start()).ok());
    }
    ~PostgresBackend() { db_.run(other_->stop()); }

    TokenStore& store() { return first_; }
    TokenStore& second_store() { return second_; }
    test::ManualClock& clock() { return clock_; }
    test::PostgresFixture& db() { return db_; }
    const std::string& url() const { return url_; }

    template <class T>
    Result<T> run(Task<Result<T>> task) {
        return db_.run(std::move(task));
    }

 private:
    const std::string url_ = test::shared_postgres().make_database();
    test::ManualClock clock_;
    SystemRandom random_;
    test::PostgresFixture db_{url_};
    std::unique_ptr<io::PostgresClient> other_ = db_.make_client(url_);
    PostgresTokenStore first_{*db_.client, clock_, random_};
    PostgresTokenStore second_{*other_, clock_, random_};
};

INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, TokenStoreConformance, PostgresBackend);

// Of several replicas that start at once exactly one makes the first token.
TEST(PostgresTokenStoreTest, TheFirstTokenIsMadeOnceByManyAtOnce) {
    PostgresBackend backend;
    test::PostgresFixture& db = backend.db();
    std::vector<std::optional<Result<std::optional<IssuedToken>>>> ends(8);
    for (std::size_t i = 0; i < ends.size(); ++i) {
        NewToken admin;
        admin.scopes = {Scope::kAdmin};
        TokenStore& store = i % 2 == 0 ? backend.store() : backend.second_store();
        boost::asio::co_spawn(db.loop, store_result(store.add_first(std::move(admin)), ends[i]),
                              [](const std::exception_ptr&) {});
    }
    ASSERT_TRUE(db.until([&] { return std::ranges::all_of(ends, [](auto& e) { return !!e; }); }));
    EXPECT_EQ(std::ranges::count_if(ends, [](auto& e) { return e->ok() && e->value(); }), 1);
    EXPECT_EQ(backend.run(backend.store().load())->tokens.size(), 1u);
}

// Changes made at once all come into sight, each with a revision of its own.
TEST(PostgresTokenStoreTest, ChangesAtOnceAreAllSeen) {
    PostgresBackend backend;
    const std::int64_t begun = backend.run(backend.store().revision()).value().number;
    test::PostgresFixture& db = backend.db();
    std::vector<std::optional<Result<IssuedToken>>> ends(20);
    for (std::size_t i = 0; i < ends.size(); ++i) {
        NewToken token;
        token.scopes = {Scope::kSearch};
        TokenStore& store = i % 2 == 0 ? backend.store() : backend.second_store();
        boost::asio::co_spawn(db.loop, store_result(store.add(std::move(token)), ends[i]),
                              [](const std::exception_ptr&) {});
    }
    ASSERT_TRUE(db.until([&] { return std::ranges::all_of(ends, [](auto& e) { return !!e; }); }));
    const TokenSet set = backend.run(backend.store().load()).value();
    EXPECT_EQ(set.tokens.size(), ends.size());
    EXPECT_EQ(set.revision.number, begun + static_cast<std::int64_t>(ends.size()));
}

// Other replicas hear of a change when it is there to be read, and of none that was taken back.
TEST(PostgresTokenStoreTest, OthersHearOfChanges) {
    PostgresBackend backend;
    int heard = 0;
    const auto listener = backend.db().make_client(backend.url());
    listener->listen(kTokenChannel, [&] { heard += 1; });
    ASSERT_TRUE(backend.db().run(listener->start()).ok());
    const int before = heard;
    NewToken token;
    token.scopes = {Scope::kSearch};
    const auto issued = backend.run(backend.store().add(std::move(token)));
    ASSERT_TRUE(issued.ok());
    EXPECT_TRUE(backend.db().until([&] { return heard == before + 1; }));
    ASSERT_FALSE(backend.run(backend.store().revoke("nosuchid")).ok());
    ASSERT_TRUE(backend.run(backend.store().revoke(issued->record.id)).ok());
    EXPECT_TRUE(backend.db().until([&] { return heard >= before + 2; }));
    EXPECT_EQ(heard, before + 2);
    backend.db().run(listener->stop());
}

}  // namespace
}  // namespace sluice::access
