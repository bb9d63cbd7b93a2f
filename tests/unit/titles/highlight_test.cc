// What is marked in a title: what a reader would call the match, whatever script it is in, and
// never half a character.
#include "titles/highlight.h"

#include "base/random.h"
#include "base/text.h"
#include "titles/match_copy.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::titles {
namespace {

// The title with brackets around what is marked.
std::string marked(const std::string& title, std::string_view query) {
    std::string out;
    std::size_t at = 0;
    for (const TextSpan& span : highlight(title, match_copy(query))) {
        out += title.substr(at, span.begin - at) + "[" +
               title.substr(span.begin, span.end - span.begin) + "]";
        at = span.end;
    }
    return out + title.substr(at);
}

// Marks follow the words of the query, with their typing mistakes.
TEST(Highlight, MarksWhatMatches) {
    struct Case {
        const char* title;
        const char* query;
        const char* expected;
    };
    const Case cases[] = {
        {"Redis cache eviction", "redis", "[Redis] cache eviction"},
        {"Redis cache eviction", "REDIS cache", "[Redis] [cache] eviction"},
        {"Kubernetes deployment checklist", "deploymnt", "Kubernetes [deploym]e[nt] checklist"},
        {"Kubernetes deployment checklist", "kube", "[Kube]rnetes deployment checklist"},
        {"On-call rotation schedule", "on call", "[On]-[call] rotation schedule"},
        {"C++ build flags", "c++", "[C++] build flags"},
        {"Redis cache eviction", "zzz", "Redis cache eviction"},
        {"Redis cache eviction", "ae", "Redis cache eviction"},  // letters here and there
        {"a b", "a b", "[a] [b]"},
        {"", "redis", ""},
        {"Redis", "", "Redis"},
        // Other scripts and forms.
        {"日本語 検索 ガイド", "検索", "日本語 [検索] ガイド"},
        {"日本語検索", "検索", "日本語[検索]"},
        {"Ａｐｐｌｅ partnership", "apple", "[Ａｐｐｌｅ] partnership"},
        {"Straßenkarte München", "STRASSENKARTE", "[Straßenkarte] München"},
        {"Straßenkarte", "stras", "[Straß]enkarte"},  // half of what ß becomes marks all of it
        {"Cafe\u0301 menu", "café", "[Cafe\u0301] menu"},
        {"Cafe\u0301 menu", "cafe\u0301 menu", "[Cafe\u0301] [menu]"},
        {"of\uFB01ce", "office", "[of\uFB01ce]"},
        {"soft\u00ADware", "software", "[soft\u00ADware]"},
        {"tabs\u3000and\u00A0spaces", "and", "tabs\u3000[and]\u00A0spaces"},
        {"🎉 party 🎉🎉", "🎉🎉", "🎉 party [🎉🎉]"},
    };
    for (const Case& each : cases) {
        EXPECT_EQ(marked(each.title, each.query), each.expected) << each.query;
    }
}

// Whatever the texts are, spans are in order, apart, not empty, and between characters.
TEST(Highlight, SpansAreWellFormed) {
    const std::vector<std::string> pieces = {
        "a",      "b",          "ab",           " ",    "  ", "\u3000", "ß",      "\uFB01",
        "\u0301", "é",          "e\u0301",      "日本", "Ａ", "\u00AD", "\u200D", "\uFDFA",
        "🎉",     "👩\u200D💻", "\u1100\u1161", "각",   "İ",  "<",      "&",      "\""};
    for (std::uint64_t seed = 1; seed <= 3'000; ++seed) {
        SeededRandom random(seed);
        auto text = [&](std::uint64_t most) {
            std::string out;
            for (std::uint64_t n = random.below(most + 1); n > 0; --n) {
                out += pieces[random.below(pieces.size())];
            }
            return out;
        };
        const std::string title = text(40);
        const std::string match = match_copy(text(20));
        std::size_t end = 0;
        bool is_first = true;
        for (const TextSpan& span : highlight(title, match)) {
            ASSERT_LT(span.begin, span.end) << "seed " << seed;
            ASSERT_LE(span.end, title.size()) << "seed " << seed;
            ASSERT_TRUE(is_first || span.begin > end) << "seed " << seed;
            ASSERT_TRUE(is_valid_utf8(title.substr(0, span.begin))) << "seed " << seed;
            ASSERT_TRUE(is_valid_utf8(title.substr(span.begin, span.end - span.begin)))
                << "seed " << seed;
            end = span.end;
            is_first = false;
        }
    }
}

// Work is bounded: of a match copy that is longer than any title's, the start is looked at.
TEST(Highlight, LooksAtTheStartOfALongTitle) {
    const std::string title = std::string(kMaxHighlightedCodePoints, 'x') + " needle";
    EXPECT_TRUE(highlight(title, "needle").empty());
    EXPECT_EQ(highlight(title.substr(100), "needle").size(), 1U);
}

}  // namespace
}  // namespace sluice::titles
