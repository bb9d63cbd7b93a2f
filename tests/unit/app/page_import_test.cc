// An import writes what is good, in whole batches, and says where what is not good stands.
#include "app/page_import.h"

#include "app/progress.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::app {
namespace {

using titles::ImportCount;
using titles::NewPage;

// Pages by title; one that begins with '!' is wrong.
class FakeSource final : public PageSource {
 public:
    explicit FakeSource(std::vector<NewPage> pages) : pages_(std::move(pages)) {}

    Result<std::optional<SourcedPage>> next() override {
        if (breaks_at == at_) {
            return Error{Code::kUnavailable, Blame::kCaller, "the disk is gone", {}};
        }
        if (at_ == pages_.size()) {
            return std::optional<SourcedPage>();
        }
        const NewPage& page = pages_[at_++];
        const std::string where = "line " + std::to_string(at_);
        if (page.title.starts_with('!')) {
            return std::optional(
                SourcedPage{where, Error{Code::kInvalidRequest, Blame::kCaller, "title: bad", {}}});
        }
        return std::optional(SourcedPage{where, page});
    }
    Status rewind() override {
        at_ = 0;
        return {};
    }
    std::uint64_t bytes() const override { return pages_.size(); }
    std::uint64_t bytes_read() const override { return at_; }

    std::optional<std::size_t> breaks_at;

 private:
    std::vector<NewPage> pages_;
    std::size_t at_ = 0;
};

NewPage page(std::string title, std::string slug = {}, std::optional<std::int64_t> id = {}) {
    NewPage made;
    made.title = std::move(title);
    made.slug = std::move(slug);
    made.id = id;
    return made;
}

struct Imported {
    ImportReport report;
    std::vector<std::vector<NewPage>> batches;
    std::vector<std::string> refused;
    std::size_t tried = 0;  // pages that the store looked at

