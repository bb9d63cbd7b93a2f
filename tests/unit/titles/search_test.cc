// The ten steps over real files, with the steps that cost something counted.
#include "titles/search.h"

#include "access/tokens.h"
#include "base/random.h"
#include "support/collecting_sink.h"
#include "support/manual_clock.h"
#include "support/run_io.h"
#include "support/temp_dir.h"
#include "titles/metrics.h"
#include "titles/sqlite_page_store.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sluice::titles {
namespace {

using namespace std::chrono_literals;

// Counts what searches read, and fails when it is told to.
class CountingPageStore final : public PageStore {
 public:
    explicit CountingPageStore(PageStore& store) : store_(store) {}

    Task<Result<PageRecord>> add(NewPage page) override { return store_.add(std::move(page)); }
    Task<Result<ImportCount>> import(std::vector<NewPage> pages) override {
        return store_.import(std::move(pages));
    }
    Task<Result<PageRecord>> patch(std::int64_t id, PagePatch patch) override {
        return store_.patch(id, std::move(patch));
    }
    Task<Status> remove(std::int64_t id) override { return store_.remove(id); }
    Task<Result<PageRecord>> get(std::int64_t id) override { return store_.get(id); }
    Task<Result<PageText>> text(std::int64_t id) override { return store_.text(id); }
    Task<Result<PageText>> text(std::string slug) override { return store_.text(std::move(slug)); }
    Task<Result<std::string>> pin_hash(std::int64_t id) override { return store_.pin_hash(id); }
    Task<Result<PageList>> list(PageQuery query) override { return store_.list(query); }
    Task<Result<StoreRevision>> revision() override {
        revisions += 1;
        if (is_broken) {
            co_return Error{Code::kUnavailable, Blame::kGateway, "broken", std::nullopt};
        }
        CO_TRY(StoreRevision now, co_await store_.revision());
        now.number -= behind;
        now.mark = mark;
        co_return now;
    }
    Task<Result<CandidateSet>> candidates(StoreRevision since) override {
        reads += 1;
        const bool is_known = since.mark == mark;
        StoreRevision known = is_known ? std::move(since) : StoreRevision();
        known.number += is_known && known.number > 0 ? behind : 0;
        CO_TRY(CandidateSet set, co_await store_.candidates(std::move(known)));
        set.revision.number -= behind;
        set.revision.mark = mark;
        co_return set;
    }

    // Of the way that this store came, and how many changes less it counts than the file.
    std::string mark;
    std::int64_t behind = 0;
    int revisions = 0;
    int reads = 0;
    bool is_broken = false;

 private:
    PageStore& store_;
};

class TitleSearchTest : public testing::Test {
 protected:
    TitleSearchTest() {
        for (const char* title :
             {"Kubernetes deployment checklist", "Kubernetes network policies explained",
              "Migration plan for the billing service", "Café menu archive"}) {
            add(title);
        }
    }
    ~TitleSearchTest() override { stop(); }

    TitleSearch& search() {
        if (!search_) {
            auto scorer = [this](const Corpus& corpus, const QueryText& match,
                                 const ScoreLimits& limits, const std::stop_token& stop) {
                scored += 1;
                if (before_scoring) {
                    before_scoring(stop);
                }
                return score_titles(corpus, match, limits, stop);
            };
            search_.emplace(loop.get_executor(), config, access, pages, budget, clock, random, log,
                            metrics, std::move(scorer));
        }
        return *search_;
    }
    void stop() {
        if (search_) {
            boost::asio::co_spawn(loop, search_->stop(), boost::asio::detached);
            loop.restart();
            loop.run();
            search_.reset();
        }
    }

