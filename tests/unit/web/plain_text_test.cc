#include "web/plain_text.h"

#include "base/text.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::web {
namespace {

using namespace std::string_view_literals;

// A title or snippet is one line without anything that a terminal or a log could trip over.
TEST(PlainText, OneLine) {
    EXPECT_EQ(one_line("", 10), "");
    EXPECT_EQ(one_line(" \r\n\t ", 10), "");
    EXPECT_EQ(one_line("  a  b\n\nc\x7F", 10), "a b c");
    EXPECT_EQ(one_line("a\0b"sv, 10), "a b");
    EXPECT_EQ(one_line("a\x1B[31mred", 20), "a [31mred");
    EXPECT_EQ(one_line("a\xC2\x85\xC2\x9F"
                       "b",
                       10),
              "a b")
        << "the second set of control characters";
    EXPECT_EQ(one_line("caf\xC3\xA9\xC2\xA0!", 20), "caf\xC3\xA9\xC2\xA0!") << "letters stay";
    EXPECT_EQ(one_line("a\xFF\xC3", 20), "a\xEF\xBF\xBD\xEF\xBF\xBD");
}

// Nothing turns a line round, hides in it or breaks it; what a script needs to be spelled stays.
TEST(PlainText, NothingHides) {
    struct Row {
        std::string_view text;
        std::string_view line;
    };
    for (const Row& row : {
             Row{"exe\u202Egpj.txt", "exegpj.txt"},
             Row{"\u202Aa\u202Bb\u202Cc\u202Dd", "abcd"},
             Row{"\u2066a\u2067b\u2068c\u2069", "abc"},
             Row{"\u200Ea\u200Fb\u061Cc", "abc"},
             Row{"a\u2028b\u2029c", "a b c"},
             Row{"a \u2028 b", "a b"},
             Row{"\uFEFFa\u2060b\u200Bc\u00ADd", "abcd"},
             Row{"a\U000E0001\U000E0041\U000E007Fb", "ab"},
             Row{"pay\u200Dpal \u200Cx", "paypal x"},
             Row{"\u0646\u0645\u06CC\u200C\u062E\u0648\u0627\u0647\u0645",
                 "\u0646\u0645\u06CC\u200C\u062E\u0648\u0627\u0647\u0645"},
             Row{"\u0915\u094D\u200D\u0937", "\u0915\u094D\u200D\u0937"},
             Row{"\u0915\u200D\u200D\u0937", "\u0915\u200D\u0937"},
             Row{"\u0915\u200Dx\u0915\u200D", "\u0915x\u0915"},
             Row{"\U0001F468\u200D\U0001F469\u200D\U0001F467",
                 "\U0001F468\u200D\U0001F469\u200D\U0001F467"},
             Row{"\u2764\uFE0F\u200D\U0001F525", "\u2764\uFE0F\u200D\U0001F525"},
             Row{"\u0600\u0661", "\u0600\u0661"},
         }) {
        EXPECT_EQ(one_line(row.text, 100), row.line) << row.text;
    }
    EXPECT_EQ(one_line("\u0915\u200D\u0937", 8), "\u0915") << "a joiner is not cut off its letter";
    EXPECT_EQ(many_lines("a\u2028b\u202Ec\u200Dd", 100), "a\nbcd");
}

// An address has nothing in it that is not seen.
TEST(PlainText, UrlsShowAllTheyHave) {
    EXPECT_EQ(usable_url("https://a.example/\u202Egpj\u200B?q=\u2028\u0085\U000E0041\u00E4"),
              "https://a.example/%E2%80%AEgpj%E2%80%8B?q=%E2%80%A8%C2%85%F3%A0%81%81\u00E4");
    EXPECT_EQ(usable_url("https://a\u00AD.example/"), "https://a%C2%AD.example/");
    std::string grows = "https://a.example/";
    while (grows.size() + 3 <= kMaxUrlBytes) {
        grows += "\u202E";
    }
    EXPECT_EQ(usable_url(grows), std::nullopt);
}

// A cut falls between characters and never leaves a blank at the end.
TEST(PlainText, OneLineIsCutBetweenCharacters) {
    EXPECT_EQ(one_line("abc", 3), "abc");
    EXPECT_EQ(one_line("abcd", 3), "abc");
    EXPECT_EQ(one_line("ab\xC3\xA9", 3), "ab");
    EXPECT_EQ(one_line("ab\xC3\xA9", 4), "ab\xC3\xA9");
    EXPECT_EQ(one_line("ab cd", 3), "ab");
    EXPECT_EQ(one_line("abc", 0), "");
}

// One character after another, as the rule says it.
std::string one_line_by_characters(std::string_view text, std::size_t max_bytes) {
    std::string line;
    bool gap = false;
    while (!text.empty()) {
        const Utf8Piece piece = first_utf8(text);
        const std::string character(piece.valid ? text.substr(0, piece.bytes) : "\xEF\xBF\xBD");
        text.remove_prefix(piece.bytes);
        const bool second_controls = character >= "\xC2\x80" && character <= "\xC2\x9F";
        const auto first = static_cast<unsigned char>(character[0]);
        if (first <= 0x20 || first == 0x7F || second_controls) {
            gap = !line.empty();
            continue;
        }
        const std::string next = (gap ? " " : "") + character;
        if (line.size() + next.size() > max_bytes) {
            break;
        }
        line += next;
        gap = false;
    }
    return line;
}

// Runs of plain text are copied whole; nobody can tell.
TEST(PlainText, OneLineIsTheSameWhateverIsCopiedAtOnce) {
    std::mt19937 random(4);
    const std::vector<std::string> pieces = {
        "a",        " ",    "  ",   "\t", "\n",      "longer words than one block ",
        "\xC3\xA9", "\xFF", "\x7F", "~",  "\xC2\x85"};
    for (int run = 0; run < 20'000; ++run) {
        std::string text;
        for (std::size_t left = random() % 12; left > 0; --left) {
            text += pieces[random() % pieces.size()];
        }
        const std::size_t max_bytes = random() % 64;
        ASSERT_EQ(one_line(text, max_bytes), one_line_by_characters(text, max_bytes))
            << "text '" << text << "', at most " << max_bytes << " bytes";
    }
}

// Page text keeps the shape that Markdown needs.
TEST(PlainText, ManyLines) {
    EXPECT_EQ(many_lines("\n# A\r\n\r\n* b\rc\n\td  e\n", 100), "# A\n\n* b\nc\n\td  e");
    EXPECT_EQ(many_lines("a\0b\x7F\xC2\x80"
                         "c"sv,
                         100),
              "a b  c");
    EXPECT_EQ(many_lines("ab\n\xC3\xA9", 4), "ab");
    EXPECT_EQ(many_lines(" \n ", 100), "");
}

// Only what a client may follow is given on.
TEST(PlainText, UsableUrls) {
    for (const std::string_view url :
         {"https://a.example"sv, "http://a.example:8080/x?y=1#z"sv, "HTTPS://A.example/"sv,
          "https://[2001:db8::1]/"sv, "https://a.example/\xC3\xA4"sv}) {
        EXPECT_EQ(usable_url(url), std::string(url));
    }
    EXPECT_EQ(usable_url(" https://a.example/ \n"), "https://a.example/");
    const std::string longest = "https://a.example/" + std::string(kMaxUrlBytes - 18, 'x');
    EXPECT_EQ(usable_url(longest), longest);
    EXPECT_EQ(usable_url(longest + "x"), std::nullopt);
    for (const std::string_view url : {""sv,
                                       "a.example"sv,
                                       "//a.example/"sv,
                                       "/path"sv,
                                       "https:"sv,
                                       "https://"sv,
                                       "https:///x"sv,
                                       "https://?q"sv,
                                       "https://:80/"sv,
                                       "https://user@/"sv,
                                       "https://user@:80/"sv,
                                       "javascript:alert(1)"sv,
                                       "javascript://a.example/%0aalert(1)"sv,
                                       "data:text/html,x"sv,
                                       "ftp://a.example/"sv,
                                       "file:///etc/passwd"sv,
                                       "httpx://a.example/"sv,
                                       "https://a.example/a b"sv,
                                       "https://a.example/\n"sv.substr(0, 0),
                                       "https://a.example/a\nb"sv,
                                       "https://a.example/\"onclick"sv,
                                       "https://a.example/<b>"sv,
                                       "https://a.example/\x7F"sv,
                                       "https://a.example/\xFF"sv,
                                       "https://\\evil.example/"sv}) {
        EXPECT_EQ(usable_url(url), std::nullopt) << url;
    }
}

}  // namespace
}  // namespace sluice::web
