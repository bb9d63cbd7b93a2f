#include "titles/postgres_page_store.h"

#include "support/manual_clock.h"
#include "support/postgres_server.h"
#include "unit/io/postgres_fixture.h"
#include "unit/titles/page_store_conformance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::titles {
namespace {

// Two stores on one database, each with connections of its own, as two replicas have.
class PostgresBackend {
 public:
    static constexpr std::size_t kKept = 3;

    PostgresBackend() {
        EXPECT_TRUE(db_.start().ok());
        EXPECT_TRUE(db_.migrate(postgres_page_schema()).ok());
        EXPECT_TRUE(db_.run(other_->start()).ok());
    }
    ~PostgresBackend() { db_.run(other_->stop()); }

    PageStore& store() { return first_; }
    PageStore& second_store() { return second_; }
    test::ManualClock& clock() { return clock_; }
    test::PostgresFixture& db() { return db_; }

    template <class T>
    Result<T> run(Task<Result<T>> task) {
        return db_.run(std::move(task));
    }
    Status run(Task<Status> task) { return db_.run(std::move(task)); }
    // For what goes round the interface.
    Status execute(std::string sql) {
        auto work = [sql = std::move(sql)](io::PostgresSession& db) { return script(db, sql); };
        const Result<bool> done = db_.run(db_.client->run(std::move(work)));
        return done.ok() ? Status() : Status(done.error());
    }

 private:
    static Task<Result<bool>> script(io::PostgresSession& db, std::string sql) {
        CO_TRY_STATUS(co_await db.script(std::move(sql), std::chrono::seconds(60)));
        co_return true;
    }

    const std::string url_ = test::shared_postgres().make_database();
    test::ManualClock clock_;
    test::PostgresFixture db_{url_};
    std::unique_ptr<io::PostgresClient> other_ = db_.make_client(url_);
    PostgresPageStore first_{*db_.client, clock_, kKept};
    PostgresPageStore second_{*other_, clock_, kKept};
};

INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, PageStoreConformance, PostgresBackend);

// Pages that replicas add at once all come into sight, each with an id and a slug of its own, and
// none of them waits for another one for ever.
TEST(PostgresPageStoreTest, ChangesAtOnceAreAllSeen) {
    PostgresBackend backend;
    std::vector<std::optional<Result<PageRecord>>> ends(20);
    for (std::size_t i = 0; i < ends.size(); ++i) {
        NewPage page;
        page.title = "Of one title";
        PageStore& store = i % 2 == 0 ? backend.store() : backend.second_store();
        boost::asio::co_spawn(backend.db().loop, store_result(store.add(std::move(page)), ends[i]),
                              [](const std::exception_ptr&) {});
    }
    ASSERT_TRUE(backend.db().until(
        [&] { return std::ranges::all_of(ends, [](auto& end) { return end.has_value(); }); }));
    for (const auto& end : ends) {
        EXPECT_TRUE(end->ok()) << end->error().message;
    }
    const CandidateSet all = backend.run(backend.store().candidates(0)).value();
    EXPECT_EQ(all.candidates.size(), ends.size());
    EXPECT_EQ(all.revision, backend.run(backend.second_store().revision()).value());
    EXPECT_EQ(backend.run(backend.store().list({})).value().total, ends.size());
}

// Proof that searches never read what is nobody's business: they work where it does not exist.
TEST(PostgresPageStoreTest, CandidatesNeedNeitherBodiesNorPins) {
    PostgresBackend backend;
    NewPage page;
    page.title = "Kubernetes deployment checklist";
    ASSERT_TRUE(backend.run(backend.store().add(page)).ok());
    ASSERT_TRUE(backend.execute("DROP TABLE sluice_page_body, sluice_page_pin").ok());
    const auto set = backend.run(backend.store().candidates(0));
    ASSERT_TRUE(set.ok()) << set.error().message;
    EXPECT_EQ(set->candidates.size(), 1U);
}

