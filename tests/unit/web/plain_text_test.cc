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
