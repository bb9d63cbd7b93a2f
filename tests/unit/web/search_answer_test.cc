#include "web/provider.h"
#include "web/types.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace sluice::web {
namespace {

Hit hit_of(std::string text) {
    Hit hit;
    hit.url = "https://a.example/";
    hit.snippet = std::move(text);
    return hit;
}

// However many threads ask at once, a door's body is rendered once and all get the same bytes.
TEST(SearchAnswer, RendersABodyOnce) {
    const SearchAnswer answer("query", Lane::kDeep, "serper", "an answer", {hit_of("text")});
    std::atomic<int> renderings = 0;
    const auto render = [&renderings](const SearchAnswer& that) {
        ++renderings;
        return that.query() + "|" + that.hits().front().snippet;
    };
    std::vector<std::shared_ptr<const io::HttpBody>> bodies(4);
    std::vector<std::thread> threads;
    for (auto& body : bodies) {
        threads.emplace_back([&] { body = answer.body_for(Door::kRest, render).bytes; });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(renderings, 1);
    for (const auto& body : bodies) {
        EXPECT_EQ(body, bodies.front());
        EXPECT_EQ(body->bytes(), "query|text");
    }
}

// A rendering that fails is not remembered: the next request tries again.
TEST(SearchAnswer, AFailedRenderingIsTriedAgain) {
    const SearchAnswer answer("query", Lane::kFast, "serper", std::nullopt, {});
    const auto fails = [](const SearchAnswer&) -> std::string { throw std::runtime_error("no"); };
    EXPECT_THROW(answer.body_for(Door::kRest, fails), std::runtime_error);
    const auto body = answer.body_for(Door::kRest, [](const SearchAnswer&) { return "yes"; }).bytes;
    EXPECT_EQ(body->bytes(), "yes");
}

// Once every door has its body the fields are gone: an answer in the cache is its bytes, and costs
// what they take.
TEST(SearchAnswer, IsChargedForItsFieldsAndThenForItsBody) {
    const SearchAnswer answer("q", Lane::kFast, "p", std::nullopt,
                              {hit_of(std::string(10'000, 'x'))});
    EXPECT_GT(answer.memory_bytes(), 10'000 + sizeof(SearchAnswer));
    const auto render = [](const SearchAnswer&) { return std::string(400, 'y'); };
    EXPECT_TRUE(answer.body_for(Door::kRest, render).is_new);
    EXPECT_LT(answer.memory_bytes(), 2'000u);
    EXPECT_GE(answer.memory_bytes(), 400 + sizeof(SearchAnswer));
    EXPECT_FALSE(answer.body_for(Door::kRest, render).is_new);
    EXPECT_EQ(answer.query(), "q");
}

// A provider's answer is charged once for each part of it.
TEST(ProviderAnswer, IsChargedForEachConstraintOnce) {
    ProviderAnswer answer;
    const std::size_t bare = answer.memory_bytes();
    answer.constraints.reserve(2);
    answer.constraints.push_back({"country", "serper", Honour::kProvider});
    answer.constraints.push_back({std::string(99, 'x'), "serper", Honour::kProvider});
    const std::size_t charged = answer.memory_bytes() - bare - 2 * sizeof(Honoured);
    EXPECT_GE(charged, 99u);
    EXPECT_LT(charged, 2 * 99u);
}

// A large body is kept compressed, and nothing else of it.
TEST(SearchAnswer, KeepsALargeBodyCompressed) {
    SearchAnswer answer("q", Lane::kFast, "p", std::nullopt, {hit_of("")});
    answer.prepare_to_keep(Sha256{}, 5'000);
    const std::string text(200'000, 'y');
    const auto body = answer.body_for(Door::kRest, [&](const SearchAnswer&) { return text; }).bytes;
    ASSERT_TRUE(body->is_packed());
    EXPECT_EQ(body->size(), text.size());
    EXPECT_EQ(io::HttpBody::unpacked(body)->bytes(), text);
    EXPECT_LT(answer.memory_bytes(), 5'000u);

    SearchAnswer small("q", Lane::kFast, "p", std::nullopt, {hit_of("")});
    small.prepare_to_keep(Sha256{}, 5'000);
    const auto exact = [](const SearchAnswer&) { return std::string(5'000, 'y'); };
    EXPECT_FALSE(small.body_for(Door::kRest, exact).bytes->is_packed());
}

// These words are in answers and metrics, so people and dashboards rely on them.
TEST(Words, AreTheContract) {
    EXPECT_EQ(to_string(Lane::kFast), "fast");
    EXPECT_EQ(to_string(Lane::kDeep), "deep");
    EXPECT_EQ(to_string(CacheMode::kUse), "use");
    EXPECT_EQ(to_string(CacheMode::kRefresh), "refresh");
    EXPECT_EQ(to_string(CacheMode::kBypass), "bypass");
    EXPECT_EQ(to_string(CacheMode::kOnly), "only");
    const std::vector<std::string_view> outcomes = {
        "success",        "empty",    "rate_limited",    "auth_failed",    "quota_exhausted",
        "plan_limit",     "timeout",  "connect_error",   "server_error",   "unparseable",
        "bad_request",    "blocked",  "skipped_circuit", "skipped_no_key", "skipped_capability",
        "skipped_budget", "cancelled"};
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        EXPECT_EQ(to_string(static_cast<Outcome>(i)), outcomes[i]);
    }
}

}  // namespace
}  // namespace sluice::web
