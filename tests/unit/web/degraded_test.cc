// Every way in which a search can be served worse than it should be: the code, whose fault it is,
// what the message tells an operator to do, and that a log line and a metric say so too.
#include "replies.h"
#include "support/web_harness.h"
#include "web/failure.h"
#include "web/metrics.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sluice::web {
namespace {

using namespace std::chrono_literals;
using test::FakeAnswer;
using test::WebHarness;

struct Mode {
    const char* name;
    std::function<void(WebHarness&)> bring_about;
    Code code;
    Blame blame;
    const char* advice;  // a part of the message
    bool says_when;      // it is known when trying again makes sense
};

void fail_all(WebHarness& h) {
    h.http.set_responder([](const io::ClientRequest&) { return test::status_answer(503); });
}

void search_times(WebHarness& h, int times) {
    for (int i = 0; i < times; ++i) {
        h.search(h.request("before " + std::to_string(i)));
    }
}

void add_keys(WebHarness& h) {
    h.add_key("serper", "serper-key-number-one");
    h.add_key("tavily", "tvly-key-number-one");
}

void limit_callers(WebHarness& h, std::int64_t calls_a_day) {
    access::BudgetConfig budgets;
    budgets.providers.resize(all_providers().size());
    budgets.anonymous.calls[index_of(access::Period::kDay)] = calls_a_day;
    h.budgets.reconfigure(std::move(budgets));
}

const std::vector<Mode>& modes() {
    static const std::vector<Mode> table = {
        {"no key", [](WebHarness&) {}, Code::kNoUsableKey, Blame::kKey, "SERPER_API_KEYS", false},
        {"all keys parked",
         [](WebHarness& h) {
             add_keys(h);
             h.rest_key("serper", KeyStatus::kQuarantined, 900s);
             h.rest_key("tavily", KeyStatus::kExhausted, 3600s);
         },
         Code::kNoUsableKey, Blame::kKey, "every key is resting", true},
        {"every key is refused",
         [](WebHarness& h) {
             add_keys(h);
             h.http.set_responder(
                 [](const io::ClientRequest&) { return test::status_answer(401); });
         },
         Code::kNoUsableKey, Blame::kKey, "auth_failed", true},
        {"every key was refused",
         [](WebHarness& h) {
             add_keys(h);
             h.http.set_responder(
                 [](const io::ClientRequest&) { return test::status_answer(401); });
             search_times(h, 1);
         },
         Code::kNoUsableKey, Blame::kKey,
         "serper: every key was refused, see `sluice keys list`, tavily: every key was refused",
         true},
        {"no name server",
         [](WebHarness& h) {
             add_keys(h);
             h.http.set_responder([](const io::ClientRequest&) {
                 FakeAnswer answer;
                 answer.error = Error{
                     Code::kUnavailable, Blame::kProvider, "the name could not be resolved", {}};
                 return answer;
             });
         },
         Code::kUpstreamFailed, Blame::kProvider,
         "serper: connect_error: the name could not be resolved", true},
        {"nothing recorded",
         [](WebHarness& h) {
             add_keys(h);
             h.http.set_responder([](const io::ClientRequest&) {
                 FakeAnswer answer;
                 answer.error = Error{
                     Code::kUnavailable, Blame::kGateway, "no recording answers this request", {}};
                 return answer;
             });
         },
         Code::kUpstreamFailed, Blame::kGateway,
         "tavily: connect_error: no recording answers this request", true},
        {"all circuits open",
         [](WebHarness& h) {
             add_keys(h);
             fail_all(h);
             search_times(h, 3);
         },
         Code::kUpstreamFailed, Blame::kProvider, "/v1/status", true},
        {"everything down",
         [](WebHarness& h) {
             add_keys(h);
             fail_all(h);
         },
         Code::kUpstreamFailed, Blame::kProvider, "serper: server_error, tavily: server_error",
         true},
        {"nobody is enabled",
         [](WebHarness& h) {
             add_keys(h);
             WebConfig config = test::harness_config();
             for (auto& [name, provider] : config.providers) {
                 provider.enabled = false;
             }
             h.web.reconfigure(config);
         },
         Code::kNoUsableKey, Blame::kGateway, "providers.<name>.enabled", false},
        {"our own rate is used up",
         [](WebHarness& h) {
             add_keys(h);
             WebConfig config = test::harness_config();
             for (auto& [name, provider] : config.providers) {
                 provider.rate = RateLimit{1, 60'000ms};
             }
             h.web.reconfigure(config);
             search_times(h, 2);
         },
         Code::kOverloaded, Blame::kGateway, "providers.serper.rate", true},
        {"the budget is gone",
         [](WebHarness& h) {
             add_keys(h);
             limit_callers(h, 1);
             search_times(h, 1);
         },
         Code::kBudgetExhausted, Blame::kTenant, "budgets.anonymous.calls_day", true},
        {"spending can't be written down",
         [](WebHarness& h) {
             add_keys(h);
             limit_callers(h, 1'000);
             h.spend_store.away = true;
         },
         Code::kUnavailable, Blame::kGateway, "budgets.on_store_loss", true},
    };
    return table;
}

// Each of them, with every strategy: the right words for the caller, one for the operator.
TEST(DegradedTest, EveryModeSaysWhatToDo) {
    for (const Mode& mode : modes()) {
        for (const Strategy strategy : {Strategy::kFailover, Strategy::kMerge, Strategy::kHedge}) {
            SCOPED_TRACE(std::string(mode.name) + ", " + std::string(to_string(strategy)));
            WebHarness h;
            mode.bring_about(h);
            SearchRequest request = h.request("marker-query");
            request.strategy = strategy;
            const SearchReply reply = h.search(request);
            const Error& error = failed(reply).error;
            EXPECT_EQ(error.code, mode.code) << error.message;
            EXPECT_EQ(error.blame, mode.blame) << error.message;
            EXPECT_NE(error.message.find(mode.advice), std::string::npos) << error.message;
            EXPECT_EQ(error.retry_after.has_value(), mode.says_when);
            EXPECT_TRUE(h.sink.contains("search_unanswered"));
            EXPECT_FALSE(h.sink.contains("marker-query"));
            EXPECT_GE(
                h.metrics.counter(kSearches, {"fast", std::string(to_string(mode.code))}).value(),
                1.0);
        }
    }
}

// In each of them an old answer is served where there is one, and is said to be old.
TEST(DegradedTest, EveryModeFallsBackToAnOldAnswer) {
    for (const Mode& mode : modes()) {
        SCOPED_TRACE(mode.name);
        WebHarness h;
        // Somebody else's key is good for the first search; by the second one it is away.
        h.add_key("serper", "serper-key-that-goes-away");
        h.search(h.request("kept"));
        h.clock.advance(400s);
        h.rest_key("serper", KeyStatus::kQuarantined, 24h);
        mode.bring_about(h);
        const SearchReply reply = h.search(h.request("kept"));
        EXPECT_TRUE(served(reply).stale);
        EXPECT_TRUE(h.sink.contains("stale_answer_served"));
        EXPECT_EQ(h.metrics.counter(kCacheEvents, {"stale"}).value(), 1.0);
    }
}

// One was empty and one failed: an empty answer that says it may be missing something.
TEST(DegradedTest, EmptyBesideAFailure) {
    WebHarness h;
    add_keys(h);
    h.http.set_responder([](const io::ClientRequest& request) {
        return is_serper(request) ? test::ok_answer(request, 0) : test::status_answer(500);
    });
    const SearchReply reply = h.search(h.request("a"));
    EXPECT_TRUE(served(reply).degraded);
    EXPECT_TRUE(h.sink.contains("degraded_answer_served"));
    EXPECT_EQ(h.metrics.counter(kSearches, {"fast", "degraded"}).value(), 1.0);
    // It is no fresh negative: the next caller gets what the other one has by then.
    h.http.set_responder([](const io::ClientRequest& request) {
        return test::ok_answer(request, is_serper(request) ? 0 : 3);
    });
    EXPECT_EQ(served(h.search(h.request("a"))).answer->hits().size(), 3U);
}

// Whose fault a deadline is: the providers' when their calls, and the waits that they asked for,
// took most of the time, and ours when it went by in a queue, for a turn or for a key.
TEST(DegradedTest, ADeadlineIsTheFaultOfWhoTookTheTime) {
    const auto tried = [](std::string key, Millis waited, Millis latency) {
        Attempt attempt;
        attempt.provider = "serper";
        attempt.key_id = std::move(key);
        attempt.egress = "direct";
        attempt.waited = waited;
        attempt.latency = latency;
        return attempt;
    };
    EXPECT_EQ(deadline_passed(10s, {}).blame, Blame::kGateway);
    EXPECT_EQ(deadline_passed(10s, {tried("a", 0ms, 6000ms)}).blame, Blame::kProvider);
    EXPECT_EQ(deadline_passed(10s, {tried("a", 0ms, 1000ms)}).blame, Blame::kGateway);
    EXPECT_EQ(deadline_passed(10s, {tried("a", 6000ms, 1000ms)}).blame, Blame::kGateway);
    EXPECT_EQ(deadline_passed(10s, {tried("a", 0ms, 1000ms), tried("b", 6000ms, 1000ms)}).blame,
              Blame::kGateway);
    EXPECT_EQ(deadline_passed(10s, {tried("a", 0ms, 1000ms), tried("a", 6000ms, 1000ms)}).blame,
              Blame::kProvider);
    EXPECT_EQ(deadline_passed(10s, {}).code, Code::kDeadlineExceeded);
}

// An outage does not fill the log: a few lines a minute, which say how many are missing.
TEST(DegradedTest, AnOutageWritesFewLines) {
    WebHarness h;
    for (int i = 0; i < 100; ++i) {
        h.search(h.request("query " + std::to_string(i)));
    }
    EXPECT_EQ(h.sink.count(obs::Level::kWarn, "search_unanswered"),
              static_cast<std::size_t>(DegradedLog::kLines));
    h.clock.advance(60s);
    h.search(h.request("one more"));
    EXPECT_TRUE(h.sink.contains("\"held_back\":94"));
}

// A cache that is off, or has no room for more, costs calls and nothing else.
TEST(DegradedTest, ACacheThatIsOffOrFull) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{20'000}}) {
        SCOPED_TRACE(bytes);
        WebConfig config = test::harness_config();
        config.cache.max_bytes = bytes;
        WebHarness h(config);
        add_keys(h);
        for (int i = 0; i < 50; ++i) {
            const SearchReply reply = h.search(h.request("query " + std::to_string(i)));
            EXPECT_EQ(served(reply).answer->hits().size(), 3U);
        }
        EXPECT_EQ(h.http.calls(), 50U);
        EXPECT_EQ(h.metrics.counter(kSearches, {"fast", "live"}).value(), 50.0);
        EXPECT_LE(h.overview().cache.bytes, bytes);
        EXPECT_EQ(h.sink.count(obs::Level::kWarn, ""), 1U);
        EXPECT_EQ(
            h.sink.count(obs::Level::kWarn, bytes == 0 ? "answer_cache_off" : "answer_cache_full"),
            1U);
    }
}

// More than the lanes take are told so at once.
TEST(DegradedTest, MoreThanTheLanesTake) {
    WebConfig config = test::harness_config();
    config.lanes.fast.concurrency = 1;
    config.lanes.max_queued = 1;
    WebHarness h(config);
    add_keys(h);
    h.http.set_responder([](const io::ClientRequest&) {
        FakeAnswer stalls;
        stalls.stall = true;
        return stalls;
    });
    std::vector<std::shared_ptr<WebHarness::Client>> clients;
    for (int i = 0; i < 50; ++i) {
        clients.push_back(h.start(h.request("query " + std::to_string(i))));
    }
    h.run();
    for (std::size_t i = 2; i < clients.size(); ++i) {
        ASSERT_TRUE(clients[i]->reply.has_value());
        EXPECT_EQ(failed(*clients[i]->reply).error.code, Code::kOverloaded);
    }
    EXPECT_EQ(h.metrics.counter(kSchedulerShed, {"fast"}).value(), 48.0);
    EXPECT_EQ(h.sink.count(obs::Level::kWarn, "search_unanswered"),
              static_cast<std::size_t>(DegradedLog::kLines));
    h.run_for(60s);
}

// Everybody is empty: that is an answer, and it is kept.
TEST(DegradedTest, EverybodyIsEmpty) {
    WebHarness h;
    add_keys(h);
    h.http.set_responder(
        [](const io::ClientRequest& request) { return test::ok_answer(request, 0); });
    EXPECT_FALSE(served(h.search(h.request("nothing there"))).degraded);
    EXPECT_TRUE(served(h.search(h.request("nothing there"))).cached);
}

// What a caller got wrong is the caller's: no line for it.
TEST(DegradedTest, CallersMistakesAreNotLogged) {
    WebHarness h;
    add_keys(h);
    h.http.set_responder([](const io::ClientRequest&) {
        return test::status_answer(400, R"({"message":"no","statusCode":400})");
    });
    EXPECT_EQ(failed(h.search(h.request("a"))).error.blame, Blame::kCaller);
    EXPECT_FALSE(h.sink.contains("search_unanswered"));
}

}  // namespace
}  // namespace sluice::web
