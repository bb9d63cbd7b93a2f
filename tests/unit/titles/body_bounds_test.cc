// What a body may nest: what people write passes, what would take a renderer's time does not.
#include "titles/body_bounds.h"

#include "titles/page.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace sluice::titles {
namespace {

std::string times(std::string_view text, std::size_t count) {
    std::string out;
    for (std::size_t i = 0; i < count; ++i) {
        out += text;
    }
    return out;
}

std::size_t line_of(const std::string& body, BodyExcess excess) {
    const auto problem = body_problem(body);
    return problem && problem->excess == excess ? problem->line : 0;
}

TEST(BodyBounds, DepthHasABound) {
    for (const char* marker : {"> ", ">", "- ", "* ", "+ ", "1. ", "1) ", "999999999. ", "-\t"}) {
        const std::string most = times(marker, kMaxBodyDepth);
        EXPECT_FALSE(body_problem("text\n\n" + most + "a\n\n\nb\n")) << marker;
        EXPECT_EQ(line_of("text\n\n" + most + marker + "a", BodyExcess::kDepth), 3U) << marker;
        EXPECT_EQ(line_of("text\r\n\r\n" + most + marker + "a", BodyExcess::kDepth), 3U);
        EXPECT_EQ(line_of("text\r\r" + most + marker + "a", BodyExcess::kDepth), 3U) << marker;
    }
}

// Step by step, each line deeper than the one before.
TEST(BodyBounds, DepthIsCountedOverLines) {
    std::string lists;
    std::string wide;
    for (std::size_t i = 0; i <= kMaxBodyDepth; ++i) {
        lists += std::string(2 * i, ' ') + "- a\n\n";
        wide += std::string(4 * i, ' ') + "- a\n";
    }
    EXPECT_EQ(line_of(lists, BodyExcess::kDepth), 2 * kMaxBodyDepth + 1);
    EXPECT_EQ(line_of(wide, BodyExcess::kDepth), kMaxBodyDepth + 1);
    // Empty lines, however many, leave lists open for what is indented enough.
    const std::string some = times("- ", kMaxBodyDepth / 2 + 1);
    EXPECT_EQ(line_of(some + "a\n\n\n\n" + std::string(kMaxBodyDepth + 2, ' ') + some + "b\n",
                      BodyExcess::kDepth),
              5U);
    // What looks blank but goes on in a paragraph keeps everything open.
    const std::string half = times("- ", kMaxBodyDepth);
    EXPECT_NE(line_of(half + "a\n     >\nb\n" + std::string(2 * kMaxBodyDepth, ' ') + "- c\n",
                      BodyExcess::kDepth),
              0U);
}

TEST(BodyBounds, WhatPeopleWriteIsWithin) {
    std::string items;
    for (int i = 0; i < 1'000; ++i) {
        items +=
            "- one\n    - two\n        - three\n\n            more of it\n\n1. a\n   > quoted\n";
    }
    const std::string fine[] = {
        items,
        times("* ", 200) + "\n" + times("- ", 200) + "\n" + std::string(300, '-') + "\n",
        times("* ", 40) + "\n\n" + times("* ", 40) + "\n",
        times("> > > > an old letter\n> > >\n> > and its answer\n", 500),
        times("    " + std::string(100, ' ') + "- deep in code\n", 40),
        times("![alt](picture.png)\n", 5'000),
        times("![a](b) [c](d)\n\n", 40'000),
        "1. 2. 3. 4. 5. a\n",
        "",
    };
    for (const std::string& body : fine) {
        EXPECT_FALSE(body_problem(body)) << body.substr(0, 60);
    }
}

TEST(BodyBounds, LinksAfterImagesHaveABound) {
    EXPECT_EQ(line_of("text\n\n" + times("![[]()", 20'000), BodyExcess::kImages), 3U);
    EXPECT_NE(line_of(times("![", 5'000) + times("\n[]()", 5'000), BodyExcess::kImages), 0U);
    EXPECT_NE(line_of(times("![", 5'000) + times("\n     >\n[]()", 5'000), BodyExcess::kImages),
              0U);
    EXPECT_FALSE(body_problem(times("![", 5'000) + "\n\n" + times("[]()", 5'000)));
}

TEST(BodyBounds, ThePageSaysWhatToDo) {
    NewPage page;
    page.title = "Deep";
    page.body = "a\n" + times("> ", kMaxBodyDepth + 1) + "b";
    EXPECT_EQ(validate(page).error().message,
              "body: line 2 has lists and quotes that are more than 64 deep in each other; indent "
              "it less, or put a text between; where they are part of a text or of code, begin the "
              "line with another character");
    PagePatch patch;
    patch.body = page.body;
    EXPECT_EQ(validate(patch).error().code, Code::kInvalidRequest);
    patch.body = times("![[]()", 20'000);
    EXPECT_EQ(
        validate(patch).error().message,
        "body: line 1 has one image or link too many for a page whose paragraphs have so many; put "
        "empty lines between them");
    // The bound is of the page: paragraphs that would pass alone are too many together.
    const std::string paragraph = times("![", 3'000) + times("[]()", 2'000) + "\n\n";
    EXPECT_FALSE(body_problem(times(paragraph, 2)));
    EXPECT_EQ(line_of(times(paragraph, 3), BodyExcess::kImages), 5U);
    // The advice helps: code that begins otherwise is no quote.
    const std::string quotes = times(">", kMaxBodyDepth + 1);
    EXPECT_TRUE(body_problem("```\n" + quotes + "\n```\n"));
    EXPECT_FALSE(body_problem("```\n." + quotes + "\n```\n"));
    patch.body = std::nullopt;
    patch.title = "Deep, and older than the bound";
    EXPECT_TRUE(validate(patch).ok());
}

}  // namespace
}  // namespace sluice::titles
