// The hedge strategy through the real web side: when a second provider is asked, which answer wins,
// and what bounds the second calls.
#include "replies.h"
#include "support/web_harness.h"
#include "web/hedge_budget.h"
#include "web/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace sluice::web {
namespace {

using namespace std::chrono_literals;
using test::FakeAnswer;
using test::WebHarness;

class HedgeTest : public testing::Test {
 protected:
    void SetUp() override {
        h.add_key("serper", "serper-key-number-one");
        h.add_key("tavily", "tvly-key-number-one");
    }
    void upstream(Act serper, Act tavily) {
        h.http.set_responder([=](const io::ClientRequest& request) {
            return is_serper(request) ? serper(request) : tavily(request);
        });
    }
    static Act answers_in(Duration delay) {
        return [delay](const io::ClientRequest& request) {
            return after(delay, test::ok_answer(request));
        };
    }
    static Act fails_in(Duration delay) {
        return [delay](const io::ClientRequest&) { return after(delay, test::status_answer(500)); };
    }
    SearchRequest hedged() {
        SearchRequest request = h.request("query " + std::to_string(++searches_));
        request.strategy = Strategy::kHedge;
        return request;
    }
    double hedges(const char* event) { return h.metrics.counter(kHedges, {event}).value(); }

    WebHarness h;

