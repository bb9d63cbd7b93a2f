// YAML in: what people write is read with the line that it stands on, and what a small file could
// grow without bound by is refused there.
#include "app/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace sluice::app {
namespace {

using testing::HasSubstr;
using testing::Not;

YamlNode read(std::string_view text) {
    std::vector<YamlError> errors;
    YamlNode node = parse_yaml(text, errors);
    EXPECT_TRUE(errors.empty()) << errors.front().message;
    return node;
}

YamlError refused(std::string_view text) {
    std::vector<YamlError> errors;
    parse_yaml(text, errors);
    EXPECT_EQ(errors.size(), 1u) << text;
    return errors.empty() ? YamlError() : errors.front();
}

TEST(YamlTest, ReadsMembersInTheirOrderWithTheirLines) {
    const YamlNode root = read("# a comment\na: one\nb:\n  - x\n  - [y, z]\n");
    ASSERT_EQ(root.members.size(), 2u);
    EXPECT_EQ(root.members[0].name, "a");
    EXPECT_EQ(root.members[0].line, 2u);
    EXPECT_EQ(root.members[0].value.text, "one");
    EXPECT_EQ(root.members[1].value.items.at(0).line, 4u);
    EXPECT_EQ(root.members[1].value.items.at(1).items.at(1).text, "z");
}

TEST(YamlTest, WhatIsNotQuotedMayBeANumber) {
    EXPECT_EQ(yaml_to_json(read("{a: 5, b: '5', c: 0.5, d: true, e: no, f: , g: +7, h: 1.2.3}")),
              R"({"a":5,"b":"5","c":0.5,"d":true,"e":"no","f":null,"g":7,"h":"1.2.3"})");
    EXPECT_EQ(yaml_to_json(read("[nan, inf, 1e3, 99999999999999999999, \"true\", ~]")),
              R"(["nan","inf",1000,1e+20,"true",null])");
}

TEST(YamlTest, WhatIsATextIsKnown) {
    EXPECT_TRUE(is_yaml_text(read("kiln")));
    EXPECT_TRUE(is_yaml_text(read("'2024'")));
    EXPECT_TRUE(is_yaml_text(read("no")));
    for (const char* other : {"2024", "0.5", "true", "~", "[a]", "{a: 1}"}) {
        EXPECT_FALSE(is_yaml_text(read(other))) << other;
    }
}

TEST(YamlTest, NothingButCommentsIsNothing) {
    EXPECT_EQ(read("").kind, YamlNode::Kind::kNull);
    EXPECT_EQ(read("# nothing\n\n").kind, YamlNode::Kind::kNull);
}

// Nine lines like these are a billion values to whoever follows the aliases.
TEST(YamlTest, AnchorsAliasesAndTagsAreRefused) {
    const YamlError anchor = refused("a: 1\nb: &laugh [ha, ha]\nc: [*laugh, *laugh]\n");
    EXPECT_EQ(anchor.line, 2u);
    EXPECT_THAT(anchor.message, HasSubstr("anchors"));
    EXPECT_THAT(refused("a: !!binary aGE=\n").message, HasSubstr("tags"));
    EXPECT_THAT(refused("a: !mine 5\n").message, HasSubstr("tags"));
}

TEST(YamlTest, WhatIsAmbiguousIsRefused) {
    const YamlError twice = refused("a: 1\nb: 2\na: 3\n");
    EXPECT_EQ(twice.line, 3u);
    EXPECT_THAT(twice.message, HasSubstr("line 1 already"));
    EXPECT_THAT(refused("a: 1\n---\nb: 2\n").message, HasSubstr("one document"));
    EXPECT_THAT(refused("? [a]\n: 1\n").message, HasSubstr("name of a member"));
}

TEST(YamlTest, WhatIsNoYamlIsToldWithItsLine) {
    EXPECT_EQ(refused("a: 1\nb: [1, 2\n").line, 3u);
    const YamlError tab = refused("a: 1\n\tb: 2\n");
    EXPECT_EQ(tab.line, 2u);
    EXPECT_THAT(tab.message, HasSubstr("tab"));
    EXPECT_EQ(refused("a:\n  b: 1\n\tc: 2\n").line, 3u);
    const YamlError earlier = refused("a:\n\tx\n  b: 1\n");
    EXPECT_EQ(earlier.line, 2u);
    EXPECT_THAT(earlier.message, HasSubstr("tab")) << "which shows on the next line";
    for (const char* open : {"a: {b: 1,\n\tc: 2\nd: 1\n", "a: [1,\n\t2\nb: 1\n"}) {
        const YamlError unclosed = refused(open);
        EXPECT_EQ(unclosed.line, 3u) << open;
        EXPECT_THAT(unclosed.message, Not(HasSubstr("tab"))) << open;
    }
    const YamlError other = refused("a: |\n  text\n  \tof its own\nb: 1\nc: [1, 2\n");
    EXPECT_EQ(other.line, 6u);
    EXPECT_THAT(other.message, Not(HasSubstr("tab"))) << "which harms nothing where it is";
    EXPECT_EQ(read("a:\t1\n").members.at(0).value.text, "1") << "between a name and its value";
    EXPECT_THAT(refused("a: \xff\n").message, HasSubstr("UTF-8"));
    const YamlError control = refused(std::string_view("a: 1\nb: x\0y\n", 11));
    EXPECT_EQ(control.line, 2u);
    EXPECT_THAT(control.message, HasSubstr("control character"));
}

TEST(YamlTest, SizeDepthAndNumberHaveABound) {
    EXPECT_THAT(refused(std::string(kMaxYamlBytes + 1, '#')).message, HasSubstr("bytes"));
    read(std::string(kMaxYamlBytes, '#'));
    const auto nested = [](std::size_t depth) {
        return std::string(depth, '[') + std::string(depth, ']');
    };
    read(nested(kMaxYamlDepth));
    EXPECT_THAT(refused(nested(kMaxYamlDepth + 1)).message, HasSubstr("deeper"));
    EXPECT_THAT(refused(nested(100'000)).message, HasSubstr("deeper"));
    std::string many = "[";
    for (std::size_t i = 0; i < kMaxYamlNodes; ++i) {
        many += "a,";
    }
    EXPECT_THAT(refused(many + "]").message, HasSubstr("100000 values"));
    std::string wide;
    for (std::size_t i = 0; i < kMaxYamlMembers; ++i) {
        wide += "m" + std::to_string(i) + ":\n";
    }
    EXPECT_EQ(read(wide).members.size(), kMaxYamlMembers);
    EXPECT_THAT(refused(wide + "more:\n").message, HasSubstr("1000 members"));
}

}  // namespace
}  // namespace sluice::app
