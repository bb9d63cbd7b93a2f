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

// What nobody sees is no title and no author, in whatever way it is invisible; one character that
// is seen is enough, whatever stands around it.
TEST(Page, ATitleCanBeSeen) {
    const std::string_view invisible[] = {
        "\u00A0\u2003\u3000",        // blanks
        "\u200B\u200C\u200D\u2060",  // without a width
        "\uFEFF",
        "\u00AD",                    // a soft hyphen
        "\u202E\u2066\u2069\u200F",  // directions
        "\u3164\u115F\uFFA0",        // letters that fill a place
        "\u2800",                    // no dot of a Braille cell
        "\U000E0041",                // a tag
        "\uFE0F\u034F",              // what varies or joins a letter that is not there
        "\uFFF9",
        "\U0001D159",
    };
    for (const std::string_view text : invisible) {
        const std::string title = " " + std::string(text);
        EXPECT_EQ(refusal(titled(title)),
                  "title: expected 1 to 200 characters, and at least one that can be seen")
            << title;
        PagePatch patch;
        patch.title = title;
        EXPECT_FALSE(validate(patch).ok()) << title;
        NewPage page = titled("Fine");
        page.author = title;
        EXPECT_EQ(refusal(page),
                  "author: expected 0 to 80 characters, and at least one that can be seen, or none "
                  "at all")
            << title;
        EXPECT_EQ(refusal(titled(title + "x")), "") << title;
    }
    for (const std::string_view seen :
         {".", "\u05D0", "\U0001F642", "\u0600", "\u0301", "\uE000", "\U0002FFFD"}) {
        EXPECT_EQ(refusal(titled(std::string(seen))), "") << seen;
    }
    EXPECT_EQ(refusal(titled("two\u2028lines")), "title: expected one line of UTF-8");
    EXPECT_EQ(refusal(titled("two\u2029lines")), "title: expected one line of UTF-8");
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
