// The shapes of error bodies are rows of tests/cases/blame/details.json; here are the bounds and
// the hiding.
#include "web/detail.h"

#include "base/text.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace sluice::web {
namespace {

const Secret kKey(std::string("tvly-dev-abcdefghijkl"));
const QueryText kQuery(std::string("Who owns Example & Sons?"));

std::string detail(std::string_view words) {
    return safe_detail(words, kKey, kQuery);
}

std::string detail_for(std::string_view words, std::string query) {
    return safe_detail(words, kKey, QueryText(std::move(query)));
}

// A detail is short and cut between characters.
TEST(Detail, IsCutAtTwoHundredBytes) {
    EXPECT_EQ(detail(std::string(300, 'x')), std::string(200, 'x'));
    EXPECT_EQ(detail(std::string(199, 'x') + "\xC3\xA9"), std::string(199, 'x'));
    EXPECT_EQ(detail(std::string(198, 'x') + "\xC3\xA9z"), std::string(198, 'x') + "\xC3\xA9");
}

// A key that travelled in the address comes back as it stood there.
TEST(Detail, HidesTheEncodedKey) {
    const Secret odd(std::string("AIza+/key==0123456789"));
    EXPECT_EQ(safe_detail("?key=AIza%2B%2Fkey%3D%3D0123456789&q=x", odd, kQuery), "?key=[key]&q=x");
    EXPECT_EQ(safe_detail("?key=AIza+/key==0123456789&q=x", odd, kQuery), "?key=[key]&q=x");
}

// A key is hidden however it is echoed: whole, in another case, cut short, over and over.
TEST(Detail, HidesTheKey) {
    EXPECT_EQ(detail("key tvly-dev-abcdefghijkl is unknown"), "key [key] is unknown");
    EXPECT_EQ(detail("TVLY-DEV-ABCDEFGHIJKL"), "[key]");
    EXPECT_EQ(detail("key=tvly-dev-abcd..., bad"), "key=[key]..., bad");
    EXPECT_EQ(detail("it ends in ghijkl"), "it ends in [key]");
    EXPECT_EQ(detail("Authorization: Bearer tvly-dev-abc"), "Authorization: Bearer [key]");
    EXPECT_EQ(detail("tvly- is a prefix"), "tvly- is a prefix") << "five bytes are no key";
    std::string many;
    for (int i = 0; i < 200; ++i) {
        many += kKey.reveal();
    }
    const std::string hidden = detail(many);
    EXPECT_EQ(hidden.find("abcdef"), std::string::npos) << hidden;
    EXPECT_EQ(safe_detail("words", Secret(), kQuery), "words") << "no key hides nothing";
    EXPECT_EQ(safe_detail("the key k7 is bad", Secret("k7"), kQuery), "the key [key] is bad");
}

// A query is hidden as typed, encoded, in another case, and cut short.
TEST(Detail, HidesTheQuery) {
    EXPECT_EQ(detail("nothing for Who owns Example & Sons? today"), "nothing for [query] today");
    EXPECT_EQ(detail("nothing for 'who owns example & sons?'"), "nothing for '[query]'");
    EXPECT_EQ(detail("/s?q=Who%20owns%20Example%20%26%20Sons%3F&p=1"), "/s?q=[query]&p=1");
    EXPECT_EQ(detail("/s?q=who+owns+example+%26+sons%3f"), "/s?q=[query]");
    EXPECT_EQ(detail("too long: Who owns Example..."), "too long: [query]...");
    EXPECT_EQ(detail_for("no hits for two lines here", "two\nlines"), "no hits for [query] here");
    EXPECT_EQ(detail_for("query: \xE9\x87\x89\xE8\x96\xAC", "\xE9\x87\x89\xE8\x96\xAC"),
              "query: [query]");
}

// A query that is in the key too, or the other way round, keeps nothing of either in the text.
TEST(Detail, HidesQueryAndKeyOfTheSameWords) {
    const Secret key(std::string("sk-search-0f9e8d7c"));
    const QueryText words(std::string("where to search now"));
    EXPECT_EQ(safe_detail("none for where to search now", key, words), "none for [query]");
    EXPECT_EQ(safe_detail("bad sk-search-0f9e8d7c", key, QueryText(std::string("sear"))),
              "bad [key][query][key]");
}

// A short query is hidden where it is a word, and ordinary words stay readable.
TEST(Detail, HidesShortQueriesAsWordsOnly) {
    EXPECT_EQ(detail_for("no results for 'or' or its forms", "or"),
              "no results for '[query]' [query] its forms");
    EXPECT_EQ(detail_for("error: x", "or"), "error: x");
    EXPECT_EQ(detail_for("C is unknown to CURL", "c"), "[query] is unknown to CURL");
}

// What a cut-short match leaves of a character is not passed on as broken text.
TEST(Detail, StaysValidUtf8) {
    const std::string query = "0123456789abcdef\xE9\x87\x89";
    const std::string text = detail_for("bad: 0123456789abcdef\xE9\x87\xAA!", query);
    EXPECT_TRUE(is_valid_utf8(text)) << text;
    EXPECT_TRUE(text.starts_with("bad: [query]")) << text;
    EXPECT_TRUE(is_valid_utf8(detail("\xFF\xFE broken")));
}

}  // namespace
}  // namespace sluice::web
