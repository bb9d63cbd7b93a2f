// Two searches that ask a provider the same share one call to it, whatever else tells them apart.
#include "web/result_cache.h"

#include "replies.h"
#include "support/web_harness.h"
#include "web/metrics.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace sluice::web {
namespace {

using namespace std::chrono_literals;
using test::FakeAnswer;

class ResultCacheTest : public ::testing::Test {
 protected:
    void SetUp() override {
        h.add_key("serper", "serper-key-number-one");
        h.add_key("tavily", "tvly-key-number-one");
    }

    SearchReply ask(std::string query, Lane lane, CacheMode cache = CacheMode::kUse) {
        SearchRequest request = h.request(std::move(query));
        request.lane = lane;
        request.cache = cache;
        request.providers = {"serper"};
        return h.search(std::move(request));
    }
    double events(std::string event) {
        return h.metrics.counter(kResultCacheEvents, {std::move(event)}).value();
    }

    test::WebHarness h;
};

// Lane and letter case make another answer, but not another call.
TEST_F(ResultCacheTest, SearchesThatDifferInTheLaneShareOneCall) {
    const SearchReply first = ask("Stoneware", Lane::kFast);
    const SearchReply second = ask("stoneware", Lane::kDeep);
    EXPECT_EQ(h.http.calls(), 1u);
    EXPECT_FALSE(served(second).cached);
    EXPECT_EQ(served(second).answer->query(), "stoneware");
    EXPECT_EQ(served(second).answer->lane(), Lane::kDeep);
    EXPECT_EQ(served(second).answer->hits().size(), served(first).answer->hits().size());
    ASSERT_EQ(served(second).attempts.size(), 1u);
    const Attempt& attempt = served(second).attempts.front();
    EXPECT_EQ(attempt.outcome, Outcome::kSuccess);
    EXPECT_EQ(attempt.detail, "result cache");
    EXPECT_EQ(attempt.latency, 0ms);
    EXPECT_EQ(attempt.key_id, "");
    EXPECT_EQ(events("hit"), 1);
    EXPECT_EQ(events("store"), 1);
}

// What a provider is given makes another call, each field for itself.
TEST_F(ResultCacheTest, EveryFieldThatAProviderSeesMakesAnotherKey) {
    std::vector<SearchRequest> requests(12, h.request("kiln"));
    requests[1].max_results = 9;
    requests[2].page = 2;
    requests[3].locale = "de-DE";
    requests[4].country = "de";
    requests[5].freshness.period = Freshness::Period::kDay;
    requests[6].topic = Topic::kNews;
    requests[7].want_answer = true;
    requests[8].want_content = true;
    requests[9].include_domains = {"example.org"};
    requests[10].exclude_domains = {"example.org"};
    requests[11].safe_search = SafeSearch::kStrict;
    std::set<Fingerprint> keys;
    for (const SearchRequest& request : requests) {
        keys.insert(result_fingerprint("serper", request));
        keys.insert(result_fingerprint("tavily", request));
    }
    EXPECT_EQ(keys.size(), 2 * requests.size());
}

// And what it is not given makes none.
TEST_F(ResultCacheTest, WhatNoProviderSeesMakesTheSameKey) {
    const Fingerprint plain = result_fingerprint("serper", h.request("kiln"));
    SearchRequest request = h.request("KILN");
    request.lane = Lane::kDeep;
    request.strategy = Strategy::kMerge;
    request.providers = {"serper", "tavily"};
    request.session_id = "s";
    request.trace = false;
    request.cache = CacheMode::kRefresh;
    EXPECT_EQ(result_fingerprint("serper", request), plain);
}

// "cats OR dogs" is another question than "cats or dogs": an engine takes a word in capitals for an
// operator, wherever it stands. Within a word it means nothing.
TEST_F(ResultCacheTest, OperatorsInCapitalsMakeAnotherKey) {
    const auto key = [this](std::string query) {
        return result_fingerprint("serper", h.request(std::move(query)));
    };
    EXPECT_NE(key("cats OR dogs"), key("cats or dogs"));
    EXPECT_NE(key("cats AND dogs"), key("cats and dogs"));
    EXPECT_NE(key("cats NOT dogs"), key("cats not dogs"));
    EXPECT_NE(key("(cats OR(dogs))"), key("(cats or(dogs))"));
    EXPECT_NE(key("NOT"), key("not"));
    EXPECT_EQ(key("Cats OR Dogs"), key("cats OR dogs"));
    EXPECT_EQ(key("Cats Or Dogs"), key("cats or dogs"));
    EXPECT_EQ(key("DORIC NOTES, KNOT"), key("doric notes, knot"));
    EXPECT_EQ(key("OR_2 \u00e9OR"), key("or_2 \u00e9or"));
}

// A refresh asks the provider and keeps what it says; a bypass leaves no trace.
TEST_F(ResultCacheTest, RefreshWritesAndBypassDoesNot) {
    ask("kiln", Lane::kFast, CacheMode::kBypass);
    EXPECT_EQ(h.web.purge_cache().results, 0u);
    ask("kiln", Lane::kFast, CacheMode::kRefresh);
    ask("kiln", Lane::kFast, CacheMode::kRefresh);
    EXPECT_EQ(h.http.calls(), 3u);
    ask("kiln", Lane::kDeep);
    EXPECT_EQ(h.http.calls(), 3u);
}

// A search that is under way during a purge leaves nothing behind, in neither cache.
TEST_F(ResultCacheTest, WhatBeganBeforeAPurgeIsNotKept) {
    h.http.set_responder([&](const io::ClientRequest& request) {
        h.web.purge_cache();
        return test::ok_answer(request);
    });
    const SearchReply during = ask("stoneware", Lane::kFast);
    EXPECT_FALSE(served(during).note.stored);
    h.http.set_responder([](const io::ClientRequest& request) { return test::ok_answer(request); });
    EXPECT_FALSE(served(ask("stoneware", Lane::kFast)).cached);
    EXPECT_EQ(h.http.calls(), 2u);
    EXPECT_TRUE(served(ask("stoneware", Lane::kFast)).cached);
    EXPECT_FALSE(served(ask("stoneware", Lane::kDeep)).cached);
    EXPECT_EQ(h.http.calls(), 2u) << "from the result of the second one";
}

// An answer made from a kept result is as old as the result: ages don't add up.
TEST_F(ResultCacheTest, AnAnswerFromAKeptResultIsAsOldAsTheResult) {
    ask("kiln", Lane::kFast);
    h.clock.advance(200s);
    ask("kiln", Lane::kDeep);
    EXPECT_EQ(h.http.calls(), 1u);
    h.clock.advance(101s);
    EXPECT_FALSE(served(ask("kiln", Lane::kDeep)).cached);
    EXPECT_EQ(h.http.calls(), 2u);
}

// No results is a short-lived truth, and a failure none at all.
TEST_F(ResultCacheTest, EmptyAnswersAreKeptShorterAndFailuresNot) {
    h.http.set_responder([](const io::ClientRequest&) { return test::status_answer(503); });
    ask("kiln", Lane::kFast);
    EXPECT_EQ(h.web.purge_cache().results, 0u);
    h.http.set_responder(
        [](const io::ClientRequest& request) { return test::ok_answer(request, 0); });
    ask("kiln", Lane::kFast);
    h.clock.advance(29s);
    EXPECT_EQ(trail(served(ask("kiln", Lane::kDeep)).attempts),
              std::vector<std::string>{"serper:empty"});
    EXPECT_EQ(h.http.calls(), 2u);
    h.clock.advance(2s);
    ask("kiln", Lane::kDeep);
    EXPECT_EQ(h.http.calls(), 3u);
}

// An answer says how long it is fresh for, also one without results and one that a provider's terms
// bound.
TEST_F(ResultCacheTest, TheTimeToLiveIsTheOneOfThisAnswer) {
    h.http.set_responder(
        [](const io::ClientRequest& request) { return test::ok_answer(request, 0); });
    ask("kiln", Lane::kFast);
    h.clock.advance(20s);
    const CacheNote note = served(ask("kiln", Lane::kDeep)).note;
    EXPECT_TRUE(note.from_past);
    EXPECT_EQ(note.age, 20s);
    EXPECT_EQ(note.ttl, 10s);
    EXPECT_EQ(served(ask("kiln", Lane::kDeep)).note.ttl, 10s) << "as the cache has it";

    const Instant made_at{1h};
    auto found = std::make_shared<ProviderAnswer>();
    found->hits.resize(1);
    found->made_at = made_at;
    found->keep_until = made_at + 400s;
    const SearchAnswer answer("q", Lane::kFast, "p", found);
    EXPECT_EQ(lifetime_of(answer, made_at, CacheConfig{}).fresh_for, 300s);
    EXPECT_EQ(lifetime_of(answer, made_at, CacheConfig{}).stale_for, 100s);
    CacheConfig longer;
    longer.ttl = 1h;
    EXPECT_EQ(lifetime_of(answer, made_at, longer).fresh_for, 400s);
}

// A result that was refused is not counted as stored.
TEST_F(ResultCacheTest, CountsWhatWasStored) {
    CacheConfig small;
    small.max_bytes = 4'000;
    obs::Metrics metrics;
    ResultCache cache(small, metrics);
    auto answer = std::make_shared<ProviderAnswer>();
    answer->made_at = h.clock.now();
    answer->hits.resize(100);
    cache.keep(Fingerprint{}, answer, Millis{60'000}, cache.epoch());
    EXPECT_EQ(metrics.counter(kResultCacheEvents, {"store"}).value(), 0);
    EXPECT_FALSE(cache.holds(Fingerprint{}, h.clock.now()));
}

// Switched off, or without time to live, every search is a call.
TEST(ResultCacheSettings, CanBeSwitchedOff) {
    WebConfig off = test::harness_config();
    off.cache.provider_results_enabled = false;
    WebConfig no_time = test::harness_config();
    no_time.providers.at("serper").results_ttl = 0ms;
    for (const WebConfig& config : {off, no_time}) {
        test::WebHarness h(config);
        h.add_key("serper", "serper-key-number-one");
        h.search(h.request("kiln"));
        SearchRequest request = h.request("kiln");
        request.lane = Lane::kDeep;
        request.providers = {"serper"};
        h.search(std::move(request));
        EXPECT_EQ(h.http.calls(), 2u);
        EXPECT_EQ(h.web.purge_cache().results, 0u);
        EXPECT_EQ(h.metrics.counter(kResultCacheEvents, {"miss"}).value(), 0) << "nobody looked";
    }
    EXPECT_EQ(off.cache.answers_bytes(), off.cache.max_bytes);
}

// Both caches together stay within cache.max_bytes and cache.max_entries.
TEST(ResultCacheSettings, SharesTheRoom) {
    const CacheConfig config;
    EXPECT_EQ(config.results_entries() + config.answers_entries(), config.max_entries);
    EXPECT_GT(config.results_entries(), 0u);
    CacheConfig only_answers;
    only_answers.provider_results_enabled = false;
    EXPECT_EQ(only_answers.answers_entries(), only_answers.max_entries);
    EXPECT_EQ(config.results_bytes() + config.answers_bytes(), config.max_bytes);
    EXPECT_GT(config.results_bytes(), 0u);
}

// A bound on keeping is for both caches, fresh and stale: when it is over a provider is asked, and
// what it said before is gone even if it fails.
TEST(ResultCacheSettings, MaxKeptBoundsBothCaches) {
    for (const Millis max_kept : {60'000ms, 0ms}) {
        const bool bounded = max_kept > 0ms;
        WebConfig config = test::harness_config();
        config.providers.find("serper")->second.max_kept = max_kept;
        test::WebHarness h(config);
        h.add_key("serper", "serper-key-number-one");
        const auto ask = [&](Lane lane) {
            SearchRequest request = h.request("a");
            request.lane = lane;
            request.providers = {"serper"};
            return h.search(std::move(request));
        };
        served(ask(Lane::kFast));
        h.clock.advance(59s);
        EXPECT_TRUE(served(ask(Lane::kFast)).cached);
        EXPECT_EQ(served(ask(Lane::kDeep)).attempts.at(0).detail, "result cache");
        EXPECT_EQ(h.http.calls(), 1U);
        h.clock.advance(1s);
        h.http.set_responder([](const io::ClientRequest&) { return test::status_answer(500); });
        for (const Lane lane : {Lane::kFast, Lane::kDeep}) {
            EXPECT_EQ(std::holds_alternative<Failure>(ask(lane)), bounded);
        }
        h.clock.advance(300s);
        EXPECT_EQ(std::holds_alternative<Failure>(ask(Lane::kFast)), bounded) << "as stale";
    }
}

// What a provider's terms allow bounds every cache: results and answers, fresh and stale.
TEST(ResultCacheSettings, TermsBoundHowLongAnAnswerIsKept) {
    const Instant now{};
    auto found = std::make_shared<ProviderAnswer>();
    found->hits.resize(1);
    found->made_at = now + 1s;
    found->keep_until = now + 61s;
    test::WebHarness h;
    AnswerCache cache(CacheConfig{}, h.log, h.metrics);
    const Fingerprint key{};
    cache.publish(key, std::make_shared<const SearchAnswer>("q", Lane::kFast, "p", found),
                  CacheConfig{}, now + 1s, cache.epoch());
    EXPECT_TRUE(cache.find(key, now + 60s));
    EXPECT_FALSE(cache.find(key, now + 61s));
}

}  // namespace
}  // namespace sluice::web
