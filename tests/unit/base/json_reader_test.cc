#include "base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

JsonValue parse(JsonReader& reader, std::string_view text) {
    auto value = reader.parse(text);
    EXPECT_TRUE(value.ok()) << text;
    return std::move(value).value();
}

// Each type is read as itself and as nothing else: a number is never a text by accident.
TEST(JsonReader, ReadsEveryTypeAsItselfOnly) {
    JsonReader reader;
    const JsonValue root = parse(
        reader, R"({"n":null,"t":true,"i":-7,"d":2.5,"s":"a\u00e9\n","a":[1,"x"],"o":{"k":"v"}})");
    ASSERT_TRUE(root.is_object());
    EXPECT_TRUE(root.find("n")->is_null());
    EXPECT_EQ(root.find("t")->as_boolean(), true);
    EXPECT_EQ(root.find("i")->as_integer(), -7);
    EXPECT_EQ(root.find("i")->as_number(), -7.0);
    EXPECT_EQ(root.find("d")->as_number(), 2.5);
    EXPECT_EQ(root.find("d")->as_integer(), std::nullopt);
    EXPECT_EQ(root.find("s")->as_string(), "a\xC3\xA9\n");
    EXPECT_EQ(root.find("s")->as_number(), std::nullopt);
    EXPECT_EQ(root.find("i")->as_string(), std::nullopt);
    EXPECT_EQ(root.find("i")->as_boolean(), std::nullopt);
    EXPECT_EQ(root.find("missing"), std::nullopt);
    EXPECT_EQ(root.find("i")->find("x"), std::nullopt);
    EXPECT_EQ(root.string_at("o", "k"), "v");
    EXPECT_EQ(root.string_at("o", "missing", "k"), "");
    EXPECT_EQ(root.string_at("i"), "");

    const JsonElements all = root.find("a")->elements();
    const std::vector<JsonValue> elements(all.begin(), JsonElements::end());
    EXPECT_EQ(root.find("a")->elements(1).size(), 1u);
    ASSERT_EQ(elements.size(), 2u);
    EXPECT_EQ(elements[0].type(), JsonValue::Type::kInteger);
    EXPECT_EQ(elements[1].as_string(), "x");
    EXPECT_TRUE(root.elements().empty());
    EXPECT_TRUE(elements[0].members().empty());

    std::string keys;
    for (const auto& [key, value] : root.members()) {
        keys += key;
    }
    EXPECT_EQ(keys, "ntidsao");  // in the order of the document
}

struct IntegerCase {
    std::string_view text;
    std::optional<std::int64_t> expected;
};

TEST(JsonReader, IntegersThatFit) {
    const IntegerCase cases[] = {
        {"9223372036854775807", 9223372036854775807},
        {"-9223372036854775808", std::numeric_limits<std::int64_t>::min()},
        {"9223372036854775808", std::nullopt},   // fits 64 bits without a sign only
        {"18446744073709551615", std::nullopt},  //
        {"2.0", 2},
        {"1e3", 1000},
        {"2.5", std::nullopt},
        {"9007199254740992.0", 9007199254740992},
        {"9007199254740994.0", std::nullopt},
        {"1e300", std::nullopt},
        {"\"5\"", std::nullopt},
    };
    JsonReader reader;
    for (const IntegerCase& c : cases) {
        EXPECT_EQ(parse(reader, c.text).as_integer(), c.expected) << c.text;
    }
    EXPECT_EQ(parse(reader, "18446744073709551615").type(), JsonValue::Type::kInteger);
    EXPECT_EQ(parse(reader, "18446744073709551615").as_number(), 18446744073709551615.0);
}

// Two parties that read one document differently are a way around checks: ours is fixed.
TEST(JsonReader, OfDuplicateKeysTheFirstIsFound) {
    JsonReader reader;
    const JsonValue root = parse(reader, R"({"a":1,"a":2,"\u0061":3})");
    EXPECT_EQ(root.find("a")->as_integer(), 1);
    EXPECT_EQ(root.members().size(), 3u);
}

struct BadCase {
    std::string_view text;
    std::string_view reason;
};

