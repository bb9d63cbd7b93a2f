#include "access/sqlite_token_store.h"

#include "access/token_watch.h"
#include "support/manual_clock.h"
#include "support/run_io.h"
#include "support/temp_dir.h"
#include "unit/access/token_store_conformance.h"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace sluice::access {
namespace {

namespace asio = boost::asio;

// Two stores on one file, each with a connection and a thread of its own, as two processes have.
class SqliteBackend {
 public:
    SqliteBackend()
        : file_(dir_.file("access.db")),
          first_(open("first"), clock_, random_),
          second_(open("second"), clock_, random_) {}

    TokenStore& store() { return first_; }
    TokenStore& second_store() { return second_; }
    test::ManualClock& clock() { return clock_; }
    const std::string& file() const { return file_; }

    template <class T>
    Result<T> run(Task<Result<T>> task) {
        return test::run_io(io_, std::move(task));
    }
    // For what goes round the interface.
    template <class Work>
    auto run_sql(Work work) {
        return test::run_io(io_, databases_[0]->run(std::move(work)));
    }

 private:
    io::SqliteStore& open(std::string name) {
        auto& slot = databases_[opened_++];
        slot = std::make_unique<io::SqliteStore>(
            std::move(name), io::SqliteConnection::open(file_, token_schema()).value(), metrics_);
        return *slot;
    }

    test::TempDir dir_;
    test::ManualClock clock_;
    SystemRandom random_;
    obs::Metrics metrics_;
    asio::io_context io_{1};
    std::string file_;
    std::array<std::unique_ptr<io::SqliteStore>, 2> databases_;
    std::size_t opened_ = 0;
    SqliteTokenStore first_;
    SqliteTokenStore second_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, TokenStoreConformance, SqliteBackend);

std::string bytes_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

// Who reads the files finds the token's id, but nothing that could be sent as the token.
TEST(SqliteTokenStore, NoFileHoldsASecret) {
    SqliteBackend backend;
    NewToken token;
    token.scopes = {Scope::kAdmin};
    const IssuedToken issued = backend.run(backend.store().add(token)).value();
    const std::string secret(parse_token(issued.token.reveal())->secret);
    const std::string on_disk = bytes_of(backend.file()) + bytes_of(backend.file() + "-wal");
    EXPECT_NE(on_disk.find(issued.record.id), std::string::npos);
    EXPECT_EQ(on_disk.find(secret), std::string::npos);
    EXPECT_EQ(on_disk.find(secret.substr(0, 20)), std::string::npos);
}

// The number of tokens is bounded, and the one that is too much leaves the store as it was.
TEST(SqliteTokenStore, TheNumberOfTokensIsBounded) {
    SqliteBackend backend;
    NewToken token;
    token.scopes = {Scope::kSearch};
    ASSERT_TRUE(backend.run(backend.store().add(token)).ok());
    auto fill = [](io::SqliteConnection& db) {
        return db.execute(
            "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 9999)"
            "INSERT INTO token SELECT 'id' || i, label, scopes, created_at, expires_at,"
            " requests_per_minute, last4, revoked_at, digest, calls_day, calls_month,"
            " calls_total, micro_usd_day, micro_usd_month, micro_usd_total FROM token, n");
    };
    ASSERT_TRUE(backend.run_sql(fill).ok());
    const StoreRevision before = backend.run(backend.store().revision()).value();
    const auto refused = backend.run(backend.store().add(token));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::kConflict);
    EXPECT_EQ(refused.error().blame, Blame::kCaller);
    EXPECT_EQ(backend.run(backend.store().revision()).value(), before);
    EXPECT_EQ(backend.run(backend.store().load()).value().tokens.size(), kMaxTokens);
}

// A row that this program did not write is an error that names the token, and never a token without
// scopes or with a cut digest.
TEST(SqliteTokenStore, AForeignRowIsAnError) {
    SqliteBackend backend;
    auto foreign = [](io::SqliteConnection& db) {
        return db.execute(
            "INSERT INTO token (id, label, scopes, created_at, last4, digest)"
            " VALUES ('oddtoken', '', 'search,everything', 0, 'abcd', zeroblob(32))");
    };
    ASSERT_TRUE(backend.run_sql(foreign).ok());
    const auto loaded = backend.run(backend.store().load());
    ASSERT_FALSE(loaded.ok());
    EXPECT_NE(loaded.error().message.find("oddtoken"), std::string::npos);
}

// A first start without tokens gets one that administers; a second start gets none.
TEST(EnsureAdminToken, MakesOneAtTheFirstStartOnly) {
    SqliteBackend backend;
    const auto made = backend.run(ensure_admin_token(backend.store())).value();
    ASSERT_TRUE(made.has_value());
    TokenTable table;
    table.reload(backend.run(backend.store().load()).value().tokens);
    const TokenVerdict verdict = table.verify(made->reveal(), backend.clock().wall_now());
    ASSERT_TRUE(verdict.record);
    EXPECT_TRUE(verdict.record->scopes.allows(Scope::kAdmin));
    EXPECT_FALSE(backend.run(ensure_admin_token(backend.second_store())).value());
}

// Of two gateways that start at once on one store exactly one makes the token.
TEST(EnsureAdminToken, RacingStartsMakeOne) {
    for (int round = 0; round < 10; ++round) {
        SqliteBackend backend;
        std::array<std::optional<Secret>, 2> made;
        const std::array stores = {&backend.store(), &backend.second_store()};
        std::array<std::thread, 2> starts;
        std::latch together(2);
        for (std::size_t i = 0; i < starts.size(); ++i) {
            starts[i] = std::thread([&made, &stores, &together, i] {
                asio::io_context io(1);
                together.arrive_and_wait();
                made[i] = test::run_io(io, ensure_admin_token(*stores[i])).value();
            });
        }
        for (std::thread& start : starts) {
            start.join();
        }
        EXPECT_NE(made[0].has_value(), made[1].has_value());
    }
}

}  // namespace
}  // namespace sluice::access
