#include "base/json.h"
#include "base/random.h"
#include "base/text.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace sluice {
namespace {

std::string as_json(std::string_view text) {
    std::string out;
    append_json_string(out, text);
    return out;
}

// The exact bytes: answers are cached and compared as bytes.
TEST(JsonWriter, PlacesCommasAndColons) {
    std::string out = ">";
    JsonWriter json(out);
    json.begin_object()
        .field("s", "x")
        .field("empty", std::string())
        .field("i", -5)
        .field("u", std::numeric_limits<std::uint64_t>::max())
        .field("b", true);
    json.key("n").null();
    json.key("a").begin_array().value(1).value(2.5).begin_array().end_array();
    json.begin_object().end_object().raw("[1]").end_array();
    json.key("o").begin_object().field("k", false).end_object();
    json.field("last", std::numeric_limits<std::int64_t>::min());
    json.end_object();
    EXPECT_EQ(out, R"(>{"s":"x","empty":"","i":-5,"u":18446744073709551615,"b":true,"n":null,)"
                   R"("a":[1,2.5,[],{},[1]],"o":{"k":false},"last":-9223372036854775808})");
}

struct StringCase {
    std::string_view text;
    std::string_view expected;
};

TEST(JsonWriter, EscapesStrings) {
    const StringCase cases[] = {
        {"", R"("")"},
        {"plain", R"("plain")"},
        {"a\"b\\c", R"("a\"b\\c")"},
        {"\b\f\n\r\t", R"("\b\f\n\r\t")"},
        {std::string_view("\0\x1f", 2), R"("\u0000\u001f")"},
        {"\x7f/", "\"\x7f/\""},
        {"\xC3\xA9\xF0\x9F\x98\x80", "\"\xC3\xA9\xF0\x9F\x98\x80\""},
        {"a\xFFz", "\"a\xEF\xBF\xBDz\""},
        {"\xE2\x82", "\"\xEF\xBF\xBD\""},                              // one piece, one replacement
        {"\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},  // a surrogate: three
        {"\xC3\"", "\"\xEF\xBF\xBD\\\"\""},                            // the quote is still escaped
    };
    for (const StringCase& c : cases) {
        EXPECT_EQ(as_json(c.text), c.expected);
    }
}

// Whatever bytes a provider sends as text, the answer stays one valid document with that text.
TEST(JsonWriter, RandomStringsComeBackThroughTheReader) {
    SeededRandom random(11);
    JsonReader reader;
    for (int round = 0; round < 3000; ++round) {
        std::string text(random.below(40), '\0');
        const bool ascii = random.below(2) == 0;
        for (char& c : text) {
            c = static_cast<char>(random.below(ascii ? 128 : 256));
        }
        const std::string written = as_json(text);
        ASSERT_TRUE(is_valid_utf8(written));
        const auto value = reader.parse(written);
        ASSERT_TRUE(value.ok()) << testing::PrintToString(text);
        if (is_valid_utf8(text)) {
            ASSERT_EQ(value->as_string(), text);
        }
    }
}

// Scores and prices must not change by passing through us.
TEST(JsonWriter, NumbersReadBackTheSame) {
    SeededRandom random(5);
    JsonReader reader;
    for (int round = 0; round < 5000; ++round) {
        const auto number = std::bit_cast<double>(random.u64());
        std::string out;
        JsonWriter(out).value(number);
        const auto value = reader.parse(out);
        ASSERT_TRUE(value.ok()) << out;
        if (!std::isfinite(number)) {
            ASSERT_TRUE(value->is_null());
        } else {
            ASSERT_EQ(value->as_number(), number) << out;
        }
    }
    std::string out;
    JsonWriter(out).begin_array().value(1.0).value(0.1).value(1e20).value(-0.0).end_array();
    EXPECT_EQ(out, "[1,0.1,1e+20,-0.0]");
    out.clear();
    JsonWriter(out)
        .begin_array()
        .value(std::nan(""))
        .value(-std::numeric_limits<double>::infinity())
        .end_array();
    EXPECT_EQ(out, "[null,null]");
}

TEST(JsonWriter, SixtyFourLevelsAreEnough) {
    std::string out;
    JsonWriter json(out);
    for (int i = 0; i < 32; ++i) {
        json.begin_object().key("k").begin_array();
    }
    for (int i = 0; i < 32; ++i) {
        json.end_array().end_object();
    }
    EXPECT_EQ(out.size(), 32u * 8);
    EXPECT_TRUE(JsonReader({.max_bytes = 1024, .max_depth = 64}).parse(out).ok());
}

// A document that nests wrongly is our own mistake; it must not reach a client.
TEST(JsonWriterDeathTest, WrongNestingAborts) {
    std::string out;
    EXPECT_DEATH(JsonWriter(out).begin_object().value(1), "assertion failed");
    EXPECT_DEATH(JsonWriter(out).begin_object().begin_array(), "assertion failed");
    EXPECT_DEATH(JsonWriter(out).begin_object().key("a").key("b"), "assertion failed");
    EXPECT_DEATH(JsonWriter(out).begin_object().key("a").end_object(), "assertion failed");
    EXPECT_DEATH(JsonWriter(out).begin_object().end_array(), "assertion failed");
    EXPECT_DEATH(JsonWriter(out).begin_array().end_object(), "assertion failed");
    EXPECT_DEATH(JsonWriter(out).begin_array().key("a"), "assertion failed");
    EXPECT_DEATH(JsonWriter(out).key("a"), "assertion failed");
    EXPECT_DEATH(JsonWriter(out).end_array(), "assertion failed");
    EXPECT_DEATH(JsonWriter(out).value(1).value(2), "assertion failed");
}

// Plain text is looked at block by block; what needs an escape is found wherever it stands.
TEST(JsonIndented, EachMemberHasALineAndTextStaysAsItIs) {
    EXPECT_EQ(indented_json(R"( {"a" : [1,{"b":"x, {y}: \"[z]\\"}],
"c":{},"d":[ ],"e":null} )"),
              R"({
  "a": [
    1,
    {
      "b": "x, {y}: \"[z]\\"
    }
  ],
  "c": {},
  "d": [],
  "e": null
})");
    EXPECT_EQ(indented_json("\"a\""), "\"a\"");
    EXPECT_EQ(indented_json("[]"), "[]");
}

TEST(JsonIndented, TextThatIsNotJsonDoesNoHarm) {
    for (const std::string_view odd : {"", "}", "]]", "\"open", "\"\\", "{", ",:,"}) {
        EXPECT_LE(indented_json(odd).size(), 100U) << odd;
    }
}

TEST(JsonString, EscapesAtEveryPlace) {
    for (std::size_t size = 1; size < 40; ++size) {
        for (std::size_t at = 0; at < size; ++at) {
            for (const auto& [byte, escaped] :
                 std::vector<std::pair<char, std::string>>{{'"', "\\\""},
                                                           {'\\', "\\\\"},
                                                           {'\x1F', "\\u001f"},
                                                           {'\x7F', "\x7F"},
                                                           {'\xFF', "\xEF\xBF\xBD"}}) {
                std::string text(size, 'x');
                text[at] = byte;
                std::string out;
                append_json_string(out, text);
                ASSERT_EQ(out, '"' + std::string(at, 'x') + escaped +
                                   std::string(size - at - 1, 'x') + '"');
            }
        }
    }
}

}  // namespace
}  // namespace sluice
