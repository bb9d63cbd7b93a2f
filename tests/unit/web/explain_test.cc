// Explanations: what would be done, and that nothing of it is.
#include "web/explain.h"

#include "replies.h"
#include "support/web_harness.h"
#include "web/metrics.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::web {
namespace {

using namespace std::chrono_literals;
using test::WebHarness;

class ExplainTest : public testing::Test {
 protected:
    void SetUp() override {
        h.add_key("serper", "serper-key-number-one");
        h.add_key("tavily", "tvly-key-number-one");
    }
    SearchRequest ask() {
        SearchRequest request = h.request("kiln");
        request.explain = true;
        return request;
    }
    Explanation explain(SearchRequest request) { return h.explain(std::move(request)); }

    WebHarness h;
};

// The route in its order, each with the key that it would be asked with and its price, and nobody
// is called, no key is taken, nothing is written to the cache.
TEST_F(ExplainTest, SaysWhatWouldBeDoneAndDoesNothing) {
    const Explanation explanation = explain(ask());
    EXPECT_EQ(explanation.strategy, Strategy::kFailover);
    EXPECT_EQ(explanation.entry, Explanation::Entry::kNone);
    EXPECT_EQ(explanation.deadline, 10s);
    EXPECT_EQ(explanation.concurrency, 64u);
    ASSERT_EQ(explanation.route.size(), 2u);
    const ProviderOutlook& serper = explanation.route[0];
    EXPECT_EQ(serper.name, "serper");
    EXPECT_FALSE(serper.passed_over) << *serper.passed_over;
    EXPECT_EQ(serper.price, find_provider("serper")->price(ask()));
    EXPECT_EQ(h.http.calls(), 0u);
    EXPECT_EQ(h.key_counts("serper").in_flight, 0u);
    EXPECT_EQ(h.web.purge_cache().answers, 0u);
    // The key is the one that the search then takes.
    const SearchReply reply = h.search(h.request("kiln"));
    EXPECT_EQ(served(reply).attempts.at(0).key_id, serper.key_id);
}

// A lane has a strategy of its own; a search that names one has that.
TEST_F(ExplainTest, TheStrategyIsTheLanesUnlessOneIsNamed) {
    WebConfig config = test::harness_config();
    config.fast_strategy = Strategy::kMerge;
    h.web.reconfigure(config);
    EXPECT_EQ(explain(ask()).strategy, Strategy::kMerge);
    SearchRequest named = ask();
    named.strategy = Strategy::kHedge;
    EXPECT_EQ(explain(named).strategy, Strategy::kHedge);
    SearchRequest deep = ask();
    deep.lane = Lane::kDeep;
    EXPECT_EQ(explain(deep).strategy, Strategy::kFailover);
}

// A hundred explanations change nothing: not whose key's turn it is, nor a turn under the rate.
TEST_F(ExplainTest, AskingOftenChangesNothing) {
    h.add_key("serper", "serper-key-number-two");
    WebConfig config = test::harness_config();
    config.providers.find("serper")->second.rate = RateLimit{1, 3000ms};
    h.web.reconfigure(config);
    const std::string first = explain(ask()).route[0].key_id;
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(explain(ask()).route[0].key_id, first);
    }
    EXPECT_EQ(served(h.search(h.request("kiln"))).attempts.at(0).waited, 0ms);
    const Explanation after = explain(ask());
    EXPECT_EQ(after.route[0].turn_in, 3000ms);
    EXPECT_NE(after.route[0].key_id, first) << "its turn is over";
}

// Every reason to pass a provider over is told as the trace would tell it.
TEST_F(ExplainTest, TellsWhyAProviderWouldBePassedOver) {
    SearchRequest paged = ask();
    paged.page = 2;
    const ProviderOutlook cannot = explain(paged).route[1];
    EXPECT_EQ(cannot.outcome, Outcome::kSkippedCapability);

    h.rest_key("tavily", KeyStatus::kQuarantined, 900s);
    const ProviderOutlook no_key = explain(ask()).route[1];
    EXPECT_EQ(no_key.outcome, Outcome::kSkippedNoKey);
    EXPECT_EQ(no_key.passed_over, "every key was refused, see `sluice keys list`");
    EXPECT_TRUE(no_key.key_id.empty());

    h.http.set_responder([](const io::ClientRequest&) { return test::status_answer(503); });
    for (const char* query : {"a", "b", "c"}) {
        h.search(h.request(query));
    }
    const ProviderOutlook open = explain(ask()).route[0];
    EXPECT_EQ(open.outcome, Outcome::kSkippedCircuit);
    EXPECT_EQ(open.passed_over,
              "left alone after server_error (HTTP 503) until 2026-01-01T00:00:05.000Z");

    WebConfig config = test::harness_config();
    config.route_fast = {"serper", "searxng", "serper"};
    config.providers.find("serper")->second.enabled = false;
    h.web.reconfigure(config);
    const Explanation off = explain(ask());
    ASSERT_EQ(off.route.size(), 2u) << "each name once";
    EXPECT_EQ(off.route[0].passed_over, "switched off by providers.serper.enabled");
    EXPECT_EQ(off.route[1].passed_over, "not in this version");
}

