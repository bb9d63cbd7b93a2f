#include "web/fingerprint.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::web {
namespace {

SearchRequest base() {
    SearchRequest request;
    request.query = QueryText("stoneware");
    return request;
}

struct Change {
    std::string name;
    std::function<void(SearchRequest&)> apply;
};

// Whatever changes the result set changes the key: else one caller gets another's answer.
TEST(FingerprintTest, EveryFieldThatMattersCounts) {
    const std::vector<Change> changes = {
        {"query", [](auto& r) { r.query = QueryText("stoneware!"); }},
        {"letter case", [](auto& r) { r.query = QueryText("Stoneware"); }},
        {"lane", [](auto& r) { r.lane = Lane::kDeep; }},
        {"max_results", [](auto& r) { r.max_results = 11; }},
        {"page", [](auto& r) { r.page = 2; }},
        {"locale", [](auto& r) { r.locale = "de"; }},
        {"country", [](auto& r) { r.country = "de"; }},
        {"freshness", [](auto& r) { r.freshness.period = Freshness::Period::kDay; }},
        {"range from", [](auto& r) { r.freshness.from = "2026-01-01"; }},
        {"range to", [](auto& r) { r.freshness.to = "2026-01-01"; }},
        {"topic", [](auto& r) { r.topic = Topic::kNews; }},
        {"answer", [](auto& r) { r.want_answer = true; }},
        {"content", [](auto& r) { r.want_content = true; }},
        {"include", [](auto& r) { r.include_domains = {"a.example"}; }},
        {"exclude", [](auto& r) { r.exclude_domains = {"a.example"}; }},
        {"two includes", [](auto& r) { r.include_domains = {"a.example", "b.example"}; }},
        {"joined includes", [](auto& r) { r.include_domains = {"a.exampleb.example"}; }},
        {"providers", [](auto& r) { r.providers = {"serper"}; }},
        {"provider order", [](auto& r) { r.providers = {"serper", "tavily"}; }},
        {"other order", [](auto& r) { r.providers = {"tavily", "serper"}; }},
        {"safe search", [](auto& r) { r.safe_search = SafeSearch::kStrict; }},
    };
    std::vector<std::pair<std::string, Fingerprint>> seen = {{"base", fingerprint(base())}};
    for (const Change& change : changes) {
        SearchRequest request = base();
        change.apply(request);
        const Fingerprint key = fingerprint(request);
        for (const auto& [name, other] : seen) {
            EXPECT_NE(key, other) << change.name << " collides with " << name;
        }
        seen.emplace_back(change.name, key);
    }
}

// Whatever does not change the result set must not split the cache.
TEST(FingerprintTest, TransportFieldsDoNotCount) {
    SearchRequest request = base();
    request.trace = true;
    request.session_id = "s";
    request.cache = CacheMode::kRefresh;
    EXPECT_EQ(fingerprint(request), fingerprint(base()));
}

}  // namespace
}  // namespace sluice::web
