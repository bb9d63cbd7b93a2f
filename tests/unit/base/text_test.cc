#include "base/text.h"

#include "base/ascii.h"
#include "base/join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Header values and list settings are compared after trimming, whichever blank surrounds them.
TEST(Text, TrimRemovesEveryAsciiBlankAndNothingElse) {
    EXPECT_EQ(trim(" \t\r\n\v\fa b\f\v\n\r\t "), "a b");
    EXPECT_EQ(trim("   "), "");
    EXPECT_EQ(trim(""), "");
    EXPECT_EQ(trim("\xC2\xA0x"), "\xC2\xA0x");  // a no-break space is not ASCII
}

// Header names and host names are ASCII: other bytes must survive untouched.
TEST(Text, CaseIsFoldedForAsciiOnly) {
    EXPECT_EQ(to_lower("AZ[@`\xC3\x84"), "az[@`\xC3\x84");
    EXPECT_TRUE(equals_ignoring_case("Content-TYPE", "content-type"));
    EXPECT_FALSE(equals_ignoring_case("content", "content-type"));
    EXPECT_FALSE(equals_ignoring_case("[", "{"));  // 32 apart, as letters are
    EXPECT_TRUE(contains_ignoring_case("Monthly QUOTA exceeded", "quota"));
    EXPECT_FALSE(contains_ignoring_case("quot", "quota"));
    EXPECT_TRUE(contains_ignoring_case("", ""));
    EXPECT_TRUE(contains_ignoring_case("x", ""));
}

// A list setting may end in a comma or be spread out; neither makes an empty entry.
TEST(Text, SplitListTrimsAndDropsEmptyPieces) {
    EXPECT_THAT(split_list(" a, b ,,c,"), ElementsAre("a", "b", "c"));
    EXPECT_THAT(split_list(" , ,"), IsEmpty());
    EXPECT_THAT(split_list(""), IsEmpty());
    EXPECT_THAT(split_list("a b;c", ';'), ElementsAre("a b", "c"));
}

struct Utf8Case {
    std::string_view bytes;
    bool valid;
    std::size_t first;  // bytes of the first piece
};

// Ill-formed bytes must not get past the door, and each ill-formed piece is one replacement.
TEST(Text, Utf8IsValidatedStrictly) {
    const Utf8Case cases[] = {
        {"a", true, 1},
        {"\x7F", true, 1},
        {"\xC2\x80", true, 2},
        {"\xDF\xBF", true, 2},
        {"\xE0\xA0\x80", true, 3},
        {"\xED\x9F\xBF", true, 3},       // the last before the surrogates
        {"\xEE\x80\x80", true, 3},       // the first after them
        {"\xEF\xBF\xBF", true, 3},       //
        {"\xF0\x90\x80\x80", true, 4},   //
        {"\xF4\x8F\xBF\xBF", true, 4},   // U+10FFFF
        {"\x80", false, 1},              // a continuation byte alone
        {"\xC0\xAF", false, 1},          // overlong
        {"\xC1\xBF", false, 1},          // overlong
        {"\xE0\x9F\xBF", false, 1},      // overlong
        {"\xED\xA0\x80", false, 1},      // a surrogate
        {"\xF0\x8F\xBF\xBF", false, 1},  // overlong
        {"\xF4\x90\x80\x80", false, 1},  // beyond U+10FFFF
        {"\xF5\x80\x80\x80", false, 1},  //
        {"\xFF", false, 1},              //
        {"\xC3", false, 1},              // cut
        {"\xE2\x82", false, 2},          // cut
        {"\xF0\x9F\x98", false, 3},      // cut
        {"\xE2\x82z", false, 2},         // interrupted
    };
    for (const Utf8Case& c : cases) {
        EXPECT_EQ(is_valid_utf8(c.bytes), c.valid) << testing::PrintToString(c.bytes);
        const Utf8Piece piece = first_utf8(c.bytes);
        EXPECT_EQ(piece.valid, c.valid) << testing::PrintToString(c.bytes);
        EXPECT_EQ(piece.bytes, c.first) << testing::PrintToString(c.bytes);
    }
    EXPECT_TRUE(is_valid_utf8(""));
}

// The two validators are independent; one found wrong by the other is a bug in either.
TEST(Text, BothUtf8ValidatorsAgreeOnEveryTwoByteStart) {
    for (int a = 0; a < 256; ++a) {
        for (int b = 0; b < 256; ++b) {
            for (const char* tail : {"", "\x80", "\x80\x80"}) {
                const std::string text =
                    std::string{static_cast<char>(a), static_cast<char>(b)} + tail;
                bool valid = true;
                for (std::size_t at = 0; at < text.size() && valid;) {
                    const Utf8Piece piece = first_utf8(std::string_view(text).substr(at));
                    valid = piece.valid;
                    at += piece.bytes;
                }
                ASSERT_EQ(is_valid_utf8(text), valid) << testing::PrintToString(text);
            }
        }
    }
}