// A turn that comes later than a call could still wait for it passes the provider over; the others
// behind it in the route have their share of the time, except where all are asked at once.
TEST_F(ExplainTest, TellsOfATurnThatComesTooLate) {
    WebConfig config = test::harness_config();
    config.lanes.fast.deadline = 8s;
    config.providers.find("serper")->second.rate = RateLimit{1, 6000ms};
    h.web.reconfigure(config);
    h.search(h.request("takes the turn"));
    SearchRequest alone = ask();
    alone.providers = {"serper"};
    EXPECT_FALSE(explain(alone).route[0].passed_over);
    const ProviderOutlook serper = explain(ask()).route[0];
    EXPECT_EQ(serper.outcome, Outcome::kRateLimited);
    ASSERT_TRUE(serper.passed_over);
    EXPECT_NE(serper.passed_over->find("providers.serper.rate"), std::string::npos);
    EXPECT_EQ(serper.turn_in, 6000ms);
    SearchRequest merged = ask();
    merged.strategy = Strategy::kMerge;
    EXPECT_FALSE(explain(merged).route[0].passed_over);
    // As the trace then has it.
    EXPECT_EQ(trail(served(h.search(h.request("kiln"))).attempts),
              (std::vector<std::string>{"serper:rate_limited", "tavily:success"}));
    h.rest_key("tavily", KeyStatus::kQuarantined, 900s);
    EXPECT_FALSE(explain(ask()).route[0].passed_over) << "nobody else can be asked";
}

// What lies in the cache is told, whether it would be read or not, and is left as it is.
TEST_F(ExplainTest, TellsWhatLiesInTheCache) {
    h.search(h.request("kiln"));
    EXPECT_EQ(explain(ask()).entry, Explanation::Entry::kFresh);
    h.clock.advance(301s);
    EXPECT_EQ(explain(ask()).entry, Explanation::Entry::kStale);
    EXPECT_EQ(h.metrics.counter(kCacheEvents, {"hit"}).value(), 0.0);
}

// A provider's answer that is kept from before is told: no call would be made for it. To say so
// counts as no look at the cache.
TEST_F(ExplainTest, TellsOfKeptResults) {
    h.search(h.request("kiln"));
    SearchRequest deep = ask();
    deep.providers = {"serper", "tavily"};
    EXPECT_TRUE(explain(deep).route[0].kept);
    EXPECT_FALSE(explain(deep).route[1].kept);
    deep.cache = CacheMode::kRefresh;
    EXPECT_FALSE(explain(deep).route[0].kept);
    EXPECT_EQ(h.metrics.counter(kResultCacheEvents, {"hit"}).value(), 0.0);
}

// Not even what is over is dropped by an explanation.
TEST_F(ExplainTest, LeavesTheCachesAsTheyAre) {
    h.search(h.request("kiln"));
    h.clock.advance(2h);
    SearchRequest deep = ask();
    deep.providers = {"serper"};
    EXPECT_EQ(explain(ask()).entry, Explanation::Entry::kNone);
    EXPECT_FALSE(explain(deep).route[0].kept);
    const Search::Purged purged = h.web.purge_cache();
    EXPECT_EQ(purged.answers, 1u);
    EXPECT_EQ(purged.results, 1u);
}

// A provider that searches by an engine can't be asked without one.
TEST_F(ExplainTest, TellsOfAMissingEngine) {
    WebConfig config = test::harness_config();
    config.route_fast = {"google_cse"};
    config.providers.find("google_cse")->second.enabled = true;
    h.web.reconfigure(config);
    h.add_key("google_cse", "google-key-number-one");
    const ProviderOutlook google = explain(ask()).route.at(0);
    EXPECT_EQ(google.outcome, Outcome::kSkippedNoKey);
    EXPECT_NE(google.passed_over->find("providers.google_cse.engine_id"), std::string::npos);
    config.providers.find("google_cse")->second.engine_id = "engine";
    h.web.reconfigure(config);
    EXPECT_FALSE(explain(ask()).route.at(0).passed_over);
}

// What is usual for a provider is told once it is known.
TEST_F(ExplainTest, TellsWhatIsUsual) {
    h.http.set_responder([](const io::ClientRequest& request) {
        test::FakeAnswer answer = test::ok_answer(request);
        answer.delay = 80ms;
        return answer;
    });
    EXPECT_FALSE(explain(ask()).route[0].recent.success_ratio);
    for (std::size_t i = 0; i < RecentCalls::kEnough; ++i) {
        h.search(h.request("query " + std::to_string(i)));
    }
    EXPECT_EQ(explain(ask()).route[0].recent.slow, 80ms);
    EXPECT_EQ(explain(ask()).route[0].recent.success_ratio, 1.0);
}

}  // namespace
}  // namespace sluice::web