    PageRecord add(std::string title) {
        NewPage page;
        page.title = std::move(title);
        return test::run_io(loop, store.add(std::move(page))).value();
    }
    void patch(std::int64_t id, PagePatch patch) {
        EXPECT_TRUE(test::run_io(loop, store.patch(id, std::move(patch))).ok());
    }
    TitleRequest asked(std::optional<std::string> typed, const std::string& peer = "203.0.113.7") {
        auto& http = *requests.emplace_back(std::make_unique<io::HttpRequest>());
        http.peer = io::Address::parse(peer).value();
        TitleRequest request;
        request.http = &http;
        request.typed = std::move(typed);
        return request;
    }
    TitleAnswer ask(std::optional<std::string> typed, const std::string& peer = "203.0.113.7") {
        return test::run_io(loop, search().answer(asked(std::move(typed), peer)));
    }
    // In the background, until finish().
    void start(std::string typed, std::optional<TitleAnswer>& out, const std::string& peer,
               boost::asio::cancellation_signal* leave = nullptr) {
        auto task = store_result(search().answer(asked(std::move(typed), peer)), out);
        if (leave == nullptr) {
            boost::asio::co_spawn(loop, std::move(task), boost::asio::detached);
        } else {
            boost::asio::co_spawn(
                loop, std::move(task),
                boost::asio::bind_cancellation_slot(leave->slot(), boost::asio::detached));
        }
    }
    void run_until(const std::function<bool()>& condition) {
        while (!condition()) {
            loop.restart();
            loop.run_one_for(10ms);
        }
    }
    // Of all clients together.
    std::int64_t counted() {
        auto db = io::SqliteConnection::open(budget_path, budget_schema()).value();
        return db.integer("SELECT coalesce(sum(count), 0) FROM search_window").value();
    }
    static std::vector<std::string> titles_of(const TitleAnswer& answer) {
        std::vector<std::string> titles;
        for (const TitleHit& hit : answer.hits) {
            titles.push_back(hit.page->title);
        }
        return titles;
    }

