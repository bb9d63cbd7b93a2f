// What every PageStore promises, as one suite. A backend instantiates it with a type of its own:
//
//     struct Backend {
//         PageStore& store();         // the store under test
//         PageStore& second_store();  // another process's view of the same pages
//         test::ManualClock& clock();
//         // Both remember the removals among this many last changes:
//         static constexpr std::size_t kKept = 3;
//         template <class T> Result<T> run(Task<Result<T>> task);  // to its end
//         Status run(Task<Status> task);
//     };
//     INSTANTIATE_TYPED_TEST_SUITE_P(Sqlite, PageStoreConformance, Backend);
#pragma once

#include "support/manual_clock.h"
#include "titles/page_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace sluice::titles {

template <class Backend>
class PageStoreConformance : public testing::Test {
 protected:
    static NewPage page(std::string title) {
        NewPage made;
        made.title = std::move(title);
        return made;
    }
    PageRecord add(NewPage page) {
        auto record = backend_.run(backend_.store().add(std::move(page)));
        EXPECT_TRUE(record.ok()) << record.error().message;
        return std::move(record).value();
    }
    Code code_of_add(NewPage page) {
        auto record = backend_.run(backend_.store().add(std::move(page)));
        return record.ok() ? Code::kInternal : record.error().code;
    }
    PageRecord patch(std::int64_t id, PagePatch patch) {
        auto record = backend_.run(backend_.store().patch(id, std::move(patch)));
        EXPECT_TRUE(record.ok()) << record.error().message;
        return std::move(record).value();
    }
    void remove(std::int64_t id) {
        const Status removed = backend_.run(backend_.store().remove(id));
        EXPECT_TRUE(removed.ok());
    }
    StoreRevision revision() { return backend_.run(backend_.second_store().revision()).value(); }
    CandidateSet candidates(StoreRevision since = {}) {
        CandidateSet set = backend_.run(backend_.second_store().candidates(since)).value();
        std::ranges::sort(set.candidates, {}, &Candidate::id);
        std::ranges::sort(set.gone);
        return set;
    }
    PageList list(PageQuery query) { return backend_.run(backend_.store().list(query)).value(); }
    std::vector<std::string> titles_of(const PageList& list) {
        std::vector<std::string> titles;
        for (const PageRecord& record : list.pages) {
            titles.push_back(record.title);
        }
        return titles;
    }

    Backend backend_;
};

TYPED_TEST_SUITE_P(PageStoreConformance);

// What was added comes back field for field.
TYPED_TEST_P(PageStoreConformance, KeepsEveryField) {
    NewPage made = this->page("Straßenkarte München");
    made.id = 41;
    made.slug = "karte";
    made.author = "A. Label";
    made.body = "# Karte\n\nText.";
    made.lifecycle = Lifecycle::kUnlisted;
    made.is_claimed = true;
    made.version = 7;
    const PageRecord added = this->add(made);
    EXPECT_EQ(added.id, 41);
    EXPECT_EQ(added.created_at, this->backend_.clock().wall_now());
    const PageText text = this->backend_.run(this->backend_.second_store().text("karte")).value();
    EXPECT_EQ(text.record.title, made.title);
    EXPECT_EQ(text.record.slug, "karte");
    EXPECT_EQ(text.record.author, "A. Label");
    EXPECT_EQ(text.record.lifecycle, Lifecycle::kUnlisted);
    EXPECT_TRUE(text.record.is_claimed);
    EXPECT_EQ(text.record.version, 7);
    EXPECT_EQ(text.record.created_at, added.created_at);
    EXPECT_EQ(text.record.updated_at, added.created_at);
    EXPECT_EQ(text.body, made.body);
    EXPECT_EQ(this->backend_.run(this->backend_.store().get(41)).value().title, made.title);
    EXPECT_EQ(this->add(this->page("Next")).id, 42);
}

