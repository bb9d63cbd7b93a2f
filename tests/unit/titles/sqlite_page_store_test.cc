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
