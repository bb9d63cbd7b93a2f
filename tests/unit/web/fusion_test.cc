// Several lists made one: by rank alone, each page once, and honest about who had it.
#include "web/fusion.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::web {
namespace {

std::vector<Hit> list_of(std::string provider, const std::vector<std::string>& urls) {
    std::vector<Hit> hits;
    for (const std::string& url : urls) {
        Hit hit;
        hit.url = url;
        hit.title = url + " at " + provider;
        hit.provider = provider;
        hit.rank = static_cast<std::uint32_t>(hits.size() + 1);
        hits.push_back(std::move(hit));
    }
    return hits;
}

std::vector<std::string> urls_of(const std::vector<Hit>& hits) {
    std::vector<std::string> urls;
    for (const Hit& hit : hits) {
        urls.push_back(hit.url);
    }
    return urls;
}

// A page that two found beats the first place of one: 1/62 + 1/63 is more than 1/61.
TEST(FusionTest, AgreementBeatsOneFirstPlace) {
    const auto hits =
        fuse({list_of("a", {"https://x.org/1", "https://x.org/2"}),
              list_of("b", {"https://x.org/3", "https://x.org/4", "https://x.org/2"})},
             10);
    EXPECT_EQ(urls_of(hits), (std::vector<std::string>{"https://x.org/2", "https://x.org/1",
                                                       "https://x.org/3", "https://x.org/4"}));
    EXPECT_EQ(hits[0].rank, 1u);
    EXPECT_EQ(hits[3].rank, 4u);
}

// The address given out is one that a provider returned: that of the better place, as it was.
TEST(FusionTest, GivesOutAnAddressAsAProviderReturnedIt) {
    const auto hits =
        fuse({list_of("a", {"https://x.org/0", "http://www.X.org/Page/?utm_source=a"}),
              list_of("b", {"https://x.org/Page#top"})},
             10);
    ASSERT_EQ(hits.size(), 2u);
    EXPECT_EQ(hits[0].url, "https://x.org/Page#top");
    EXPECT_EQ(hits[0].provider, "b");
    ASSERT_EQ(hits[0].origins.size(), 2u);
    EXPECT_EQ(hits[0].origins[0].provider, "a");
    EXPECT_EQ(hits[0].origins[0].rank, 2u);
    EXPECT_EQ(hits[0].origins[1].provider, "b");
    EXPECT_EQ(hits[0].origins[1].rank, 1u);
}

// What the better list does not know of a page the other one may.
TEST(FusionTest, MissingPartsComeFromTheOthers) {
    auto a = list_of("a", {"https://x.org/1"});
    a[0].snippet = "";
    auto b = list_of("b", {"https://x.org/0", "https://x.org/1"});
    b[1].snippet = "a snippet";
    b[1].published_at = "2026-01-01T00:00:00Z";
    const auto hits = fuse({a, b}, 10);
    EXPECT_EQ(hits[0].provider, "a");
    EXPECT_EQ(hits[0].title, "https://x.org/1 at a");
    EXPECT_EQ(hits[0].snippet, "a snippet");
    EXPECT_EQ(hits[0].published_at, "2026-01-01T00:00:00Z");
}

// A list that has a page twice does not vote twice.
TEST(FusionTest, OneVoteForEachList) {
    const auto hits =
        fuse({list_of("a", {"https://x.org/1", "https://x.org/2", "https://x.org/2/"})}, 10);
    EXPECT_EQ(urls_of(hits), (std::vector<std::string>{"https://x.org/1", "https://x.org/2"}));
    EXPECT_EQ(hits[1].origins.size(), 1u);
}

// Equal scores keep the order of the lists, and no more come out than are asked for.
TEST(FusionTest, TiesKeepTheOrderOfTheRoute) {
    const auto hits = fuse({list_of("a", {"https://x.org/1", "https://x.org/2"}),
                            list_of("b", {"https://x.org/3", "https://x.org/4"})},
                           3);
    EXPECT_EQ(urls_of(hits),
              (std::vector<std::string>{"https://x.org/1", "https://x.org/3", "https://x.org/2"}));
}

// Nothing comes of nothing.
TEST(FusionTest, EmptyListsAreEmpty) {
    EXPECT_TRUE(fuse({}, 10).empty());
    EXPECT_TRUE(fuse({{}, {}}, 10).empty());
}

}  // namespace
}  // namespace sluice::web