// More than one statement gives.
TEST(PostgresPageStoreTest, ManyCandidatesAreReadInParts) {
    PostgresBackend backend;
    const StoreRevision begun = backend.run(backend.store().revision()).value();
    // Past the trigger, which counts row by row.
    ASSERT_TRUE(backend
                    .execute("ALTER TABLE sluice_page DISABLE TRIGGER sluice_page_noted;"
                             "INSERT INTO sluice_page SELECT n, 'Page ' || n, 'page-' || n, '',"
                             " CASE WHEN n % 4 = 0 THEN 'archived' ELSE 'active' END, 0, 1, 0, 0, 9"
                             " FROM generate_series(1, 20004) AS n")
                    .ok());
    const CandidateSet all = backend.run(backend.store().candidates(0)).value();
    EXPECT_EQ(all.candidates.size(), 15'003U);
    EXPECT_TRUE(all.gone.empty());
    EXPECT_EQ(backend.run(backend.store().candidates(begun)).value().gone.size(), 5'001U);
}

// A store that was kept without a bound forgets what is too much bit by bit.
TEST(PostgresPageStoreTest, ManyRemovedPagesAreForgottenSomeAtATime) {
    PostgresBackend backend;
    NewPage page;
    page.title = "One";
    ASSERT_TRUE(backend
                    .execute("INSERT INTO sluice_removed_page"
                             " SELECT n, n, 7 FROM generate_series(1, 2500) AS n;"
                             "UPDATE sluice_page_revision SET revision = 2500, last_id = 2500")
                    .ok());
    for (const std::int64_t forgotten : {1'000, 2'000, 2'501}) {
        const PageRecord added = backend.run(backend.store().add(page)).value();
        ASSERT_TRUE(backend.run(backend.store().remove(added.id)).ok());
        EXPECT_EQ(backend.db()
                      .query("SELECT count(*) FROM sluice_removed_page WHERE id <= 2500")
                      ->integer(0, 0),
                  2'500 - std::min<std::int64_t>(forgotten, 2'500));
        NewPage again = page;
        again.id = forgotten == 1'000 ? 900 : 1'900;
        if (forgotten < 2'500) {
            EXPECT_EQ(backend.run(backend.store().add(again)).value().version, 8);
        }
    }
}

// A backup of the former tables leaves the later ones in place: what they have is of another past.
TEST(PostgresPageStoreTest, FormerTablesThatWereRestoredAreBroughtUpToDate) {
    PostgresBackend backend;
    NewPage page;
    page.title = "Kubernetes deployment checklist";
    for (std::size_t i = 0; i < PostgresBackend::kKept; ++i) {
        ASSERT_TRUE(backend.run(backend.store().add(page)).ok());
    }
    const StoreRevision lost = backend.run(backend.store().revision()).value();
    ASSERT_TRUE(backend
                    .execute("UPDATE sluice_page_pruned SET revision = 1, id = 1000, version = 70;"
                             "DROP TRIGGER sluice_page_revision_noted ON sluice_page_revision;"
                             "DELETE FROM sluice_page WHERE id > 1;"
                             "UPDATE sluice_page_revision SET revision = 1, last_id = 1;"
                             "UPDATE sluice_schema SET version = 1 WHERE store = 'pages'")
                    .ok());
    EXPECT_TRUE(backend.run(backend.store().candidates(lost)).value().is_whole)
        << "by who runs meanwhile, too";
    ASSERT_TRUE(backend.db().migrate(postgres_page_schema()).ok());
    page.id = 500;
    EXPECT_EQ(backend.run(backend.store().add(page)).value().version, 1);
    page.id = std::nullopt;
    const CandidateSet all = backend.run(backend.store().candidates(lost)).value();
    EXPECT_TRUE(all.is_whole);
    EXPECT_EQ(all.candidates.size(), 2U);
    while (backend.run(backend.store().revision()).value().number < lost.number + 1) {
        ASSERT_TRUE(backend.run(backend.store().add(page)).ok());
    }
    EXPECT_TRUE(backend.run(backend.store().candidates(lost)).value().is_whole);
}

// A program of the former version counts on without marks, up to where the lost past was and
// beyond.
TEST(PostgresPageStoreTest, FormerTablesThatCountedOnAreAnotherPast) {
    PostgresBackend backend;
    NewPage page;
    page.title = "Kubernetes deployment checklist";
    ASSERT_TRUE(backend.run(backend.store().add(page)).ok());
    const StoreRevision lost = backend.run(backend.store().revision()).value();
    ASSERT_TRUE(backend
                    .execute("DROP TRIGGER sluice_page_revision_noted ON sluice_page_revision;"
                             "UPDATE sluice_page_revision SET revision = revision + 1;"
                             "UPDATE sluice_schema SET version = 1 WHERE store = 'pages'")
                    .ok());
    EXPECT_TRUE(backend.run(backend.store().candidates(lost)).value().is_whole);
    ASSERT_TRUE(backend.db().migrate(postgres_page_schema()).ok());
    EXPECT_TRUE(backend.run(backend.store().candidates(lost)).value().is_whole);
}

// Who knows a revision that the database never was at, as after a restore, gets everything.
TEST(PostgresPageStoreTest, OfAnotherPastEverythingIsRead) {
    PostgresBackend backend;
    NewPage page;
    page.title = "Kubernetes deployment checklist";
    ASSERT_TRUE(backend.run(backend.store().add(page)).ok());
    const StoreRevision first = backend.run(backend.store().revision()).value();
    EXPECT_FALSE(first.mark.empty());
    page.lifecycle = Lifecycle::kArchived;
    ASSERT_TRUE(backend.run(backend.store().add(page)).ok());
    const auto since = [&](StoreRevision known) {
        return backend.run(backend.store().candidates(std::move(known))).value();
    };
    EXPECT_FALSE(since(first).is_whole);
    EXPECT_EQ(since(first).gone.size(), 1U);
    for (const StoreRevision& other : {StoreRevision(first.number, "another mark"),
                                       StoreRevision(first.number + 7, first.mark)}) {
        const CandidateSet all = since(other);
        EXPECT_TRUE(all.is_whole);
        EXPECT_EQ(all.candidates.size(), 1U);
        EXPECT_TRUE(all.gone.empty());
    }
}

}  // namespace
}  // namespace sluice::titles