TYPED_TEST_P(PageStoreConformance, RefusesWhatIsTakenOrOutOfItsLimits) {
    NewPage first = this->page("First");
    first.id = 5;
    this->add(first);
    EXPECT_EQ(this->code_of_add(first), Code::kConflict);
    NewPage same_slug = this->page("Other");
    same_slug.slug = "first";
    EXPECT_EQ(this->code_of_add(same_slug), Code::kConflict);
    EXPECT_EQ(this->code_of_add(this->page("")), Code::kInvalidRequest);
    PagePatch taken;
    taken.slug = "first";
    const PageRecord other = this->add(this->page("Other"));
    const auto refused = this->backend_.run(this->backend_.store().patch(other.id, taken));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::kConflict);
    EXPECT_EQ(this->backend_.run(this->backend_.store().patch(99, taken)).error().code,
              Code::kNotFound);
    EXPECT_EQ(this->backend_.run(this->backend_.store().get(99)).error().code, Code::kNotFound);
    EXPECT_EQ(this->backend_.run(this->backend_.store().text("none")).error().code,
              Code::kNotFound);
    EXPECT_EQ(this->backend_.run(this->backend_.store().remove(99)).error().code, Code::kNotFound);
}

TYPED_TEST_P(PageStoreConformance, PagesOfOneTitleGetNumberedSlugs) {
    std::vector<std::string> slugs;
    for (int i = 0; i < 6; ++i) {
        slugs.push_back(this->add(this->page("C++ Notes")).slug);
    }
    EXPECT_EQ(slugs, (std::vector<std::string>{"c-notes", "c-notes-2", "c-notes-3", "c-notes-4",
                                               "c-notes-5", "c-notes-6"}));
}

// The version rises with the title, the lifecycle and the body, and with nothing else.
TYPED_TEST_P(PageStoreConformance, TheVersionFollowsWhatReadersSee) {
    const PageRecord added = this->add(this->page("Title"));
    const auto after = [&](auto change) {
        PagePatch patch;
        change(patch);
        return this->patch(added.id, patch).version;
    };
    EXPECT_EQ(after([](PagePatch& p) { p.title = "New title"; }), 2);
    EXPECT_EQ(after([](PagePatch& p) { p.title = "New title"; }), 2);
    EXPECT_EQ(after([](PagePatch& p) { p.lifecycle = Lifecycle::kUnlisted; }), 3);
    EXPECT_EQ(after([](PagePatch& p) { p.body = "text"; }), 4);
    EXPECT_EQ(after([](PagePatch& p) { p.body = "text"; }), 4);
    EXPECT_EQ(after([](PagePatch& p) { p.author = "somebody"; }), 4);
    EXPECT_EQ(after([](PagePatch& p) { p.slug = "elsewhere"; }), 4);
    EXPECT_EQ(after([](PagePatch& p) {
                  p.title = "Both";
                  p.body = "of them";
              }),
              5);
}

// Who knows an id and a version knows the title: no version is one's a second time.
TYPED_TEST_P(PageStoreConformance, NoVersionHasTwoTitles) {
    NewPage page = this->page("Alpha beta");
    page.id = 1;
    page.version = 3;
    EXPECT_EQ(this->add(page).version, 3);
    const auto import = [&](const char* title) {
        NewPage next = page;
        next.title = title;
        const auto done = this->backend_.run(this->backend_.store().import({next}));
        EXPECT_TRUE(done.ok()) << done.error().message;
        return this->backend_.run(this->backend_.store().get(1)).value().version;
    };
    EXPECT_EQ(import("Zebra crossing"), 4);
    EXPECT_EQ(import("Zebra crossing"), 4);
    EXPECT_EQ(import("Alpha beta"), 5);
    this->remove(1);
    EXPECT_EQ(import("Zebra crossing"), 6);
    this->remove(1);
    page.version = {};
    EXPECT_EQ(import("Alpha beta"), 7);
}

