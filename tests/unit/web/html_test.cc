#include "web/html.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::web {
namespace {

// Marks go, characters by name or number come.
TEST(Html, TagsAndReferences) {
    EXPECT_EQ(text_of_html("Celadon <strong>glaze</strong>s"), "Celadon glazes");
    EXPECT_EQ(text_of_html("<b class=\"a\">x</b><br/>y<!-- z -->"), "xy");
    EXPECT_EQ(text_of_html("silica &amp; alumina &lt;SiO2&gt; &quot;a&quot; &#39;b&#x27;"),
              "silica & alumina <SiO2> \"a\" 'b'");
    EXPECT_EQ(text_of_html("&hellip;&nbsp;&#8364;&#x1F3FA;"), "… €🏺");
}

// Nothing is undone twice, or a text about HTML would become HTML.
TEST(Html, OneLevelOnly) {
    EXPECT_EQ(text_of_html("&amp;lt;b&amp;gt;"), "&lt;b&gt;");
}

// What is no tag and no reference is text.
TEST(Html, OtherwiseText) {
    for (const std::string text :
         {"a < b", "a <3 b", "1 << 2", "AT&T", "a & b;", "&unknown;", "&#0;", "&#xD800;",
          "&#1114112;", "&#;", "&", "<", "</", "</ b>", "<b", "x &#12", "&toolongtobeone;"}) {
        EXPECT_EQ(text_of_html(text), text);
    }
    const std::string open = "<b " + std::string(600, 'x') + ">";
    EXPECT_EQ(text_of_html(open), open);
    EXPECT_EQ(text_of_html(""), "");
}

}  // namespace
}  // namespace sluice::web