TEST(Text, ControlCharactersAreOfBothSets) {
    for (const std::string_view text : {"a\x1b", "\n", "\x7f", "\xc2\x80", "a\xc2\x9f"}) {
        EXPECT_TRUE(has_control_characters(text)) << text;
    }
    for (const std::string_view text : {"", "a b", "\xc2\xa0", "\xc3\x80", "\xe2\x80\x8b"}) {
        EXPECT_FALSE(has_control_characters(text)) << text;
    }
}

TEST(Text, CodePointsAreCountedNotBytes) {
    EXPECT_EQ(count_code_points(""), 0u);
    EXPECT_EQ(count_code_points("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"), 4u);
}

struct DecodeCase {
    std::string_view text;
    PlusIsSpace plus;
    std::optional<std::string> expected;
};

// A broken escape in a query string is the caller's mistake and must be told, not guessed.
TEST(Text, PercentDecode) {
    const DecodeCase cases[] = {
        {"", PlusIsSpace::kNo, ""},
        {"a%20b+c", PlusIsSpace::kNo, "a b+c"},
        {"a%20b+c", PlusIsSpace::kYes, "a b c"},
        {"%2B%2b", PlusIsSpace::kYes, "++"},
        {"%00", PlusIsSpace::kNo, std::string(1, '\0')},
        {"%C3%a9", PlusIsSpace::kNo, "\xC3\xA9"},
        {"%", PlusIsSpace::kNo, std::nullopt},
        {"a%4", PlusIsSpace::kNo, std::nullopt},
        {"%4g", PlusIsSpace::kNo, std::nullopt},
        {"%g4", PlusIsSpace::kNo, std::nullopt},
        {"%%41", PlusIsSpace::kNo, std::nullopt},
        {"%+1", PlusIsSpace::kYes, std::nullopt},
    };
    for (const DecodeCase& c : cases) {
        EXPECT_EQ(percent_decode(c.text, c.plus), c.expected) << c.text;
    }
}

// Whatever a query holds must come back from a URL as it went in.
TEST(Text, PercentEncodeIsUndoneByDecode) {
    std::string every_byte;
    for (int i = 0; i < 256; ++i) {
        every_byte.push_back(static_cast<char>(i));
    }
    const std::string encoded = percent_encode(every_byte);
    EXPECT_EQ(percent_decode(encoded, PlusIsSpace::kYes), every_byte);
    EXPECT_EQ(percent_encode("azAZ09-._~"), "azAZ09-._~");
    EXPECT_EQ(percent_encode(" +/\xC3\xA9"), "%20%2B%2F%C3%A9");
}

struct NearestCase {
    std::string_view word;
    std::optional<std::string_view> expected;
};

// The hint must be right or absent: a far-fetched one is worse than none.
TEST(Text, NearestFindsTypingMistakesOnly) {
    const std::vector<std::string_view> keys = {"listen", "max_body_bytes", "deadline_s", "tls"};
    const NearestCase cases[] = {
        {"lisen", "listen"},    // lost
        {"liisten", "listen"},  // added
        {"lixten", "listen"},   // changed
        {"lisetn", "listen"},   // swapped
        {"max_body_size", "max_body_bytes"},
        {"deadline", "deadline_s"},
        {"tsl", "tls"},  // one edit, since a swap is one
        {"slt", std::nullopt},
        {"lixxxn", std::nullopt},  // three of six letters are too many
        {"port", std::nullopt},
        {"", std::nullopt},
    };
    for (const NearestCase& c : cases) {
        EXPECT_EQ(nearest(c.word, keys), c.expected) << c.word;
    }
    EXPECT_EQ(nearest("ab", {"ax", "ay"}), "ax");  // the first of equals
    EXPECT_EQ(nearest(std::string(200, 'a'), {std::string(200, 'a')}), std::nullopt);
    EXPECT_EQ(nearest("listen", {}), std::nullopt);
}

TEST(Text, AsciiIsKnown) {
    EXPECT_TRUE(is_ascii(std::string_view()));
    EXPECT_TRUE(is_ascii(std::string_view("kiln \x7f")));
    EXPECT_FALSE(is_ascii(std::string_view("kiln temperature of the caf\xc3\xa9")));
    EXPECT_TRUE(is_ascii('a'));
    EXPECT_FALSE(is_ascii('\x80'));
}

TEST(Text, JoinsWithWhatIsBetween) {
    EXPECT_EQ(join(std::vector<std::string>{}, ", "), "");
    EXPECT_EQ(join(std::vector<std::string>{"", "a", ""}, ", "), ", a, ");
    EXPECT_EQ(join({"a", "b"}, ", "), "a, b");
    EXPECT_EQ(join({"a", "b"}), "ab");
}

}  // namespace
}  // namespace sluice