    std::string slugs() const {
        std::string text;
        for (const auto& batch : batches) {
            for (const NewPage& one : batch) {
                text += one.slug + " ";
            }
        }
        return text;
    }
};

// A store that refuses slugs that begin with "taken", and breaks at the batch `breaks_at`.
Imported run(FakeSource& source, OnBadPage on_bad, std::size_t breaks_at = 99,
             std::size_t interrupted_after = 99'999) {
    Imported run;
    std::size_t seen = 0;
    const WriteBatch write = [&](std::vector<NewPage> batch) -> Result<ImportCount> {
        if (run.batches.size() == breaks_at) {
            return Error{Code::kUnavailable, Blame::kGateway, "the store is away", {}};
        }
        for (std::size_t i = 0; i < batch.size(); ++i) {
            run.tried += 1;
            if (batch[i].slug.starts_with("taken")) {
                return Error{
                    Code::kConflict, Blame::kCaller, std::to_string(i + 1) + ": slug: taken", {}};
            }
        }
        ImportCount count;
        count.added = batch.size();
        run.batches.push_back(std::move(batch));
        return count;
    };
    ImportHooks hooks;
    hooks.refused = [&](std::string_view where, std::string_view message) {
        run.refused.push_back(std::string(where) + ": " + std::string(message));
    };
    hooks.progress = [&](const ImportProgress& progress) {
        EXPECT_LE(progress.bytes_read, progress.bytes);
        seen += 1;
    };
    hooks.is_interrupted = [&] { return seen >= interrupted_after; };
    run.report = import_pages(source, on_bad, write, hooks);
    return run;
}

TEST(PageImport, WritesInBatches) {
    std::vector<NewPage> pages(2 * titles::kMaxPagesAtOnce + 1, page("Notes"));
    pages[0].body = pages[1].body = std::string(9 * 1024 * 1024, 'x');
    FakeSource source(std::move(pages));
    const Imported done = run(source, OnBadPage::kStop);
    ASSERT_EQ(done.batches.size(), 3U);
    EXPECT_EQ(done.batches[0].size(), 2U) << "bodies fill a batch, too";
    EXPECT_EQ(done.batches[1].size(), titles::kMaxPagesAtOnce);
    EXPECT_EQ(done.report.count.added, 2 * titles::kMaxPagesAtOnce + 1);
    EXPECT_EQ(done.report.error + std::to_string(done.report.refused), "0");
}

// The same source has the same slugs, and so the same pages, each time.
TEST(PageImport, GivesPagesWithoutANameTheSameOneAgain) {
    FakeSource source({page("Notes"), page("Notes"), page("Mine", "notes-3"), page("Notes"),
                       page("Known", "", 7)});
    const Imported first = run(source, OnBadPage::kStop);
    EXPECT_EQ(first.slugs(), "notes notes-2 notes-3 notes-4  ");
    ASSERT_TRUE(source.rewind().ok());
    EXPECT_EQ(run(source, OnBadPage::kSkip).slugs(), first.slugs());
}

TEST(PageImport, WritesNothingWhenAnythingIsWrong) {
    FakeSource source({page("Good", "a"), page("!Bad"), page("Twice", "a"), page("Id", "", 3),
                       page("Id again", "", 3)});
    const Imported done = run(source, OnBadPage::kStop);
    EXPECT_TRUE(done.batches.empty());
    EXPECT_EQ(done.report.refused, 3U);
    EXPECT_EQ(done.refused, (std::vector<std::string>{"line 2: title: bad",
                                                      "line 3: slug: \"a\" is there a second time",
                                                      "line 5: id: 3 is there a second time"}));
    ASSERT_TRUE(source.rewind().ok());
    const Imported skipped = run(source, OnBadPage::kSkip);
    EXPECT_EQ(skipped.report.count.added, 2U);
    EXPECT_EQ(skipped.refused, done.refused);
}

// What only the store can know ends the import at that place, or leaves out that page.
TEST(PageImport, AConflictIsToldByItsLine) {
    FakeSource source({page("Good", "a"), page("!Bad"), page("Other", "taken"), page("Last", "z")});
    FakeSource without_bad({page("Good", "a"), page("Other", "taken"), page("Last", "z")});
    const Imported stopped = run(without_bad, OnBadPage::kStop);
    EXPECT_EQ(stopped.report.error, "line 2: slug: taken");
    EXPECT_EQ(stopped.report.count.added, 0U);
    const Imported skipped = run(source, OnBadPage::kSkip);
    EXPECT_EQ(skipped.slugs(), "a z ");
    EXPECT_EQ(skipped.refused,
              (std::vector<std::string>{"line 2: title: bad", "line 3: slug: taken"}));
}

// What is left out costs its own place, not the whole batch again.
TEST(PageImport, APageThatIsLeftOutMakesNothingBeWrittenAgain) {
    std::vector<NewPage> pages;
    for (std::size_t i = 0; i < titles::kMaxPagesAtOnce; ++i) {
        const bool is_good = i % 10 < 7;
        pages.push_back(page("Page", (is_good ? "good-" : "taken-") + std::to_string(i)));
    }
    FakeSource source(pages);
    const Imported skipped = run(source, OnBadPage::kSkip, 9'999);
    EXPECT_EQ(skipped.report.count.added, 700U);
    EXPECT_EQ(skipped.report.refused, 300U);
    EXPECT_EQ(skipped.refused.front(), "line 8: slug: taken");
    EXPECT_EQ(skipped.refused.back(), "line 1000: slug: taken");
    std::string expected;
    for (const NewPage& one : pages) {
        expected += one.slug.starts_with("good") ? one.slug + " " : "";
    }
    EXPECT_EQ(skipped.slugs(), expected) << "each once, in its order";
    EXPECT_LE(skipped.tried, 2 * titles::kMaxPagesAtOnce);
}

TEST(PageImport, EndsEarlyWithWhatIsInCounted) {
    FakeSource source(std::vector<NewPage>(3'500, page("Notes")));
    const Imported broken = run(source, OnBadPage::kSkip, 2);
    EXPECT_EQ(broken.report.error, "the store is away");
    EXPECT_EQ(broken.report.count.added, 2'000U);
    ASSERT_TRUE(source.rewind().ok());
    const Imported interrupted = run(source, OnBadPage::kSkip, 99, 2'500);
    EXPECT_TRUE(interrupted.report.interrupted);
    EXPECT_EQ(interrupted.report.count.added, 2'000U);
    ASSERT_TRUE(source.rewind().ok());
    EXPECT_EQ(run(source, OnBadPage::kStop, 99, 2'500).report.count.added, 0U)
        << "it was being checked";
    source.breaks_at = 10;
    ASSERT_TRUE(source.rewind().ok());
    EXPECT_EQ(run(source, OnBadPage::kStop).report.error, "the disk is gone");
}

TEST(Progress, SaysHowFarItIs) {
    using std::chrono::seconds;
    EXPECT_EQ(render_progress({"checking", 0, 29'600'000, 0, seconds(0)}),
              "checking  [........................]   0%  0 pages  0.0 MB of 29.6 MB");
    EXPECT_EQ(render_progress({"importing", 14'800'000, 29'600'000, 62'000, seconds(2)}),
              "importing  [############............]  50%  62,000 pages  14.8 MB of 29.6 MB  "
              "about 2 s left");
    EXPECT_EQ(render_progress({"importing", 100, 1'000, 1'234'567, seconds(60)}),
              "importing  [##......................]  10%  1,234,567 pages  0.0 MB of 0.0 MB  "
              "about 9 min left");
    EXPECT_EQ(render_progress({"importing", 5, 5, 1, seconds(9)}),
              "importing  [########################] 100%  1 pages  0.0 MB of 0.0 MB");
    EXPECT_EQ(render_progress({"importing", 0, 0, 0, seconds(9)}).find("NaN"), std::string::npos);
}

}  // namespace
}  // namespace sluice::app