// A change of a page is a change of the revision, and what changed can be read without the rest.
TYPED_TEST_P(PageStoreConformance, CandidatesAreReadSinceARevision) {
    const StoreRevision empty = this->revision();
    EXPECT_TRUE(this->candidates().candidates.empty());
    const PageRecord one = this->add(this->page("One"));
    const PageRecord two = this->add(this->page("Two"));
    NewPage hidden = this->page("Hidden");
    hidden.lifecycle = Lifecycle::kUnlisted;
    const PageRecord three = this->add(hidden);
    NewPage claimed = this->page("Claimed");
    claimed.is_claimed = true;
    const PageRecord four = this->add(claimed);
    EXPECT_NE(this->revision(), empty);
    const CandidateSet all = this->candidates();
    ASSERT_EQ(all.candidates.size(), 2U);
    EXPECT_EQ(all.candidates[0].title, "One");
    EXPECT_EQ(all.candidates[1].slug, "two");
    EXPECT_EQ(all.candidates[1].version, 1);
    EXPECT_EQ(all.revision, this->revision());
    EXPECT_TRUE(this->candidates(all.revision).candidates.empty());

    PagePatch archive;
    archive.lifecycle = Lifecycle::kArchived;
    this->patch(one.id, archive);
    PagePatch list;
    list.lifecycle = Lifecycle::kActive;
    this->patch(three.id, list);
    this->remove(two.id);
    const CandidateSet since = this->candidates(all.revision);
    ASSERT_EQ(since.candidates.size(), 1U);
    EXPECT_EQ(since.candidates[0].id, three.id);
    EXPECT_EQ(since.candidates[0].version, 2);
    EXPECT_EQ(since.gone, (std::vector<std::int64_t>{one.id, two.id}));

    PagePatch release;
    release.is_claimed = false;
    this->patch(four.id, release);
    EXPECT_EQ(this->candidates(since.revision).candidates.at(0).id, four.id);
}

// An id is never used again, but a page may come back under its own.
TYPED_TEST_P(PageStoreConformance, ARemovedPageStaysAwayUntilItIsAddedAgain) {
    const PageRecord one = this->add(this->page("One"));
    this->remove(one.id);
    EXPECT_GT(this->add(this->page("Two")).id, one.id);
    const StoreRevision before = this->revision();
    NewPage again = this->page("One again");
    again.id = one.id;
    this->add(again);
    const CandidateSet since = this->candidates(before);
    EXPECT_EQ(since.candidates.at(0).id, one.id);
    EXPECT_TRUE(since.gone.empty());
}

// Of pages that are gone so many are remembered. Who knows the pages from before reads all again.
TYPED_TEST_P(PageStoreConformance, RemovedPagesAreForgottenInTheEnd) {
    constexpr std::size_t kKept = TypeParam::kKept;
    std::vector<PageRecord> pages;
    for (std::size_t i = 0; i <= kKept; ++i) {
        NewPage made = this->page("Page " + std::to_string(i));
        made.version = 5;
        pages.push_back(this->add(std::move(made)));
    }
    const PageRecord stays = this->add(this->page("Stays"));
    const StoreRevision before = this->revision();
    this->remove(pages[0].id);
    const StoreRevision after_one = this->revision();
    for (std::size_t i = 1; i < kKept; ++i) {
        this->remove(pages[i].id);
    }
    EXPECT_FALSE(this->candidates(before).is_whole);
    EXPECT_EQ(this->candidates(before).gone.size(), kKept);
    this->remove(pages[kKept].id);
    const CandidateSet all = this->candidates(before);
    EXPECT_TRUE(all.is_whole) << "the first one is forgotten";
    EXPECT_TRUE(all.gone.empty());
    ASSERT_EQ(all.candidates.size(), 1U);
    EXPECT_EQ(all.candidates[0].id, stays.id);
    EXPECT_FALSE(this->candidates(after_one).is_whole);
    EXPECT_EQ(this->candidates(after_one).gone.size(), kKept);
    EXPECT_TRUE(this->candidates().is_whole);

    // Forgotten or not, no version of a page has two titles; and what never was begins at 1.
    for (const PageRecord& page : {pages[0], pages[kKept]}) {
        NewPage again = this->page("Another title");
        again.id = page.id;
        EXPECT_EQ(this->add(std::move(again)).version, page.version + 1);
    }
    EXPECT_EQ(this->add(this->page("New")).version, 1);
    NewPage far = this->page("Far");
    far.id = stays.id + 1'000;
    EXPECT_EQ(this->add(std::move(far)).version, 1);
}

