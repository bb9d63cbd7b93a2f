// A search from the door's call to the reply: what is asked of whom, what is remembered, who is
// blamed.
#include "web/search.h"

#include "replies.h"
#include "support/web_harness.h"
#include "web/metrics.h"
#include "web/provider_run.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::web {
namespace {

using namespace std::chrono_literals;
using test::FakeAnswer;
using test::WebHarness;

class SearchTest : public testing::Test {
 protected:
    void SetUp() override {
        h.add_key("serper", "serper-key-number-one");
        h.add_key("serper", "serper-key-number-two");
        h.add_key("tavily", "tvly-key-number-one");
    }
    WebHarness h;
};

// The ordinary case: the first provider of the route answers, its hits are ranked and attributed.
TEST_F(SearchTest, FirstProviderAnswers) {
    const SearchReply reply = h.search(h.request("stoneware"));
    const Served& answer = served(reply);
    EXPECT_EQ(answer.answer->provider(), "serper");
    EXPECT_FALSE(answer.cached);
    ASSERT_EQ(answer.answer->hits().size(), 3u);
    EXPECT_EQ(answer.answer->hits()[1].rank, 2u);
    EXPECT_EQ(answer.answer->hits()[1].site, "site2.example.com");
    EXPECT_EQ(answer.answer->hits()[1].provider, "serper");
    EXPECT_EQ(trail(answer.attempts), std::vector<std::string>{"serper:success"});
}

// A second search within the TTL costs no call, and carries nobody else's trail.
TEST_F(SearchTest, FreshAnswerIsServedFromTheCache) {
    h.search(h.request("stoneware"));
    h.clock.advance(299s);
    const SearchReply reply = h.search(h.request("stoneware"));
    EXPECT_TRUE(served(reply).cached);
    EXPECT_FALSE(served(reply).stale);
    EXPECT_TRUE(served(reply).attempts.empty());
    EXPECT_EQ(h.http.calls(), 1u);
    h.clock.advance(2s);
    EXPECT_FALSE(served(h.search(h.request("stoneware"))).cached);
    EXPECT_EQ(h.http.calls(), 2u);
}

// The lane's strategy, named or left out, is one search: one entry, one call.
TEST_F(SearchTest, NamingTheLanesStrategyChangesNothing) {
    h.search(h.request("stoneware"));
    SearchRequest request = h.request("stoneware");
    request.strategy = Strategy::kFailover;
    EXPECT_TRUE(served(h.search(std::move(request))).cached);
    request = h.request("stoneware");
    request.strategy = Strategy::kMerge;
    EXPECT_FALSE(served(h.search(std::move(request))).cached) << "another one is another search";
}

// After a reload the lane's searches are those of its new strategy.
TEST_F(SearchTest, AnEntryBelongsToTheStrategyThatMadeIt) {
    h.search(h.request("stoneware"));
    WebConfig config = test::harness_config();
    config.fast_strategy = Strategy::kMerge;
    h.web.reconfigure(std::move(config));
    EXPECT_FALSE(served(h.search(h.request("stoneware"))).cached);
}

// When everybody fails, the old answer is better than none, and is marked as old.
TEST_F(SearchTest, StaleAnswerIsTheLastResort) {
    h.search(h.request("stoneware"));
    h.clock.advance(301s);
    h.http.set_responder([](const io::ClientRequest&) { return test::status_answer(500); });
    const SearchReply reply = h.search(h.request("stoneware"));
    EXPECT_TRUE(served(reply).stale);
    EXPECT_EQ(trail(served(reply).attempts),
              (std::vector<std::string>{"serper:server_error", "tavily:server_error"}));
    EXPECT_TRUE(h.sink.contains("stale_answer_served"));
    h.clock.advance(3600s);
    EXPECT_EQ(failed(h.search(h.request("stoneware"))).error.code, Code::kUpstreamFailed);
}

// A rate-limited key: the next key of the same provider is asked, and the first one rests.
TEST_F(SearchTest, RateLimitedKeyMovesOnToTheNextKey) {
    int calls = 0;
    h.http.set_responder([&](const io::ClientRequest& request) {
        calls += 1;
        return calls == 1 ? test::status_answer(429) : test::ok_answer(request);
    });
    const SearchReply reply = h.search(h.request("a"));
    EXPECT_EQ(trail(served(reply).attempts),
              (std::vector<std::string>{"serper:rate_limited", "serper:success"}));
    EXPECT_NE(served(reply).attempts[0].key_id, served(reply).attempts[1].key_id);
    EXPECT_EQ(h.key_counts("serper").cooling, 1u);
}

// A provider with more refused keys than a request has attempts does not keep the next provider
// from being asked.
TEST_F(SearchTest, ManyRefusedKeysLeaveAnAttemptForTheNextProvider) {
    for (int i = 0; i < 40; ++i) {
        h.add_key("serper", "serper-key-of-many-" + std::to_string(i));
    }
    h.http.set_responder([](const io::ClientRequest& request) {
        return is_serper(request) ? test::status_answer(429) : test::ok_answer(request);
    });
    const SearchReply reply = h.search(h.request("a"));
    EXPECT_EQ(served(reply).answer->provider(), "tavily");
    EXPECT_EQ(served(reply).attempts.size(), kMaxAttempts);
}

// Nor does one that takes long to refuse each key: it has its share of the time, whatever its keys.
TEST_F(SearchTest, SlowRefusalsLeaveTimeForTheNextProvider) {
    for (int i = 0; i < 10; ++i) {
        h.add_key("serper", "serper-key-of-many-" + std::to_string(i));
    }
    h.http.set_responder([this](const io::ClientRequest& request) {
        if (is_serper(request)) {
            h.clock.advance(1s);
            return test::status_answer(429);
        }
        return test::ok_answer(request);
    });
    const Instant begun = h.clock.now();
    const SearchReply reply = h.search(h.request("a"));
    EXPECT_EQ(served(reply).answer->provider(), "tavily");
    EXPECT_EQ(h.clock.now() - begun, 5s);
}

// A provider's fault costs no key: all of them are available afterwards.
TEST_F(SearchTest, ProviderFaultLeavesKeysAlone) {
    h.http.set_responder([](const io::ClientRequest& request) {
        return is_serper(request) ? test::status_answer(503) : test::ok_answer(request);
    });
    const SearchReply reply = h.search(h.request("a"));
    EXPECT_EQ(served(reply).answer->provider(), "tavily");
    EXPECT_EQ(trail(served(reply).attempts),
              (std::vector<std::string>{"serper:server_error", "tavily:success"}));
    EXPECT_EQ(h.key_counts("serper").available, 2u);
}

// The caller's fault stops everything: nobody else is asked, no key is touched, nothing is cached.
TEST_F(SearchTest, CallersFaultStopsAtOnce) {
    h.http.set_responder([](const io::ClientRequest&) {
        return test::status_answer(400,
                                   R"({"message":"Missing query parameter","statusCode":400})");
    });
    const SearchReply reply = h.search(h.request("a"));
    EXPECT_EQ(failed(reply).error.code, Code::kQueryRejected);
    EXPECT_EQ(failed(reply).error.blame, Blame::kCaller);
    EXPECT_EQ(h.http.calls(), 1u);
    EXPECT_EQ(h.key_counts("serper").available, 2u);
    EXPECT_EQ(h.web.purge_cache().answers, 0u);
}

// A stale entry does not hide that the caller's request is refused.
TEST_F(SearchTest, CallersFaultIsNotCoveredByAStaleAnswer) {
    h.search(h.request("a"));
    h.clock.advance(301s);
    h.http.set_responder([](const io::ClientRequest&) {
        return test::status_answer(400, R"({"message":"no","statusCode":400})");
    });
    EXPECT_EQ(failed(h.search(h.request("a"))).error.code, Code::kQueryRejected);
}

// A stalled provider leaves time for the next one: half each of the deadline without the reply
// margin.
TEST_F(SearchTest, StalledProviderLeavesTimeForTheNext) {
    h.http.set_responder([](const io::ClientRequest& request) {
        FakeAnswer answer = test::ok_answer(request);
        answer.stall = is_serper(request);
        return answer;
    });
    const Instant begun = h.clock.now();
    const SearchReply reply = h.search(h.request("a"));
    EXPECT_EQ(served(reply).answer->provider(), "tavily");
    EXPECT_EQ(h.clock.now() - begun, 4950ms);
}

// Everybody stalls: the search ends before its client gives up, with the trail of who was asked,
// and blames them.
TEST_F(SearchTest, StalledToTheEndStillHasATrail) {
    h.http.set_responder([](const io::ClientRequest& request) {
        FakeAnswer answer = test::ok_answer(request);
        answer.stall = true;
        return answer;
    });
    const Instant begun = h.clock.now();
    const SearchReply reply = h.search(h.request("a"));
    EXPECT_EQ(failed(reply).error.blame, Blame::kProvider);
    EXPECT_EQ(trail(failed(reply).attempts),
              (std::vector<std::string>{"serper:timeout", "tavily:timeout"}));
    EXPECT_LT(h.clock.now() - begun, 10s);
}

// A call that is given up says nothing of the key that it was made with.
TEST_F(SearchTest, GivenUpCallsAreNobodysKeys) {
    h.http.set_responder([](const io::ClientRequest&) {
        FakeAnswer answer;
        answer.error = Error{Code::kCancelled, Blame::kCaller, "given up", {}};
        return answer;
    });
    const Failure failure = failed(h.search(h.request("kiln")));
    EXPECT_EQ(failure.error.code, Code::kDeadlineExceeded) << failure.error.message;
    EXPECT_EQ(failure.error.blame, Blame::kGateway);
}

// When keys are what is wrong the error says so, and when the first of them is back.
TEST_F(SearchTest, RefusedKeysAreTheKeysFault) {
    h.http.set_responder([](const io::ClientRequest& request) {
        return test::status_answer(is_serper(request) ? 429 : 401);
    });
    for (const char* query : {"tried", "resting"}) {
        const SearchReply reply = h.search(h.request(query));
        EXPECT_EQ(failed(reply).error.code, Code::kNoUsableKey);
        EXPECT_EQ(failed(reply).error.blame, Blame::kKey);
        ASSERT_TRUE(failed(reply).error.retry_after.has_value());
        EXPECT_LE(*failed(reply).error.retry_after, 30s);
    }
}

// All empty is an empty answer, remembered for the shorter time.
TEST_F(SearchTest, AllEmptyIsAnEmptyAnswer) {
    h.http.set_responder(
        [](const io::ClientRequest& request) { return test::ok_answer(request, 0); });
    const SearchReply reply = h.search(h.request("a"));
    EXPECT_TRUE(served(reply).answer->hits().empty());
    EXPECT_FALSE(served(reply).degraded);
    EXPECT_EQ(h.http.calls(), 2u);
    h.clock.advance(29s);
    EXPECT_TRUE(served(h.search(h.request("a"))).cached);
    h.clock.advance(2s);
    EXPECT_FALSE(served(h.search(h.request("a"))).cached);
}

// One empty, one failed: an answer that says it is degraded and is not remembered.
TEST_F(SearchTest, EmptyAndFailedIsDegradedAndNotRemembered) {
    h.http.set_responder([](const io::ClientRequest& request) {
        return is_serper(request) ? test::ok_answer(request, 0) : test::status_answer(500);
    });
    EXPECT_TRUE(served(h.search(h.request("a"))).degraded);
    EXPECT_EQ(h.web.purge_cache().answers, 0u);
}

// A hundred who ask the same at once cost one call and get one answer.
TEST_F(SearchTest, IdenticalSearchesShareOneCall) {
    h.http.set_responder([](const io::ClientRequest& request) {
        FakeAnswer answer = test::ok_answer(request);
        answer.delay = 200ms;
        return answer;
    });
    std::vector<std::shared_ptr<WebHarness::Client>> clients;
    for (int i = 0; i < 100; ++i) {
        clients.push_back(h.start(h.request("same")));
    }
    h.run_for(1s);
    EXPECT_EQ(h.http.calls(), 1u);
    for (const auto& client : clients) {
        ASSERT_TRUE(client->reply.has_value());
        EXPECT_EQ(served(*client->reply).answer, served(*clients.front()->reply).answer);
    }
}

// A client that leaves takes nobody else's answer with it; the last one to leave ends the work
// where nothing may go on unattended, and no key pays for that.
TEST_F(SearchTest, LeavingClientsCancelOnlyWhatNobodyWaitsFor) {
    h.http.set_responder([](const io::ClientRequest& request) {
        FakeAnswer answer = test::ok_answer(request);
        answer.delay = 200ms;
        return answer;
    });
    auto first = h.start(h.request("same"));
    auto second = h.start(h.request("same"));
    h.run_for(50ms);
    h.hang_up(*first);
    h.run_for(100ms);
    EXPECT_EQ(h.http.under_way(), 1u) << "somebody still waits";
    h.hang_up(*second);
    h.run();
    EXPECT_EQ(h.http.under_way(), 0u) << "nobody waits, but the call goes on";
    EXPECT_EQ(h.key_counts("serper").available, 2u);
    EXPECT_EQ(h.key_counts("serper").in_flight, 0u);
}

// A bypass asks for an answer of its own: it joins nobody, reads nothing, leaves nothing.
TEST_F(SearchTest, BypassStandsAlone) {
    auto bypass = h.request("a");
    bypass.cache = CacheMode::kBypass;
    h.search(bypass);
    EXPECT_EQ(h.web.purge_cache().answers, 0u);
    h.search(h.request("a"));
    h.search(bypass);
    EXPECT_EQ(h.http.calls(), 3u);
}

// A refresh writes but does not read.
TEST_F(SearchTest, RefreshReplacesTheEntry) {
    h.search(h.request("a"));
    auto refresh = h.request("a");
    refresh.cache = CacheMode::kRefresh;
    EXPECT_FALSE(served(h.search(refresh)).cached);
    EXPECT_EQ(h.http.calls(), 2u);
    EXPECT_TRUE(served(h.search(h.request("a"))).cached);
}

// A refresh that fails falls back to the answer that is there: one that is fresh is not called
// stale, and nothing says that an old answer was served.
TEST_F(SearchTest, AFailedRefreshDoesNotAgeTheEntry) {
    h.search(h.request("a"));
    h.clock.advance(1s);
    h.http.set_responder([](const io::ClientRequest&) { return test::status_answer(500); });
    auto refresh = h.request("a");
    refresh.cache = CacheMode::kRefresh;
    const SearchReply reply = h.search(refresh);
    EXPECT_TRUE(served(reply).cached);
    EXPECT_FALSE(served(reply).stale);
    EXPECT_EQ(served(reply).note.age, 1s);
    EXPECT_EQ(h.metrics.counter(kCacheEvents, {"stale"}).value(), 0.0);
    EXPECT_EQ(h.metrics.counter(kSearches, {"fast", "fresh"}).value(), 1.0);
    EXPECT_FALSE(h.sink.contains("stale_answer_served"));
}

// A refresh does not join a search that may be answered by what is known already.
TEST_F(SearchTest, ARefreshSharesOnlyWithRefreshes) {
    auto tavily = h.request("a");
    tavily.providers = {"tavily"};
    h.search(tavily);
    h.http.set_responder([](const io::ClientRequest& request) {
        FakeAnswer answer =
            is_serper(request) ? test::status_answer(500) : test::ok_answer(request);
        answer.delay = 1s;
        return answer;
    });
    auto refresh = h.request("a");
    refresh.cache = CacheMode::kRefresh;
    const auto use = h.start(h.request("a"));
    const auto one = h.start(refresh);
    const auto two = h.start(refresh);
    h.run_for(9s);
    EXPECT_EQ(served(*use->reply).attempts.at(1).detail, "result cache");
    EXPECT_EQ(served(*one->reply).attempts.at(1).detail, "");
    EXPECT_EQ(trail(served(*two->reply).attempts), trail(served(*one->reply).attempts));
    EXPECT_EQ(h.http.calls(), 4u) << "serper for each flight, tavily before and for the refreshes";
}

// Cached answers only: never a call, and a clear error when there is none.
TEST_F(SearchTest, OnlyNeverCalls) {
    auto only = h.request("a");
    only.cache = CacheMode::kOnly;
    EXPECT_EQ(failed(h.search(only)).error.code, Code::kNotCached);
    EXPECT_EQ(h.http.calls(), 0u);
    EXPECT_EQ(h.metrics.counter(kSearches, {"fast", "not_cached"}).value(), 1.0);
}

// A reload decides about the next search and leaves the one under way alone.
TEST_F(SearchTest, ReloadLeavesTheSearchUnderWayAlone) {
    h.http.set_responder([](const io::ClientRequest& request) {
        FakeAnswer answer = test::ok_answer(request);
        answer.delay = 1s;
        return answer;
    });
    const auto under_way = h.start(h.request("a"));
    h.run_for(500ms);
    WebConfig config = test::harness_config();
    config.route_fast = {"tavily"};
    h.web.reconfigure(std::move(config));
    h.run_for(1s);
    ASSERT_TRUE(under_way->reply);
    EXPECT_EQ(served(*under_way->reply).answer->provider(), "serper");
    EXPECT_EQ(served(h.search(h.request("b"))).answer->provider(), "tavily");
}

// Without any key the error says so, names the variables, and blames the key.
TEST(SearchWithoutKeysTest, SaysThatKeysAreMissing) {
    WebHarness h;
    const SearchReply reply = h.search(h.request("a"));
    EXPECT_EQ(failed(reply).error.code, Code::kNoUsableKey);
    EXPECT_NE(failed(reply).error.message.find("SERPER_API_KEYS"), std::string::npos);
    EXPECT_EQ(h.http.calls(), 0u);
}

// Refused keys rest for the configured time and then are tried again: a quarantine is not for ever.
TEST_F(SearchTest, QuarantineIsTimeBoxed) {
    h.http.set_responder([](const io::ClientRequest& request) {
        return is_serper(request) ? test::status_answer(403) : test::ok_answer(request);
    });
    h.search(h.request("a"));
    EXPECT_EQ(h.key_counts("serper").quarantined, 2u);
    h.search(h.request("b"));
    EXPECT_EQ(h.http.calls(), 4u) << "resting keys were called";
    h.clock.advance(900s);
    EXPECT_EQ(h.key_counts("serper").available, 2u);
}

// A full lane refuses beyond the queue; what waits longer than the queue timeout is refused too.
TEST(SearchLanesTest, FullLaneShedsAndTimesOut) {
    WebConfig config = test::harness_config();
    config.lanes.fast.concurrency = 1;
    config.lanes.max_queued = 1;
    WebHarness h(config);
    h.add_key("serper", "serper-key-number-one");
    h.http.set_responder([](const io::ClientRequest& request) {
        FakeAnswer answer = test::ok_answer(request);
        answer.delay = 4s;
        return answer;
    });
    auto running = h.start(h.request("1"));
    auto waiting = h.start(h.request("2"));
    auto shed = h.start(h.request("3"));
    h.run();
    const auto count_of_shed = [&] { return h.metrics.counter(kSchedulerShed, {"fast"}).value(); };
    EXPECT_EQ(count_of_shed(), 1);
    ASSERT_TRUE(shed->reply.has_value());
    EXPECT_EQ(failed(*shed->reply).error.code, Code::kOverloaded);
    EXPECT_FALSE(waiting->reply.has_value());
    h.run_for(2s);
    ASSERT_TRUE(waiting->reply.has_value());
    EXPECT_EQ(failed(*waiting->reply).error.code, Code::kOverloaded);
    EXPECT_EQ(failed(*waiting->reply).queued, 2000ms);
    EXPECT_FALSE(running->reply.has_value());
    EXPECT_EQ(count_of_shed(), 2);
    auto leaving = h.start(h.request("4"));
    h.run();
    h.hang_up(*leaving);
    h.run_for(3s);
    EXPECT_TRUE(std::holds_alternative<Served>(*running->reply));
    EXPECT_EQ(count_of_shed(), 2) << "who leaves the queue was not turned away";
}

// No log line and no metric holds the query or a key.
TEST_F(SearchTest, QueryAndKeysStayOutOfLogsAndMetrics) {
    h.http.set_responder([](const io::ClientRequest&) { return test::status_answer(429); });
    h.search(h.request("marker-query-7f3a"));
    EXPECT_TRUE(h.sink.contains("key_penalised"));
    EXPECT_FALSE(h.sink.contains("marker-query-7f3a"));
    EXPECT_FALSE(h.sink.contains("serper-key-number-one"));
    EXPECT_EQ(h.metrics.expose().find("marker-query-7f3a"), std::string::npos);
    EXPECT_EQ(h.metrics.expose().find("serper-key-number-one"), std::string::npos);
}

// The share of time: at least a second and a half, never past the end.
TEST(AttemptUntilTest, SharesTheTimeLeft) {
    const Instant now{1000s};
    struct Row {
        Duration remaining;
        std::size_t left;
        Duration expected;
    };
    for (const Row& row : std::vector<Row>{{10s, 2, 5s},
                                           {10s, 1, 10s},
                                           {10s, 4, 2500ms},
                                           {2s, 4, 1500ms},
                                           {1s, 4, 1s},
                                           {0s, 2, 0s},
                                           {10s, 0, 10s}}) {
        EXPECT_EQ(attempt_until(now, now + row.remaining, row.left), now + row.expected);
    }
}

}  // namespace
}  // namespace sluice::web
