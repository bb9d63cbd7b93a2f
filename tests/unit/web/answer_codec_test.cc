#include "web/answer_codec.h"

#include "web/provider.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace sluice::web {
namespace {

SearchRequest request() {
    SearchRequest asked;
    asked.query = QueryText("not in the bytes");
    asked.lane = Lane::kDeep;
    return asked;
}

std::shared_ptr<SearchAnswer> full_answer() {
    auto found = std::make_shared<ProviderAnswer>();
    found->answer = "forty-two";
    Hit hit;
    hit.url = "https://a.example/";
    hit.title = "title";
    hit.snippet = "snippet";
    hit.content = std::string("con\0tent", 8);
    hit.provider = "serper";
    hit.site = "a.example";
    hit.rank = 1;
    hit.score = 0.25;
    hit.published_at = "2026-01-01T00:00:00Z";
    hit.origins = {{"serper", 3}, {"tavily", 1}};
    found->hits = {hit, Hit()};
    found->constraints = {{"country", "serper", Honour::kProvider},
                          {"include_domains", "tavily", Honour::kShortened}};
    auto answer =
        std::make_shared<SearchAnswer>("not in the bytes", Lane::kDeep, "merge", std::move(found));
    answer->mark_degraded();
    return answer;
}

TEST(AnswerCodec, WhatIsReadIsWhatWasWritten) {
    const auto written = full_answer();
    const std::string bytes = encode_answer(*written);
    EXPECT_EQ(bytes.find("not in the bytes"), std::string::npos);
    const Instant made_at = Instant(std::chrono::seconds(5));
    const Instant keep_until = Instant(std::chrono::seconds(9));
    const auto read = decode_answer(bytes, request(), made_at, keep_until);
    ASSERT_NE(read, nullptr);
    EXPECT_EQ(encode_answer(*read), bytes);
    EXPECT_EQ(read->query(), "not in the bytes");
    EXPECT_EQ(read->lane(), Lane::kDeep);
    EXPECT_EQ(read->provider(), "merge");
    EXPECT_TRUE(read->is_degraded());
    EXPECT_EQ(read->made_at(), made_at);
    EXPECT_EQ(read->keep_until(), keep_until);
    EXPECT_EQ(read->answer(), "forty-two");
    ASSERT_EQ(read->hits().size(), 2U);
    const Hit& hit = read->hits()[0];
    EXPECT_EQ(hit.content, std::string("con\0tent", 8));
    EXPECT_EQ(hit.score, 0.25);
    EXPECT_EQ(hit.published_at, "2026-01-01T00:00:00Z");
    ASSERT_EQ(hit.origins.size(), 2U);
    EXPECT_EQ(hit.origins[0].rank, 3U);
    EXPECT_EQ(read->constraints(), written->constraints());
}

TEST(AnswerCodec, NothingThatIsCutLongerOrOfAnotherVersionIsRead) {
    const std::string bytes = encode_answer(*full_answer());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        EXPECT_EQ(decode_answer(bytes.substr(0, size), request(), {}, {}), nullptr) << size;
    }
    EXPECT_EQ(decode_answer(bytes + "x", request(), {}, {}), nullptr);
    std::string other = bytes;
    other[0] = 2;
    EXPECT_EQ(decode_answer(other, request(), {}, {}), nullptr);
}

TEST(AnswerCodec, AnyChangedByteIsReadOrRefusedAndNeverWorse) {
    const std::string bytes = encode_answer(*full_answer());
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        for (const char flip : {'\x01', '\x7f', '\xff'}) {
            std::string changed = bytes;
            changed[at] = static_cast<char>(changed[at] ^ flip);
            if (const auto read = decode_answer(changed, request(), {}, {})) {
                EXPECT_LE(read->hits().size(), 1'000U);
            }
        }
    }
}

}  // namespace
}  // namespace sluice::web