// From whichever end a part is read, it is the same part.
TYPED_TEST_P(PageStoreConformance, EachPartOfAListIsThere) {
    constexpr std::size_t kPages = 7;
    for (std::size_t i = 0; i < kPages; ++i) {
        this->add(this->page("Page " + std::to_string(i * 5 % kPages)));
        this->backend_.clock().advance(std::chrono::milliseconds(i % 2));
    }
    for (const bool only_candidates : {true, false}) {
        for (const PageOrder order : {PageOrder::kNewest, PageOrder::kOldest, PageOrder::kTitle}) {
            PageQuery query{only_candidates, order, 0, kMaxListed};
            const std::vector<std::string> all = this->titles_of(this->list(query));
            ASSERT_EQ(all.size(), kPages);
            for (query.offset = 0; query.offset <= kPages + 1; ++query.offset) {
                for (query.limit = 1; query.limit <= kPages + 1; ++query.limit) {
                    const std::size_t begin = std::min(query.offset, kPages);
                    const std::size_t end = std::min(begin + query.limit, kPages);
                    const auto at = [&](std::size_t i) {
                        return all.begin() + static_cast<std::ptrdiff_t>(i);
                    };
                    ASSERT_EQ(this->titles_of(this->list(query)),
                              std::vector<std::string>(at(begin), at(end)))
                        << to_string(order) << " " << query.offset << " " << query.limit;
                    ASSERT_EQ(this->list(query).total, kPages);
                }
            }
        }
    }
}

TYPED_TEST_P(PageStoreConformance, ListsInOrderAndCounts) {
    for (const char* title : {"Beta", "alpha", "Gamma"}) {
        this->add(this->page(title));
        this->backend_.clock().advance(std::chrono::seconds(1));
    }
    NewPage archived = this->page("Old");
    archived.lifecycle = Lifecycle::kArchived;
    this->add(archived);
    PageQuery query;
    EXPECT_EQ(this->titles_of(this->list(query)),
              (std::vector<std::string>{"Gamma", "alpha", "Beta"}));
    EXPECT_EQ(this->list(query).total, 3U);
    query.order = PageOrder::kOldest;
    query.offset = 1;
    query.limit = 1;
    EXPECT_EQ(this->titles_of(this->list(query)), (std::vector<std::string>{"alpha"}));
    query = {};
    query.order = PageOrder::kTitle;
    query.only_candidates = false;
    EXPECT_EQ(this->list(query).total, 4U);
    EXPECT_EQ(this->titles_of(this->list(query)),
              (std::vector<std::string>{"Beta", "Gamma", "Old", "alpha"}));
    query.offset = kMaxPages * 2;
    EXPECT_TRUE(this->list(query).pages.empty());
}

TYPED_TEST_P(PageStoreConformance, ImportsAllOrNone) {
    NewPage known = this->page("Known");
    known.id = 3;
    known.body = "old";
    this->add(known);
    std::vector<NewPage> pages = {known, this->page("New"), this->page("New")};
    pages[0].body = "new";
    const auto first = this->backend_.run(this->backend_.store().import(pages)).value();
    EXPECT_EQ(first.added, 2U);
    EXPECT_EQ(first.changed, 1U);
    EXPECT_EQ(this->backend_.run(this->backend_.store().text("known")).value().body, "new");
    EXPECT_EQ(this->backend_.run(this->backend_.store().text("new-2")).value().record.title, "New");

    std::vector<NewPage> again = {pages[0]};
    const auto second = this->backend_.run(this->backend_.store().import(again)).value();
    EXPECT_EQ(second.same, 1U);

    std::vector<NewPage> broken = {this->page("Fine"), this->page("Clash")};
    broken[1].id = 900;
    broken[1].slug = "known";
    const auto refused = this->backend_.run(this->backend_.store().import(broken));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::kConflict);
    EXPECT_TRUE(refused.error().message.starts_with("2: slug: ")) << refused.error().message;
    EXPECT_FALSE(this->backend_.run(this->backend_.store().text("fine")).ok());
    const auto too_many = this->backend_.run(this->backend_.store().import(
        std::vector<NewPage>(kMaxPagesAtOnce + 1, this->page("Many"))));
    EXPECT_EQ(too_many.error().code, Code::kInvalidRequest);
}