 private:
    int searches_ = 0;
};

// A provider that answers in time is the only one that is asked.
TEST_F(HedgeTest, QuickOneIsNotHedged) {
    upstream(answers_in(1400ms), answers_in(0ms));
    const SearchReply reply = h.search(hedged());
    EXPECT_EQ(served(reply).answer->provider(), "serper");
    EXPECT_EQ(h.http.calls(), 1u);
    EXPECT_EQ(hedges("started"), 0.0);
}

// A slow one has a second beside it from then on; the first answer wins, the other call is
// cancelled, and nobody is blamed.
TEST_F(HedgeTest, SlowOneIsHedged) {
    upstream(answers_in(8s), answers_in(300ms));
    const Instant begun = h.clock.now();
    const SearchReply reply = h.search(hedged());
    EXPECT_EQ(h.clock.now() - begun, 1800ms);
    EXPECT_EQ(served(reply).answer->provider(), "tavily");
    EXPECT_FALSE(served(reply).degraded);
    EXPECT_EQ(trail(served(reply).attempts),
              (std::vector<std::string>{"serper:cancelled", "tavily:success"}));
    EXPECT_EQ(h.http.under_way(), 0u);
    EXPECT_EQ(h.key_counts("serper").in_flight, 0u);
    EXPECT_EQ(hedges("started"), 1.0);
    EXPECT_EQ(hedges("won"), 1.0);
}

// The first one may still win.
TEST_F(HedgeTest, FirstOneMayStillWin) {
    upstream(answers_in(2s), answers_in(5s));
    EXPECT_EQ(served(h.search(hedged())).answer->provider(), "serper");
    EXPECT_EQ(hedges("started"), 1.0);
    EXPECT_EQ(hedges("won"), 0.0);
}

// What is slow is what is slow for this provider: 95 of 100 recent answers took 100 ms at most.
TEST_F(HedgeTest, SlowIsMeasuredByTheProvidersOwnTimes) {
    upstream(answers_in(100ms), answers_in(0ms));
    for (std::size_t i = 0; i < RecentCalls::kEnough; ++i) {
        h.search(hedged());
    }
    upstream(answers_in(1s), answers_in(10ms));
    const Instant begun = h.clock.now();
    EXPECT_EQ(served(h.search(hedged())).answer->provider(), "tavily");
    EXPECT_EQ(h.clock.now() - begun, 110ms);
}

// A failure is followed by the next provider at once, as in failover; that is no hedge.
TEST_F(HedgeTest, FailureMovesOnAtOnce) {
    upstream(fails_in(10ms), answers_in(10ms));
    const Instant begun = h.clock.now();
    const SearchReply reply = h.search(hedged());
    EXPECT_EQ(h.clock.now() - begun, 20ms);
    EXPECT_EQ(trail(served(reply).attempts),
              (std::vector<std::string>{"serper:server_error", "tavily:success"}));
    EXPECT_EQ(hedges("started"), 0.0);
}

// When the hedge fails the first one goes on.
TEST_F(HedgeTest, FailedHedgeLeavesTheFirstAlone) {
    upstream(answers_in(3s), fails_in(10ms));
    const SearchReply reply = h.search(hedged());
    EXPECT_EQ(served(reply).answer->provider(), "serper");
    EXPECT_EQ(trail(served(reply).attempts),
              (std::vector<std::string>{"serper:success", "tavily:server_error"}));
}

// Second calls are bounded: ten at once after a quiet time, then one for every ten others.
TEST_F(HedgeTest, BudgetBoundsTheSecondCalls) {
    upstream(answers_in(1600ms), answers_in(5s));
    for (int i = 0; i < 40; ++i) {
        WebConfig config = test::harness_config();
        config.hedge.initial_delay = 10ms;
        h.web.reconfigure(config);
        h.search(hedged());
        if (h.http.calls() > 10 + 1 + static_cast<std::size_t>(1.1 * (i + 1))) {
            ADD_FAILURE() << h.http.calls() << " calls for " << i + 1 << " searches";
            break;
        }
    }
    EXPECT_GE(hedges("started"), 10.0);
    EXPECT_GT(hedges("denied"), 0.0);
}

// A ratio of nothing means no second calls at all.
TEST_F(HedgeTest, NoBudgetNoHedge) {
    WebConfig config = test::harness_config();
    config.hedge.max_extra_ratio = 0;
    h.web.reconfigure(config);
    upstream(answers_in(3s), answers_in(10ms));
    EXPECT_EQ(served(h.search(hedged())).answer->provider(), "serper");
    EXPECT_EQ(h.http.calls(), 1u);
}

// A second provider that can't be asked costs nothing.
TEST_F(HedgeTest, HedgeThatIsNotSentIsNotPaidFor) {
    h.rest_key("tavily", KeyStatus::kQuarantined, 900s);
    upstream(answers_in(2s), answers_in(0ms));
    EXPECT_EQ(served(h.search(hedged())).answer->provider(), "serper");
    EXPECT_EQ(hedges("unused"), 1.0);
}

// The caller's fault stops both.
TEST_F(HedgeTest, CallersFaultStopsBoth) {
    upstream(answers_in(8s), [](const io::ClientRequest&) {
        return test::status_answer(400, R"({"detail":{"error":"no"}})");
    });
    EXPECT_EQ(failed(h.search(hedged())).error.code, Code::kQueryRejected);
    EXPECT_EQ(h.http.under_way(), 0u);
}

// Both empty is an empty answer, and one that failed beside it is said to be missing.
TEST_F(HedgeTest, EmptyAnswers) {
    const Act empty = [](const io::ClientRequest& request) {
        return after(2s, test::ok_answer(request, 0));
    };
    upstream(empty, empty);
    const SearchReply both = h.search(hedged());
    EXPECT_TRUE(served(both).answer->hits().empty());
    EXPECT_FALSE(served(both).degraded);
    upstream(empty, fails_in(0ms));
    EXPECT_TRUE(served(h.search(hedged())).degraded);
}

// Everybody stalls: the search ends in time with everybody's trail.
TEST_F(HedgeTest, AllStalledEndsInTime) {
    const Act stall = [](const io::ClientRequest&) {
        FakeAnswer answer;
        answer.stall = true;
        return answer;
    };
    upstream(stall, stall);
    const Instant begun = h.clock.now();
    const SearchReply reply = h.search(hedged());
    EXPECT_LT(h.clock.now() - begun, 10s);
    EXPECT_EQ(failed(reply).attempts.size(), 2u);
    EXPECT_EQ(failed(reply).error.blame, Blame::kProvider);
}

// A client that leaves before its provider is slow ends the one call, and no second one begins.
TEST_F(HedgeTest, LeavingEarlyStartsNothing) {
    upstream(answers_in(9s), answers_in(9s));
    const auto client = h.start(hedged());
    h.run_for(1s);
    h.hang_up(*client);
    h.run();
    EXPECT_EQ(h.http.calls(), 1u);
    EXPECT_EQ(h.http.under_way(), 0u);
    EXPECT_EQ(hedges("started"), 0.0);
}

// The last client to leave ends both calls.
TEST_F(HedgeTest, LeavingEndsBothCalls) {
    upstream(answers_in(9s), answers_in(9s));
    const auto client = h.start(hedged());
    h.run_for(2s);
    EXPECT_EQ(h.http.under_way(), 2u);
    h.hang_up(*client);
    h.run();
    EXPECT_EQ(h.http.under_way(), 0u);
    EXPECT_EQ(h.key_counts("serper").in_flight, 0u);
    EXPECT_EQ(h.key_counts("tavily").in_flight, 0u);
    EXPECT_EQ(hedges("started"), 1.0) << "leaving must not start another call";
}

// A client that leaves at the very moment when its provider counts as slow has no second call made
// for it.
TEST_F(HedgeTest, LeavingWhenItIsSlowStartsNothing) {
    upstream(answers_in(9s), answers_in(9s));
    const auto client = h.start(hedged());
    h.run_for(1s);
    h.hang_up(*client);
    h.clock.advance(500ms);
    h.run();
    EXPECT_EQ(h.http.calls(), 1u);
    EXPECT_EQ(h.http.under_way(), 0u);
    EXPECT_EQ(hedges("started"), 0.0);
}

// However many keys are refused, and however many providers are asked, one request makes no more
// attempts than any other, and everybody of the route has one.
TEST_F(HedgeTest, AttemptsAreCountedTogether) {
    WebConfig config = test::harness_config();
    config.route_fast = {"serper", "tavily", "exa", "brave"};
    h.web.reconfigure(config);
    for (const char* provider : {"serper", "tavily", "exa", "brave"}) {
        for (int i = 0; i < 40; ++i) {
            h.add_key(provider, "a-key-with-the-number-" + std::to_string(i));
        }
    }
    upstream([](const io::ClientRequest&) { return test::status_answer(401); },
             [](const io::ClientRequest&) { return test::status_answer(401); });
    const std::vector<Attempt> attempts = failed(h.search(hedged())).attempts;
    EXPECT_LE(attempts.size(), kMaxAttempts);
    for (const char* provider : {"serper", "tavily", "exa", "brave"}) {
        EXPECT_TRUE(std::ranges::any_of(attempts, [&](const Attempt& attempt) {
            return attempt.provider == provider;
        })) << provider;
    }
}

}  // namespace
}  // namespace sluice::web
