#include "titles/query.h"

#include "base/text.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

namespace sluice::titles {
namespace {

using V = QueryVerdict;

std::string repeated(std::string_view text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) {
        out += text;
    }
    return out;
}

struct Case {
    std::string_view what;
    std::optional<std::string_view> encoded;  // as it stands in the address
    QueryVerdict verdict;
    std::string_view match = {};
};

// Every row of the rules, at its edges: what is typed is a query, or ends for free.
TEST(TitleQuery, IsJudgedBeforeItCostsAnything) {
    const std::string spaces70 = repeated("%20", 70);
    const std::string spaces63 = repeated("+", 63) + "x";
    const std::string spaces62 = repeated("+", 62) + "xy";
    const std::string spaces62_xyz = spaces62 + "z";
    const std::string x64 = repeated("x", 64);
    const std::string x65 = repeated("x", 65);
    const std::string e64 = repeated("%C3%A9", 64);
    const std::string e65 = repeated("%C3%A9", 65);
    const std::string rockets64 = repeated("%F0%9F%9A%80", 64);
    const std::string rockets64_match = repeated("🚀", 64);
    const std::string e64_match = repeated("é", 64);
    const std::string salawat3 = repeated("%EF%B7%BA", 3);
    const std::string salawat4 = repeated("%EF%B7%BA", 4);
    const std::string salawat3_match = repeated(
        "\u0635\u0644\u0649 \u0627\u0644\u0644\u0647 \u0639\u0644\u064a\u0647 "
        "\u0648\u0633\u0644\u0645",
        3);
    const std::string ignorable65 = repeated("%C2%AD", 65);
    const std::string marks = "a" + repeated("%CC%81", 63);
    const std::string marks_match = "á" + repeated("\u0301", 62);
    const std::string sharp33 = repeated("%C3%9F", 33);
    const Case cases[] = {
        {"missing", std::nullopt, V::kBlank},
        {"empty", "", V::kBlank},
        {"a space", "+", V::kBlank},
        {"70 spaces are blank before they are too long", spaces70, V::kBlank},
        {"65 soft hyphens too", ignorable65, V::kBlank},
        {"one letter", "k", V::kTooShort},
        {"one letter between spaces", "%20k%20", V::kTooShort},
        {"one letter after 63 spaces", spaces63, V::kTooShort},
        {"two letters after 62 spaces", spaces62, V::kUsable, "xy"},
        {"three letters after 62 spaces are 65 typed", spaces62_xyz, V::kTooLong},
        {"one emoji", "%F0%9F%9A%80", V::kTooShort},
        {"a letter and its accent are one", "e%CC%81", V::kTooShort},
        {"a letter that folds into two", "%C3%9F", V::kUsable, "ss"},
        {"two letters", "Go", V::kUsable, "go"},
        {"64", x64, V::kUsable, x64},
        {"65", x65, V::kTooLong},
        {"64 of two bytes each", e64, V::kUsable, e64_match},
        {"65 of two bytes each", e65, V::kTooLong},
        {"64 of four bytes each", rockets64, V::kUsable, rockets64_match},
        {"33 that fold into 66", sharp33, V::kTooLong},
        {"54 code points from three", salawat3, V::kUsable, salawat3_match},
        {"72 code points from four", salawat4, V::kTooLong},
        {"a stack of combining marks", marks, V::kUsable, marks_match},
        {"plus and escapes", "c%2b%2B+flags", V::kUsable, "c++ flags"},
        {"full-width", "%EF%BC%A1%EF%BD%90%EF%BD%90", V::kUsable, "app"},
        {"dotted capital I counts two", "%C4%B0", V::kUsable, "i\u0307"},
        {"right to left", "%D7%A9%D7%9C%D7%95%D7%9D", V::kUsable, "שלום"},
        {"a tab is white space", "a%09b", V::kUsable, "a b"},
        {"another control character stays", "a%1Fb", V::kUsable,
         "a\x1f"
         "b"},
        {"NUL", "a%00b", V::kInvalid},
        {"NUL alone", "%00", V::kInvalid},
        {"a lone byte", "%FF", V::kInvalid},
        {"a cut sequence", "caf%C3", V::kInvalid},
        {"an overlong slash", "%C0%AF", V::kInvalid},
        {"a surrogate", "%ED%A0%80", V::kInvalid},
        {"past U+10FFFF", "%F4%90%80%80", V::kInvalid},
        {"invalid before blank", "+%FF+", V::kInvalid},
    };
    for (const Case& c : cases) {
        std::optional<std::string> typed;
        if (c.encoded) {
            typed = percent_decode(*c.encoded, PlusIsSpace::kYes);
            ASSERT_TRUE(typed) << c.what;
        }
        const TitleQuery query = read_title_query(typed);
        EXPECT_EQ(query.verdict, c.verdict) << c.what;
        EXPECT_EQ(query.match.reveal(), c.match) << c.what;
    }
}

// The form shows again what was typed, and nothing that could harm who reads it.
TEST(TitleQuery, ShowsWhatWasTyped) {
    const auto shown = [](std::string_view typed) {
        return std::string(read_title_query(typed).display.reveal());
    };
    EXPECT_EQ(shown("  Caf\u00e9 <b> & \U0001F680 "), "  Caf\u00e9 <b> & \U0001F680 ");
    EXPECT_EQ(shown("a\x1b[2J\tb\x7f"
                    "c\u0085d\u00a0e"),
              "a\ufffd[2J\ufffdb\ufffdc\ufffdd\u00a0e");
    EXPECT_EQ(shown(std::string_view("a\0b", 3)), "a\ufffdb");
    EXPECT_EQ(shown("a\xff\xc3"), "a\ufffd\ufffd");
    EXPECT_EQ(shown(repeated("x", 70)), repeated("x", 70));
    EXPECT_EQ(read_title_query(std::nullopt).display.reveal(), "");
}

}  // namespace
}  // namespace sluice::titles