TYPED_TEST_P(PageStoreConformance, KeepsThePin) {
    const PageRecord made = this->add(this->page("Mine"));
    EXPECT_EQ(this->backend_.run(this->backend_.store().pin_hash(made.id)).value(), "");
    PagePatch claim;
    claim.is_claimed = true;
    claim.pin_hash = "$argon2id$...";
    EXPECT_FALSE(made.has_pin);
    const PageRecord claimed_now = this->patch(made.id, claim);
    EXPECT_TRUE(claimed_now.is_claimed);
    EXPECT_TRUE(claimed_now.has_pin);
    EXPECT_EQ(this->backend_.run(this->backend_.second_store().pin_hash(made.id)).value(),
              "$argon2id$...");
    NewPage again = this->page("Mine");
    again.id = made.id;
    again.is_claimed = true;
    EXPECT_TRUE(this->backend_.run(this->backend_.store().import({again})).ok());
    EXPECT_EQ(this->backend_.run(this->backend_.store().pin_hash(made.id)).value(), "$argon2id$...")
        << "an import says nothing of PINs";
    EXPECT_TRUE(this->backend_.run(this->backend_.store().get(made.id)).value().has_pin);
    PagePatch taken_away;
    taken_away.pin_hash = "";
    EXPECT_FALSE(this->patch(made.id, taken_away).has_pin);
    EXPECT_FALSE(this->backend_.run(this->backend_.store().get(made.id)).value().has_pin);
    EXPECT_TRUE(this->patch(made.id, claim).has_pin) << "nothing but the PIN is new";
    PagePatch release;
    release.is_claimed = false;
    EXPECT_FALSE(this->patch(made.id, release).has_pin);
    EXPECT_EQ(this->backend_.run(this->backend_.store().pin_hash(made.id)).value(), "")
        << "a PIN ends with the claim";
    PagePatch pin_alone;
    pin_alone.pin_hash = "$argon2id$...";
    EXPECT_EQ(this->backend_.run(this->backend_.store().patch(made.id, pin_alone)).error().code,
              Code::kInvalidRequest);
    NewPage claimed = this->page("With a PIN");
    claimed.pin_hash = "$argon2id$one";
    EXPECT_EQ(this->backend_.run(this->backend_.store().add(claimed)).error().code,
              Code::kInvalidRequest);
    claimed.is_claimed = true;
    const PageRecord opened = this->add(claimed);
    EXPECT_TRUE(opened.has_pin);
    const std::int64_t with_pin = opened.id;
    PageQuery all;
    all.only_candidates = false;
    all.order = PageOrder::kTitle;
    const PageList list = this->backend_.run(this->backend_.store().list(all)).value();
    ASSERT_EQ(list.pages.size(), 2U);
    EXPECT_FALSE(list.pages[0].has_pin);
    EXPECT_TRUE(list.pages[1].has_pin);
    EXPECT_EQ(this->backend_.run(this->backend_.store().pin_hash(with_pin)).value(),
              "$argon2id$one");
    EXPECT_EQ(this->backend_.run(this->backend_.store().pin_hash(99)).error().code,
              Code::kNotFound);
}

REGISTER_TYPED_TEST_SUITE_P(PageStoreConformance, KeepsEveryField,
                            RefusesWhatIsTakenOrOutOfItsLimits, PagesOfOneTitleGetNumberedSlugs,
                            TheVersionFollowsWhatReadersSee, NoVersionHasTwoTitles,
                            CandidatesAreReadSinceARevision,
                            ARemovedPageStaysAwayUntilItIsAddedAgain,
                            RemovedPagesAreForgottenInTheEnd, EachPartOfAListIsThere,
                            ListsInOrderAndCounts, ImportsAllOrNone, KeepsThePin);

}  // namespace sluice::titles
