#include "titles/slug.h"

#include "titles/page.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::titles {
namespace {

TEST(Slug, IsMadeOfATitle) {
    const std::pair<const char*, const char*> cases[] = {
        {"Kubernetes deployment checklist", "kubernetes-deployment-checklist"},
        {"  C++ Build: Flags! ", "c-build-flags"},
        {"Straßenkarte München", "strassenkarte-münchen"},
        {"日本語 検索 ガイド", "日本語-検索-ガイド"},
        {"Ａｐｐｌｅ memo", "apple-memo"},
        {"ﷺ", "صلى-الله-عليه-وسلم"},
        {"!!!", "page"},
        {"🙂", "page"},
    };
    for (const auto& [title, slug] : cases) {
        EXPECT_EQ(slug_of(title), slug) << title;
        EXPECT_TRUE(is_slug(slug_of(title))) << title;
    }
}

TEST(Slug, IsBounded) {
    std::string title;
    for (int i = 0; i < 200; ++i) {
        title += "日本 ";
    }
    const std::string slug = slug_of(title);
    EXPECT_LE(slug.size(), kMaxSlugBytes);
    EXPECT_TRUE(is_slug(slug)) << slug;
    const std::string numbered = numbered_slug(std::string(kMaxSlugBytes, 'a'), 1'000'000);
    EXPECT_EQ(numbered.size(), kMaxSlugBytes);
    EXPECT_TRUE(is_slug(numbered));
}

TEST(Slug, HasOneForm) {
    for (const char* slug : {"a", "a-1", "münchen", "2026-12-01"}) {
        EXPECT_TRUE(is_slug(slug)) << slug;
    }
    for (const char* slug : {"", "-", "a-", "-a", "a--b", "A", "a b", "a/b", "..", "a.b", "ａ",
                             "a\xff", "a_b", "a\xcc\x88"}) {
        EXPECT_FALSE(is_slug(slug)) << slug;
    }
}

}  // namespace
}  // namespace sluice::titles
