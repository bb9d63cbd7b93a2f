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
        threads.emplace_back([&] { body = answer.body_for(Door::kRest, render); });
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
    const auto body = answer.body_for(Door::kRest, [](const SearchAnswer&) { return "yes"; });
    EXPECT_EQ(body->bytes(), "yes");
}

// The cost follows every text of the answer, counted as fields and as rendered bytes.
TEST(SearchAnswer, CostFollowsTheTexts) {
    const auto cost = [](std::optional<std::string> text, std::vector<Hit> hits) {
        return SearchAnswer("q", Lane::kFast, "p", std::move(text), std::move(hits)).memory_bytes();
    };
    const std::size_t bare = cost(std::nullopt, {});
    EXPECT_GE(bare, sizeof(SearchAnswer));
    EXPECT_EQ(cost(std::string(1'000, 'x'), {}), bare + 2'000);
    const std::size_t one_hit = cost(std::nullopt, {hit_of("")});
    EXPECT_GT(one_hit, bare + sizeof(Hit));
    EXPECT_EQ(cost(std::nullopt, {hit_of(std::string(1'000, 'x'))}), one_hit + 2'000);
    Hit with_content = hit_of("");
    with_content.content = std::string(1'000, 'x');
    EXPECT_EQ(cost(std::nullopt, {with_content}), one_hit + 2'000);
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
