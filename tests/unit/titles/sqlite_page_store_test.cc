#include "titles/sqlite_page_store.h"

#include "support/manual_clock.h"
#include "support/run_io.h"
#include "support/temp_dir.h"
#include "unit/titles/page_store_conformance.h"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice::titles {
namespace {

namespace asio = boost::asio;

// Two stores on one file, each with connections and threads of its own, as two processes have.
class SqliteBackend {
 public:
    static constexpr std::size_t kKept = 3;

    SqliteBackend()
        : file_(dir_.file("pages.db")),
          first_(open("changes"), open("reads"), clock_, kKept),
          second_(open("changes2"), open("reads2"), clock_, kKept) {}

    PageStore& store() { return first_; }
    PageStore& second_store() { return second_; }
    test::ManualClock& clock() { return clock_; }

    template <class T>
    Result<T> run(Task<Result<T>> task) {
        return test::run_io(io_, std::move(task));
    }
    Status run(Task<Status> task) { return test::run_io(io_, std::move(task)); }
    // For what goes round the interface.
    Status execute(const std::string& script) {
        auto connection = io::SqliteConnection::open(file_, page_schema()).value();
        return connection.execute(script);
    }

 private:
    io::SqliteStore& open(std::string name) {
        return *databases_.emplace_back(std::make_unique<io::SqliteStore>(
            std::move(name), io::SqliteConnection::open(file_, page_schema()).value(), metrics_));
    }

    test::TempDir dir_;
    const std::string file_;
    test::ManualClock clock_;
    obs::Metrics metrics_;
    asio::io_context io_{1};
    std::vector<std::unique_ptr<io::SqliteStore>> databases_;
    SqlitePageStore first_;
    SqlitePageStore second_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, PageStoreConformance, SqliteBackend);

// Proof that searches never read what is nobody's business: they work where it does not exist.
TEST(SqlitePageStore, CandidatesNeedNeitherBodiesNorPins) {
    SqliteBackend backend;
    NewPage page;
    page.title = "Kubernetes deployment checklist";
    page.body = "secret";
    ASSERT_TRUE(backend.run(backend.store().add(page)).ok());
    ASSERT_TRUE(backend.execute("DROP TABLE page_body; DROP TABLE page_pin").ok());
    const auto set = backend.run(backend.store().candidates(0));
    ASSERT_TRUE(set.ok()) << set.error().message;
    EXPECT_EQ(set->candidates.size(), 1U);
    EXPECT_EQ(backend.run(backend.store().revision()).value(), set->revision);
    EXPECT_FALSE(backend.run(backend.store().text(set->candidates[0].slug)).ok())
        << "what reads a body does need them";
}

// A store that was kept without a bound forgets what is too much bit by bit.
TEST(SqlitePageStore, ManyRemovedPagesAreForgottenSomeAtATime) {
    SqliteBackend backend;
    NewPage page;
    page.title = "One";
    constexpr std::int64_t kMany = 2 * kForgottenRemovals + 500;
    ASSERT_TRUE(backend
                    .execute("WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n"
                             " WHERE n < " +
                             std::to_string(kMany) +
                             ") INSERT INTO removed_page SELECT n + 100000, n, 7 FROM n;"
                             "UPDATE page_revision SET revision = " +
                             std::to_string(kMany))
                    .ok());
    for (const std::int64_t forgotten :
         {std::int64_t{kForgottenRemovals}, std::int64_t{2 * kForgottenRemovals}}) {
        const PageRecord added = backend.run(backend.store().add(page)).value();
        ASSERT_TRUE(backend.run(backend.store().remove(added.id)).ok());
        EXPECT_TRUE(backend.run(backend.store().candidates(forgotten - 1)).value().is_whole);
        const CandidateSet rest = backend.run(backend.store().candidates(forgotten)).value();
        EXPECT_FALSE(rest.is_whole);
        EXPECT_GE(std::ssize(rest.gone), kMany - forgotten);
    }
    const PageRecord last = backend.run(backend.store().add(page)).value();
    ASSERT_TRUE(backend.run(backend.store().remove(last.id)).ok());
    const StoreRevision present = backend.run(backend.store().revision()).value();
    EXPECT_TRUE(backend.run(backend.store().candidates(present.number - 5)).value().is_whole);
    EXPECT_FALSE(backend.run(backend.store().candidates(present.number - 4)).value().is_whole);
}

// A file that was put in place of another one is read as a whole by who knows more than it holds.
TEST(SqlitePageStore, OfARevisionThatIsYetToComeEverythingIsRead) {
    SqliteBackend backend;
    NewPage page;
    page.title = "One";
    ASSERT_TRUE(backend.run(backend.store().add(page)).ok());
    const StoreRevision present = backend.run(backend.store().revision()).value();
    EXPECT_FALSE(backend.run(backend.store().candidates(present)).value().is_whole);
    const CandidateSet all =
        backend.run(backend.store().candidates(StoreRevision(present.number + 1))).value();
    EXPECT_TRUE(all.is_whole);
    EXPECT_EQ(all.candidates.size(), 1U);
}

// Whoever writes to the file, by whatever means, changes the revision.
TEST(SqlitePageStore, TheRevisionIsKeptByTheDatabase) {
    SqliteBackend backend;
    NewPage page;
    page.title = "One";
    ASSERT_TRUE(backend.run(backend.store().add(page)).ok());
    StoreRevision revision = backend.run(backend.store().revision()).value();
    for (const char* sql :
         {"UPDATE page SET title = 'Two'", "UPDATE page SET claimed = 1",
          "UPDATE page SET lifecycle = 'archived'", "DELETE FROM page",
          "INSERT INTO page (title, slug, author, lifecycle, claimed, current_version, created_at,"
          " updated_at) VALUES ('x', 'x', '', 'active', 0, 1, 0, 0)"}) {
        ASSERT_TRUE(backend.execute(sql).ok()) << sql;
        const StoreRevision next = backend.run(backend.store().revision()).value();
        EXPECT_GT(next.number, revision.number) << sql;
        revision = next;
    }
    EXPECT_EQ(backend.run(backend.store().list({})).value().total, 1U);
}

}  // namespace
}  // namespace sluice::titles
