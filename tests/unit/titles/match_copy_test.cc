#include "titles/match_copy.h"

#include "base/random.h"
#include "base/text.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace sluice::titles {
namespace {

struct Case {
    std::string_view what;
    std::string_view text;
    std::string_view match;
};

// What a reader takes for the same text has one match copy.
TEST(MatchCopy, MakesWhatReadsTheSameTheSame) {
    const Case cases[] = {
        {"ASCII folds", "PostgreSQL Backup", "postgresql backup"},
        {"punctuation stays", "C++ (build): #1_x", "c++ (build): #1_x"},
        {"runs of spaces", "  a \t\r\n b  ", "a b"},
        {"control characters that are no white space stay",
         "a\x1f\x01"
         "b",
         "a\x1f\x01"
         "b"},
        {"spaces beyond ASCII", "a\u00a0\u2003\u3000b\u2028c\u1680d", "a b c d"},
        {"next line", "a\u0085b", "a b"},
        {"accents stay", "Café", "café"},
        {"combining accents compose", "Cafe\u0301", "café"},
        {"order of combining marks", "q\u0307\u0323", "q\u0323\u0307"},
        {"full-width letters", "Ａｐｐｌｅ　１２", "apple 12"},
        {"half-width katakana", "ｶﾞｲﾄﾞ", "ガイド"},
        {"sharp s", "Straße STRASSE", "strasse strasse"},
        {"capital sharp s", "STRAẞE", "strasse"},
        {"ligatures", "ﬁle oﬀice", "file office"},
        {"dotted capital I", "İstanbul", "i\u0307stanbul"},
        {"dotless i is a letter of its own", "ISPARTA ısparta", "isparta ısparta"},
        {"final sigma", "ΟΔΟΣ οδος οδοσ", "οδοσ οδοσ οδοσ"},
        {"Cyrillic", "ПОИСК", "поиск"},
        {"Cherokee folds to capitals", "\uab70", "\u13a0"},
        {"Hebrew", "שלום עולם", "שלום עולם"},
        {"Arabic presentation forms", "\ufefb", "لا"},
        {"eighteen for one", "\ufdfa",
         "\u0635\u0644\u0649 \u0627\u0644\u0644\u0647 \u0639\u0644\u064a\u0647 "
         "\u0648\u0633\u0644\u0645"},
        {"soft hyphen", "co\u00adoperate", "cooperate"},
        {"zero-width joiner and space", "a\u200d\u200b\u2060\ufeffb", "ab"},
        {"variation selectors", "☂\ufe0f", "☂"},
        {"emoji", "Launch 🚀🏽 plan", "launch 🚀🏽 plan"},
        {"superscripts and fractions", "x² ½", "x2 1\u20442"},
        {"an acute alone is a space and a mark", "a\u00b4", "a \u0301"},
        {"only ignorable ones", "\u200b\u00ad", ""},
        {"empty", "", ""},
        {"only spaces", " \u3000\t", ""},
        {"ill-formed bytes", "A\xff\xc3(", "a\ufffd\ufffd("},
        {"a surrogate in UTF-8", "\xed\xa0\x80", "\ufffd\ufffd\ufffd"},
    };
    for (const Case& c : cases) {
        EXPECT_EQ(match_copy(c.text), c.match) << c.what;
    }
}

// A second look changes nothing, whatever the text is, and the result is clean.
TEST(MatchCopy, IsItsOwnMatchCopy) {
    SeededRandom random(20'260'101);
    constexpr char32_t kStarts[] = {0x0,    0x20,   0x41,   0xA0,   0x300,   0x3B1,  0x430,
                                    0x5D0,  0x600,  0x1E00, 0x1F00, 0x2000,  0x2100, 0x3040,
                                    0xAC00, 0xFB00, 0xFDF0, 0xFF00, 0x1D400, 0x1F600};
    for (int i = 0; i < 20'000; ++i) {
        std::string text;
        for (std::uint64_t n = random.below(12); n > 0; --n) {
            const auto c =
                static_cast<char32_t>(kStarts[random.below(std::size(kStarts))] + random.below(64));
            if (c < 0x80) {
                text += static_cast<char>(c);
            } else if (c < 0x800) {
                text += {static_cast<char>(0xC0 | (c >> 6)), static_cast<char>(0x80 | (c & 0x3F))};
            } else if (c < 0x10000) {
                text += {static_cast<char>(0xE0 | (c >> 12)),
                         static_cast<char>(0x80 | ((c >> 6) & 0x3F)),
                         static_cast<char>(0x80 | (c & 0x3F))};
            } else {
                text += {static_cast<char>(0xF0 | (c >> 18)),
                         static_cast<char>(0x80 | ((c >> 12) & 0x3F)),
                         static_cast<char>(0x80 | ((c >> 6) & 0x3F)),
                         static_cast<char>(0x80 | (c & 0x3F))};
            }
        }
        const std::string once = match_copy(text);
        ASSERT_EQ(match_copy(once), once) << text;
        ASSERT_TRUE(is_valid_utf8(once));
        ASSERT_EQ(once.find("  "), std::string::npos) << text;
        ASSERT_TRUE(once.empty() || (once.front() != ' ' && once.back() != ' ')) << text;
    }
}

}  // namespace
}  // namespace sluice::titles
