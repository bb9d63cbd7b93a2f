#include "titles/page.h"

#include "titles/page_store.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::titles {
namespace {

std::string refusal(const NewPage& page) {
    const Status status = validate(page);
    return status.ok() ? "" : status.error().message;
}

NewPage titled(std::string title) {
    NewPage page;
    page.title = std::move(title);
    return page;
}

TEST(Page, SaysWhichFieldIsOutOfItsLimits) {
    EXPECT_EQ(refusal(titled("Fine")), "");
    EXPECT_EQ(refusal(titled(std::string(kMaxTitleCodePoints, 'a'))), "");
    for (const std::string& title :
         {std::string(), std::string("   "), std::string(kMaxTitleCodePoints + 1, 'a'),
          std::string("two\nlines"), std::string("\xff"), std::string("a\0b", 3)}) {
        EXPECT_TRUE(refusal(titled(title)).starts_with("title: expected ")) << title;
    }
    NewPage page = titled("Fine");
    page.slug = "Not A Slug";
    EXPECT_TRUE(refusal(page).starts_with("slug: expected "));
    page = titled("Fine");
    page.id = 0;
    EXPECT_TRUE(refusal(page).starts_with("id: expected "));
    page = titled("Fine");
    page.version = 0;
    EXPECT_TRUE(refusal(page).starts_with("current_version: expected "));
    page = titled("Fine");
    page.author = std::string(kMaxAuthorCodePoints + 1, 'a');
    EXPECT_TRUE(refusal(page).starts_with("author: expected "));
    page = titled("Fine");
    page.body = std::string(kMaxBodyBytes, 'a');
    EXPECT_EQ(refusal(page), "");
    page.body += 'a';
    EXPECT_TRUE(refusal(page).starts_with("body: expected "));
    page.body = "\xc0\x80";
    EXPECT_TRUE(refusal(page).starts_with("body: expected "));
}

TEST(Page, APatchHasTheSameLimits) {
    PagePatch patch;
    EXPECT_TRUE(patch.changes_nothing());
    patch.title = "";
    EXPECT_FALSE(patch.changes_nothing());
    EXPECT_FALSE(validate(patch).ok());
    patch = {};
    patch.slug = "-";
    EXPECT_FALSE(validate(patch).ok());
    patch = {};
    patch.body = "\xff";
    EXPECT_FALSE(validate(patch).ok());
    patch = {};
    patch.author = "a\tb";
    EXPECT_FALSE(validate(patch).ok());
}

TEST(Page, LifecyclesAreWords) {
    for (const Lifecycle lifecycle :
         {Lifecycle::kActive, Lifecycle::kUnlisted, Lifecycle::kArchived}) {
        EXPECT_EQ(parse_lifecycle(to_string(lifecycle)), lifecycle);
    }
    EXPECT_FALSE(parse_lifecycle("Active"));
}

// An import's error says of which page it is.
TEST(PlacedMessage, SplitsOffThePlace) {
    EXPECT_EQ(placed_message("12: slug: taken").place, 12U);
    EXPECT_EQ(placed_message("12: slug: taken").text, "slug: taken");
    for (const std::string_view whole :
         {"slug: taken", "12 pages", "", "12:", "-1: x", "99999999999999999999: x"}) {
        EXPECT_EQ(placed_message(whole).place, 0U) << whole;
        EXPECT_EQ(placed_message(whole).text, whole);
    }
}

}  // namespace
}  // namespace sluice::titles