    test::TempDir dir;
    const std::string budget_path = dir.file("budget.db");
    test::ManualClock clock;
    SeededRandom random{7};
    test::CollectingSink sink;
    obs::Log log{clock, sink, obs::Level::kInfo};
    obs::Metrics metrics;
    boost::asio::io_context loop{1};
    io::SqliteStore page_file{
        "pages", io::SqliteConnection::open(dir.file("pages.db"), page_schema()).value(), metrics};
    io::SqliteStore budget_file{
        "budget", io::SqliteConnection::open(budget_path, budget_schema()).value(), metrics};
    SqlitePageStore store{page_file, page_file, clock, 3};
    CountingPageStore pages{store};
    SearchBudget budget{budget_file, clock};
    access::TokenTable tokens;
    access::Access access{access::AccessConfig(), true, {}, tokens, clock, metrics};
    TitlesConfig config;
    std::atomic<int> scored{0};
    std::function<void(const std::stop_token&)> before_scoring;
    std::vector<std::unique_ptr<io::HttpRequest>> requests;
    std::optional<TitleSearch> search_;
};

TEST_F(TitleSearchTest, WhatIsNoQueryCostsNothing) {
    const std::pair<std::optional<std::string>, QueryVerdict> cases[] = {
        {std::nullopt, QueryVerdict::kBlank}, {std::string(70, ' '), QueryVerdict::kBlank},
        {"k", QueryVerdict::kTooShort},       {std::string(65, 'a'), QueryVerdict::kTooLong},
        {"\xff", QueryVerdict::kInvalid},
    };
    for (const auto& [typed, verdict] : cases) {
        const TitleAnswer answer = ask(typed);
        EXPECT_EQ(answer.outcome, TitleOutcome::kRejected);
        EXPECT_EQ(answer.query.verdict, verdict);
        EXPECT_FALSE(answer.budget);
    }
    EXPECT_EQ(counted(), 0);
    EXPECT_EQ(pages.revisions, 0);
    EXPECT_EQ(scored, 0);
}

// The worked examples B and C: scored once, found again, counted twice.
TEST_F(TitleSearchTest, TheSameSearchIsScoredOnce) {
    const TitleAnswer first = ask("kubrenetes");
    EXPECT_EQ(first.outcome, TitleOutcome::kFound);
    EXPECT_FALSE(first.from_cache);
    EXPECT_EQ(titles_of(first),
              (std::vector<std::string>{"Kubernetes deployment checklist",
                                        "Kubernetes network policies explained"}));
    EXPECT_EQ(first.total_matched, 2U);
    EXPECT_EQ(first.budget->windows[0]->count, 1);
    const TitleAnswer second = ask("  KubreNETES ", "203.0.113.8");
    EXPECT_TRUE(second.from_cache) << "what counts is the match copy";
    EXPECT_EQ(titles_of(second), titles_of(first));
    EXPECT_EQ(second.query.display.reveal(), "  KubreNETES ");
    EXPECT_EQ(scored, 1);
    EXPECT_EQ(pages.reads, 1) << "nothing changed, so nothing is read again";
    EXPECT_EQ(counted(), 4);
}

TEST_F(TitleSearchTest, NothingFoundIsKeptToo) {
    EXPECT_TRUE(ask("zzzzqqqq").hits.empty());
    const TitleAnswer again = ask("zzzzqqqq");
    EXPECT_EQ(again.outcome, TitleOutcome::kFound);
    EXPECT_TRUE(again.from_cache);
}

// A database that went back counts fewer changes than before, or as many on another way, and has
// other titles under the same versions: nothing of what was before is shown, and nothing scored.
TEST_F(TitleSearchTest, APastThatNeverWasIsForgotten) {
    EXPECT_EQ(ask("kubernetes").hits.size(), 2U);
    const auto rename = [this](std::string sql) {
        auto work = [sql = std::move(sql)](io::SqliteConnection& db) -> Result<bool> {
            TRY_STATUS(db.execute(sql));
            return true;
        };
        ASSERT_TRUE(test::run_io(loop, page_file.run(std::move(work))).ok());
    };
    rename("UPDATE page SET title = 'Kubernetes operators' WHERE title LIKE 'Migration%'");
    pages.mark = "restored";
    pages.behind = 3;
    const TitleAnswer restored = ask("kubernetes");
    EXPECT_FALSE(restored.from_cache) << "the same pages in the same versions, of other titles";
    EXPECT_EQ(restored.hits.size(), 3U);
    rename("UPDATE page SET title = 'Another matter' WHERE title LIKE 'Kubernetes%'");
    pages.mark = "restored again";
    pages.behind = 6;
    EXPECT_TRUE(ask("kubernetes").hits.empty());
    EXPECT_EQ(pages.reads, 3);
}

TEST_F(TitleSearchTest, ShowsPagesAsTheyAreNow) {
    const std::int64_t page = ask("checklist").hits.at(0).page->id;
    PagePatch author;
    author.author = "Somebody";
    patch(page, author);
    const TitleAnswer relabelled = ask("checklist");
    EXPECT_TRUE(relabelled.from_cache) << "no title changed";
    EXPECT_EQ(relabelled.hits.at(0).page->author, "Somebody");
    PagePatch title;
    title.title = "Kubernetes deployment list";
    patch(page, title);
    const TitleAnswer renamed = ask("deployment list");
    EXPECT_EQ(renamed.hits.at(0).page->title, "Kubernetes deployment list");
    EXPECT_FALSE(ask("checklist").from_cache);
    PagePatch archive;
    archive.lifecycle = Lifecycle::kArchived;
    patch(page, archive);
    for (const std::string& found : titles_of(ask("deployment list"))) {
        EXPECT_NE(found, "Kubernetes deployment list");
    }
    add("Deployment list of last year");
    EXPECT_EQ(ask("deployment list of last year").hits.at(0).page->title,
              "Deployment list of last year");
}

// More pages are removed than are remembered: those that are gone are found no more all the same.
TEST_F(TitleSearchTest, WhatIsForgottenIsNotFound) {
    std::vector<std::int64_t> pages;
    for (int i = 0; i < 5; ++i) {
        pages.push_back(add("Passing thing").id);
    }
    EXPECT_EQ(ask("passing thing").hits.size(), 5U);
    for (const std::int64_t page : pages) {
        EXPECT_TRUE(test::run_io(loop, store.remove(page)).ok());
    }
    EXPECT_EQ(titles_of(ask("passing thing")), std::vector<std::string>());
}

// The worked example D.
TEST_F(TitleSearchTest, AFullWindowEndsASearchBeforeItReadsAnything) {
    config.limits.most = {2, 200};
    EXPECT_EQ(ask("migration").outcome, TitleOutcome::kFound);
    EXPECT_EQ(ask("migration").outcome, TitleOutcome::kFound);
    const int revisions = pages.revisions;
    const TitleAnswer full = ask("migration");
    EXPECT_EQ(full.outcome, TitleOutcome::kLimited);
    EXPECT_EQ(full.budget->refused, BudgetWindow::kMinute);
    EXPECT_EQ(full.retry_after, 60s);
    EXPECT_EQ(pages.revisions, revisions);
    EXPECT_EQ(counted(), 4);
    EXPECT_TRUE(sink.contains("\"limit\":\"minute\""));
    EXPECT_EQ(ask("migration", "203.0.113.9").outcome, TitleOutcome::kFound);
}

TEST_F(TitleSearchTest, ClientsAreKnownBehindTrustedProxies) {
    access::AccessConfig behind;
    behind.trusted_proxies = io::TrustedProxies({io::Network::parse("10.0.0.0/8").value()});
    access.reconfigure(behind);
    config.limits.most = {1, 200};
    const io::HeaderField forwarded{"X-Forwarded-For", "2001:db8:1:2::9"};
    const auto through_proxy = [&] {
        TitleRequest request = asked("migration", "10.0.0.1");
        requests.back()->headers = {&forwarded, 1};
        return test::run_io(loop, search().answer(std::move(request)));
    };
    EXPECT_EQ(through_proxy().outcome, TitleOutcome::kFound);
    EXPECT_EQ(through_proxy().outcome, TitleOutcome::kLimited);
    EXPECT_EQ(ask("migration", "2001:db8:1:2::1").outcome, TitleOutcome::kLimited)
        << "one network is one client";
    EXPECT_EQ(ask("migration", "10.0.0.1").outcome, TitleOutcome::kFound);
}

// The worked example E.
TEST_F(TitleSearchTest, NobodyWaitsForAThread) {
    std::latch go(1);
    before_scoring = [&](const std::stop_token&) { go.wait(); };
    std::optional<TitleAnswer> held[2];
    start("deployment", held[0], "203.0.113.1");
    start("checklist", held[1], "203.0.113.2");
    run_until([&] { return scored == 2; });
    std::optional<TitleAnswer> third;
    start("architecture", third, "203.0.113.3");
    run_until([&] { return third.has_value(); });
    EXPECT_EQ(third->outcome, TitleOutcome::kBusy);
    EXPECT_EQ(third->retry_after, 1s);
    EXPECT_EQ(third->budget->windows[0]->count, 1) << "it stays spent";
    go.count_down();
    run_until([&] { return held[0] && held[1]; });
    EXPECT_EQ(held[0]->outcome, TitleOutcome::kFound);
    EXPECT_EQ(ask("architecture", "203.0.113.3").outcome, TitleOutcome::kFound);
}

// While every thread is busy, what is known already is still found.
TEST_F(TitleSearchTest, AHitNeedsNoThread) {
    EXPECT_EQ(ask("migration").outcome, TitleOutcome::kFound);
    std::latch go(1);
    before_scoring = [&](const std::stop_token&) { go.wait(); };
    std::optional<TitleAnswer> held[2];
    start("deployment", held[0], "203.0.113.1");
    start("checklist", held[1], "203.0.113.2");
    run_until([&] { return scored == 3; });
    std::optional<TitleAnswer> hit;
    start("migration", hit, "203.0.113.3");
    run_until([&] { return hit.has_value(); });
    EXPECT_TRUE(hit->from_cache);
    go.count_down();
    run_until([&] { return held[0] && held[1]; });
}

// The worked example F, often enough to use up any number of threads.
TEST_F(TitleSearchTest, ThreadsOutliveScoringThatBreaks) {
    config.limits.most = {1'000'000, 1'000'000};
    before_scoring = [](const std::stop_token&) { throw std::runtime_error("marker-of-a-scorer"); };
    for (int i = 0; i < 1'000; ++i) {
        ASSERT_EQ(ask("architecture").outcome, TitleOutcome::kFailed);
    }
    EXPECT_EQ(scored, 1'000) << "nothing was kept";
    EXPECT_TRUE(sink.contains("scoring_failed"));
    EXPECT_FALSE(sink.contains("marker-of-a-scorer"));
    std::latch both(2);
    before_scoring = [&](const std::stop_token&) { both.arrive_and_wait(); };
    std::optional<TitleAnswer> two[2];
    start("deployment", two[0], "203.0.113.1");
    start("checklist", two[1], "203.0.113.2");
    run_until([&] { return two[0] && two[1]; });
    EXPECT_EQ(two[0]->outcome, TitleOutcome::kFound);
    EXPECT_EQ(two[1]->outcome, TitleOutcome::kFound);
}

// Whoever leaves stops the scoring that was for nobody else.
TEST_F(TitleSearchTest, WhoeverLeavesGivesTheThreadBack) {
    config.concurrency = 1;
    std::atomic<bool> was_stopped{false};
    before_scoring = [&](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            std::this_thread::yield();
        }
        was_stopped = true;
    };
    for (int i = 1; i <= 50; ++i) {
        boost::asio::cancellation_signal leave;
        std::optional<TitleAnswer> gone;
        start("deployment", gone, "203.0.113." + std::to_string(i), &leave);
        run_until([&] { return scored == i; });
        leave.emit(boost::asio::cancellation_type::terminal);
        loop.restart();
        loop.run();
        EXPECT_TRUE(was_stopped.exchange(false));
    }
    EXPECT_EQ(metrics.counter(kSearches, {"page", "left"}).value(), 50);
    EXPECT_EQ(metrics.counter(kSearches, {"page", "failed"}).value(), 0);
    before_scoring = nullptr;
    EXPECT_EQ(ask("deployment").outcome, TitleOutcome::kFound);
}

TEST_F(TitleSearchTest, AStoreThatFailsEndsSearchesOnly) {
    pages.is_broken = true;
    const TitleAnswer lost = ask("migration");
    EXPECT_EQ(lost.outcome, TitleOutcome::kUnavailable);
    EXPECT_EQ(lost.retry_after, 1s);
    EXPECT_EQ(counted(), 2);
    pages.is_broken = false;
    EXPECT_EQ(ask("migration").outcome, TitleOutcome::kFound);
    {
        auto other = io::SqliteConnection::open(budget_path, budget_schema()).value();
        auto held = other.begin(io::SqliteTransaction::Mode::kImmediate);
        const TitleAnswer uncounted = ask("migration");
        EXPECT_EQ(uncounted.outcome, TitleOutcome::kUnavailable);
        EXPECT_FALSE(uncounted.budget);
        EXPECT_TRUE(uncounted.hits.empty()) << "closed, not open";
    }
    EXPECT_EQ(counted(), 4);
}

// A hundred at once, each from nowhere else: twenty pass.
TEST_F(TitleSearchTest, ManyAtOnceKeepToTheWindow) {
    config.concurrency = 64;
    std::vector<std::optional<TitleAnswer>> answers(100);
    for (auto& answer : answers) {
        start("migration", answer, "203.0.113.7");
    }
    loop.restart();
    loop.run();
    EXPECT_EQ(std::ranges::count_if(
                  answers, [](const auto& a) { return a->outcome != TitleOutcome::kLimited; }),
              20);
    EXPECT_EQ(counted(), 40);
}

TEST_F(TitleSearchTest, OnlyTheLatestResultsAreKept) {
    config.cache_entries = 2;
    for (const char* typed : {"migration", "checklist", "menu"}) {
        EXPECT_FALSE(ask(typed).from_cache);
    }
    EXPECT_TRUE(ask("menu").from_cache);
    EXPECT_TRUE(ask("checklist").from_cache);
    EXPECT_FALSE(ask("migration").from_cache);
    EXPECT_TRUE(ask("checklist").from_cache) << "a hit makes it the latest";
}

TEST_F(TitleSearchTest, SettingsThatDecideAResultAreInForceAtOnce) {
    EXPECT_EQ(ask("kubernetes").total_matched, 2U);
    config.result_limit = 1;
    search().reconfigure(config);
    const TitleAnswer one = ask("kubernetes");
    EXPECT_EQ(one.hits.size(), 1U);
    EXPECT_EQ(one.total_matched, 2U);
    EXPECT_TRUE(one.is_truncated);
    config.score_cutoff = 100;
    search().reconfigure(config);
    EXPECT_EQ(ask("kubernetes").total_matched, 0U);
}

TEST_F(TitleSearchTest, NothingOfASearchIsWrittenDown) {
    ask("marker-of-a-query kubernetes");
    EXPECT_TRUE(sink.contains("title_search"));
    EXPECT_FALSE(sink.contains("marker"));
    EXPECT_FALSE(sink.contains("kubernetes"));
    EXPECT_FALSE(sink.contains("Kubernetes"));
    EXPECT_FALSE(sink.contains("203.0.113.7"));
    EXPECT_EQ(metrics.expose().find("marker"), std::string::npos);
}

}  // namespace
}  // namespace sluice::titles