// Nothing but one JSON document (RFC 8259) may pass, and the message must help without quoting.
TEST(JsonReader, RefusesWhatIsNotOneDocument) {
    const BadCase cases[] = {
        {"", "empty"},
        {" \n", "empty"},
        {"{} {}", "malformed"},
        {"{}x", "malformed"},
        {"1 2", "malformed"},
        {"[1,]", "malformed"},
        {"{\"a\":1,}", "malformed"},
        {"{a:1}", "malformed"},
        {"{\"a\" 1}", "malformed"},
        {"[1", "malformed"},
        {"}", "malformed"},
        {"'a'", "malformed"},
        {"\"a", "not closed"},
        {"\"a\nb\"", "control"},
        {"[\"\\x\"]", "escape"},
        {"[\"\\ud800\"]", "surrogate"},
        {"[\"\\udc00\\ud800\"]", "surrogate"},
        {"[tru]", "true, false or null"},
        {"[falsy]", "true, false or null"},
        {"[nul]", "true, false or null"},
        {"[NaN]", "malformed"},
        {"[01]", "number"},
        {"[1.]", "number"},
        {"[-]", "number"},
        {"[0x10]", "number"},
        {"[18446744073709551616]", "number"},
        {"[-9223372036854775809]", "number"},
        {"[1e999]", "number"},
        {"[\"a\xFF\"]", "not UTF-8 at byte 3"},
        {"[\"\xC3\xA9\xED\xA0\x80\"]", "not UTF-8 at byte 4"},
        {"\xEF\xBB\xBF{}", "malformed"},  // a byte order mark
    };
    JsonReader reader;
    for (const BadCase& c : cases) {
        const auto value = reader.parse(c.text);
        ASSERT_FALSE(value.ok()) << c.text;
        EXPECT_EQ(value.error().code, Code::kInvalidRequest) << c.text;
        EXPECT_EQ(value.error().blame, Blame::kCaller) << c.text;
        EXPECT_THAT(value.error().message, HasSubstr(std::string(c.reason))) << c.text;
    }
    EXPECT_THAT(reader.parse("{\"secret-sauce\" 1}").error().message, Not(HasSubstr("sauce")));
    EXPECT_EQ(parse(reader, "[1]").elements().size(), 1u);  // a failure leaves the reader usable
}

std::string nested(std::size_t depth, std::string_view inside) {
    return std::string(depth, '[') + std::string(inside) + std::string(depth, ']');
}

// Depth is what makes a small document expensive for everything that walks it.
TEST(JsonReader, DepthIsBounded) {
    JsonReader reader({.max_bytes = 1024 * 1024, .max_depth = 3});
    EXPECT_TRUE(reader.parse(nested(3, "1")).ok());
    EXPECT_FALSE(reader.parse(nested(4, "1")).ok());
    EXPECT_FALSE(reader.parse(R"({"a":{"b":{"c":{"d":1}}}})").ok());
    const auto deep = reader.parse(nested(400'000, "1"));
    ASSERT_FALSE(deep.ok());
    EXPECT_THAT(deep.error().message, HasSubstr("deeper than 3 levels"));
    EXPECT_TRUE(JsonReader().parse(nested(32, "1")).ok());
    EXPECT_FALSE(JsonReader().parse(nested(33, "1")).ok());
}

TEST(JsonReader, SizeIsBounded) {
    JsonReader reader({.max_bytes = 100, .max_depth = 4});
    const std::string fits = "\"" + std::string(98, 'a') + "\"";
    EXPECT_EQ(parse(reader, fits).as_string()->size(), 98u);
    const auto larger = reader.parse(fits + " ");
    ASSERT_FALSE(larger.ok());
    EXPECT_EQ(larger.error().code, Code::kPayloadTooLarge);
    EXPECT_THAT(larger.error().message, HasSubstr("100 bytes"));
}

// The input may end at the end of a page and be reused at once: values live in the reader.
TEST(JsonReader, NeitherReadsPastTheInputNorKeepsIt) {
    JsonReader reader;
    const std::string_view text = R"({"key":"value that is long enough not to be inside"})";
    auto exact = std::make_unique<char[]>(text.size());  // AddressSanitizer sees a byte too many
    std::copy(text.begin(), text.end(), exact.get());
    const JsonValue root = parse(reader, {exact.get(), text.size()});
    exact.reset();
    EXPECT_EQ(root.string_at("key"), "value that is long enough not to be inside");
}

// One large answer must not pin its memory in every thread for ever.
TEST(JsonReader, GivesLargeBuffersBack) {
    JsonReader reader({.max_bytes = 4 * 1024 * 1024, .max_depth = 8});
    const std::string large = "\"" + std::string(1'000'000, 'a') + "\"";
    EXPECT_TRUE(reader.parse("1").ok());
    const std::size_t small = reader.capacity();
    EXPECT_LE(small, 8192u);

    EXPECT_EQ(parse(reader, large).as_string()->size(), 1'000'000u);
    EXPECT_GE(reader.capacity(), large.size());
    EXPECT_TRUE(reader.parse("1").ok());
    EXPECT_EQ(reader.capacity(), small);

    EXPECT_TRUE(reader.parse(large).ok());
    reader.shrink();
    EXPECT_EQ(reader.capacity(), 0u);
    EXPECT_TRUE(reader.parse("1").ok());
    reader.shrink();
    EXPECT_EQ(reader.capacity(), small);  // ordinary buffers stay

    EXPECT_TRUE(reader.parse("\"" + std::string(100'000, 'a') + "\"").ok());
    EXPECT_TRUE(reader.parse("1").ok());
    EXPECT_EQ(reader.capacity(), JsonReader::kKeptBytes);
}

TEST(JsonReader, ValuesSurviveAMoveOfTheReader) {
    JsonReader first;
    const JsonValue root = parse(first, R"(["kept"])");
    const JsonReader second = std::move(first);
    EXPECT_EQ(root.elements().front().as_string(), "kept");
}

}  // namespace
}  // namespace sluice
