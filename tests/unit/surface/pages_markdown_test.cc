// What it costs to render a body, whatever its author had in mind.
#include "base/random.h"
#include "surface/pages/markdown.h"
#include "titles/body_bounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::surface {
namespace {

using titles::body_problem;
using titles::BodyExcess;

std::string times(std::string_view text, std::size_t count) {
    std::string out;
    for (std::size_t i = 0; i < count; ++i) {
        out += text;
    }
    return out;
}

// `text` again and again, up to about `size` bytes.
std::string filled(std::string_view text, std::size_t size) {
    return times(text, size / text.size());
}

std::string at_most_deep(std::string_view marker) {
    return times(marker, titles::kMaxBodyDepth);
}

double cpu_seconds() {
    timespec used{};
    EXPECT_EQ(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used), 0);
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

double seconds_for(std::string markdown) {
    markdown += "\n\nThe end.";
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
        const double before = cpu_seconds();
        EXPECT_FALSE(markdown_to_html(markdown).empty());
        best = std::min(best, cpu_seconds() - before);
    }
    return best;
}

TEST(PagesMarkdown, WhatIsTooDeepIsShownAsItWasTyped) {
    const std::string deep = at_most_deep("> ") + "> <b>\n";
    EXPECT_EQ(markdown_to_html(deep), "<pre><code>" + times("&gt; ", titles::kMaxBodyDepth + 1) +
                                          "&lt;b&gt;\n</code></pre>\n");
    EXPECT_TRUE(markdown_to_html(at_most_deep("> ") + "*a*\n").starts_with("<blockquote>"));
}

// Four times the bytes, at most so many times the work: with a square in it they would be sixteen.
TEST(PagesMarkdown, RenderingTakesTimeByTheBytes) {
    struct Case {
        const char* name;
        std::function<std::string(std::size_t)> body;
    };
    const auto half_and_half = [](std::string_view first, std::string_view second) {
        return [=](std::size_t size) {
            return filled(first, size / 2) + "a\n" + filled(second, size / 2);
        };
    };
    const auto all = [](std::string_view text) {
        return [=](std::size_t size) { return filled(text, size); };
    };
    const auto deep = [](std::string_view marker, std::string_view text) {
        return [=](std::size_t size) { return at_most_deep(marker) + "a\n" + filled(text, size); };
    };
    const Case cases[] = {
        {"lists and blank lines", half_and_half("- ", "\n")},
        {"numbers and blank lines", half_and_half("1. ", "\n")},
        {"quotes and blank lines", half_and_half(">", "\n")},
        {"deep lists and blank lines", deep("- ", "\n")},
        {"deep lists and blank quotes", deep("- ", ">\n")},
        {"lists and emphasis", half_and_half("- ", "***!a")},
        {"quotes and emphasis", half_and_half("> ", "a*b ")},
        {"images before links", all("![[]()")},
        {"images, then links", half_and_half("![", "[]()")},
        {"open brackets", all("[")},
        {"open images", all("![")},
        {"links that don't end", all("[a](b")},
        {"links in parentheses", all("[a](((((((((((((((((((((((((((((((((")},
        {"nested brackets", half_and_half("[", "]")},
        {"emphasis that doesn't end", all("*a **b _c ")},
        {"runs of emphasis", half_and_half("**", "*_")},
        {"runs of backticks", all("`a``b```c````")},
        {"open tags", all("<a b=\"")},
        {"open comments", all("x <!-- a -")},
        {"open instructions", all("x <?")},
        {"open declarations", all("x <!A ")},
        {"open sections", all("x <![CDATA[")},
        {"open addresses", all("<http:a")},
        {"definitions", all("[a]: u \"t\"\n")},
        {"definitions that don't end", all("[a]: u \"\n")},
        {"uses of one definition",
         [](std::size_t size) {
             return "[a]: " + filled("u", size / 2) + "\n\n" + filled("[a]", size / 2);
         }},
        {"references", all("&amp;&#1;&a")},
        {"backslashes", all("\\")},
        {"lines of a paragraph", all("a\n")},
        {"fences", all("```\na\n")},
        {"items", all("- a\n\n")},
    };
    for (const Case& each : cases) {
        // A busy machine makes caches cold now and then; a square is there each time.
        bool is_by_the_bytes = false;
        for (int attempt = 0; attempt < 8 && !is_by_the_bytes; ++attempt) {
            const double small = seconds_for(each.body(std::size_t{32} * 1024));
            const double large = seconds_for(each.body(std::size_t{128} * 1024));
            is_by_the_bytes = large < 9 * small + 0.005;
        }
        EXPECT_TRUE(is_by_the_bytes) << each.name;
    }
}

// However markers are put together, what has no problem nests no deeper than is said.
TEST(PagesMarkdown, NothingNestsDeeperThanItsBound) {
    constexpr std::string_view kPieces[] = {
        "- ", "* ", "+ ", "1. ",  "12) ", ">",      "> ",    "-\t", " ",   "  ",   "   ",
        "\t", "a",  "\n", "\n\n", ">\n",  "     >", "```\n", "-\n", "<b>", "***\n"};
    SeededRandom random(7);
    std::size_t within = 0;
    std::size_t deepest = 0;
    for (int round = 0; round < 4'000; ++round) {
        std::string body;
        const auto pieces = 1 + random.below(12);
        for (std::uint64_t i = 0; i < pieces; ++i) {
            body += times(kPieces[random.below(std::size(kPieces))], 1 + random.below(40));
            body += random.below(2) == 0 ? "a\n" : "";
        }
        if (body_problem(body)) {
            continue;
        }
        within += 1;
        const std::string html = markdown_to_html(body);
        std::size_t depth = 0;
        for (std::size_t at = html.find('<'); at != std::string::npos;
             at = html.find('<', at + 1)) {
            const std::string_view tag = std::string_view(html).substr(at);
            depth += tag.starts_with("<li>") || tag.starts_with("<blockquote>") ? 1 : 0;
            depth -= tag.starts_with("</li>") || tag.starts_with("</blockquote>") ? 1 : 0;
            deepest = std::max(deepest, depth);
        }
        ASSERT_LE(deepest, titles::kMaxBodyDepth) << body;
    }
    EXPECT_GT(within, 1'000U);
    EXPECT_GT(deepest, titles::kMaxBodyDepth / 2);
}

}  // namespace
}  // namespace sluice::surface
