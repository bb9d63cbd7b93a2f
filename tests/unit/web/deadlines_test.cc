// Time: every search ends by its deadline, nothing is started after it, and whoever stops waiting
// frees what they held.
#include "replies.h"
#include "support/web_harness.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::web {
namespace {

using namespace std::chrono_literals;
using test::FakeAnswer;
using test::WebHarness;

// One place in the fast lane.
WebConfig narrow() {
    WebConfig config = test::harness_config();
    config.lanes.fast.concurrency = 1;
    config.lanes.fast.queue_timeout = 5s;
    return config;
}

// The time in the queue is the search's own: it has that much less, and the trace shows it.
TEST(DeadlinesTest, QueueingUsesUpTime) {
    WebHarness h{narrow()};
    h.add_key("serper", "serper-key-number-one");
    h.http.set_responder(
        [](const io::ClientRequest& request) { return after(4s, test::ok_answer(request)); });
    const auto first = h.start(h.request("first"));
    const Instant begun = h.clock.now();
    const SearchReply second = h.search(h.request("second"));
    EXPECT_EQ(h.clock.now() - begun, 8s);
    EXPECT_EQ(served(second).queued, 4000ms);
    EXPECT_EQ(served(*first->reply).queued, 0ms);
    EXPECT_EQ(served(second).attempts.at(0).latency, 4000ms);
}

// A client that leaves the queue makes room in it at once, and its search never runs.
TEST(DeadlinesTest, LeavingTheQueueMakesRoom) {
    WebConfig config = narrow();
    config.lanes.max_queued = 1;
    WebHarness h{config};
    h.add_key("serper", "serper-key-number-one");
    h.http.set_responder(
        [](const io::ClientRequest& request) { return after(1s, test::ok_answer(request)); });
    const auto runs = h.start(h.request("runs"));
    const auto leaves = h.start(h.request("leaves"));
    h.run();
    EXPECT_EQ(h.overview().fast.queued, 1u);
    h.hang_up(*leaves);
    h.run();
    EXPECT_EQ(h.overview().fast.queued, 0u);
    const auto next = h.start(h.request("next"));
    h.run_for(3s);
    ASSERT_TRUE(next->reply);
    EXPECT_FALSE(served(*next->reply).answer->hits().empty());
    EXPECT_EQ(h.http.calls(), 2u);
}

// Time is kept only for providers that could be asked: one without a key, or whose circuit is open,
// takes none of it from the others.
TEST(DeadlinesTest, NoTimeIsKeptForWhomNobodyCouldAsk) {
    WebHarness h;
    h.add_key("serper", "serper-key-number-one");
    h.http.set_responder(
        [](const io::ClientRequest& request) { return after(7s, test::ok_answer(request)); });
    EXPECT_EQ(served(h.search(h.request("no key"))).answer->provider(), "serper");
    h.add_key("tavily", "tvly-key-number-one");
    EXPECT_EQ(trail(failed(h.search(h.request("both can"))).attempts),
              (std::vector<std::string>{"serper:timeout", "tavily:timeout"}));
}

// A provider has at most its own timeout, however much time the search has left.
TEST(DeadlinesTest, ProvidersTimeoutBoundsOneAttempt) {
    WebConfig config = test::harness_config();
    config.providers.find("serper")->second.timeout = 2s;
    WebHarness h{config};
    h.add_key("serper", "serper-key-number-one");
    h.add_key("tavily", "tvly-key-number-one");
    h.http.set_responder([](const io::ClientRequest& request) {
        FakeAnswer answer = test::ok_answer(request);
        answer.stall = is_serper(request);
        return answer;
    });
    const Instant begun = h.clock.now();
    EXPECT_EQ(served(h.search(h.request("a"))).answer->provider(), "tavily");
    EXPECT_EQ(h.clock.now() - begun, 2s);
}

// Waiting for a turn comes out of the attempt's share, not out of the next provider's.
TEST(DeadlinesTest, WaitingStaysWithinTheShare) {
    WebConfig config = test::harness_config();
    config.providers.find("serper")->second.rate = RateLimit{1, 4000ms};
    WebHarness h{config};
    h.add_key("serper", "serper-key-number-one");
    h.add_key("tavily", "tvly-key-number-one");
    h.search(h.request("takes the turn"));
    h.http.set_responder([](const io::ClientRequest& request) {
        FakeAnswer answer = test::ok_answer(request);
        answer.stall = is_serper(request);
        return answer;
    });
    const Instant begun = h.clock.now();
    const SearchReply reply = h.search(h.request("waits"));
    EXPECT_EQ(trail(served(reply).attempts),
              (std::vector<std::string>{"serper:timeout", "tavily:success"}));
    EXPECT_EQ(served(reply).attempts.at(0).waited, 4000ms);
    EXPECT_EQ(h.clock.now() - begun, 4950ms) << "half of the deadline without the reply margin";
}

// Keys that are refused slowly use up the time, and not a moment more: no attempt starts after the
// deadline, whatever the strategy, and the error comes before the client gives up.
TEST(DeadlinesTest, NothingStartsAfterTheDeadline) {
    for (const Strategy strategy : {Strategy::kFailover, Strategy::kMerge, Strategy::kHedge}) {
        SCOPED_TRACE(to_string(strategy));
        WebHarness h;
        for (int i = 0; i < 30; ++i) {
            h.add_key("serper", "serper-key-of-many-" + std::to_string(i));
            h.add_key("tavily", "tvly-key-of-many-" + std::to_string(i));
        }
        h.http.set_responder(
            [](const io::ClientRequest&) { return after(700ms, test::status_answer(401)); });
        SearchRequest request = h.request("a");
        request.strategy = strategy;
        const Instant begun = h.clock.now();
        const SearchReply reply = h.search(request);
        EXPECT_LT(h.clock.now() - begun, 10s);
        EXPECT_GE(failed(reply).attempts.size(), 10u);
        EXPECT_EQ(h.http.started_late(), 0u);
        EXPECT_EQ(h.http.under_way(), 0u);
        EXPECT_EQ(h.key_counts("serper").in_flight, 0u);
        EXPECT_EQ(h.key_counts("tavily").in_flight, 0u);
    }
}

// Clients that hang up by the thousand, at whatever moment, cost no key its place and open no
// circuit, and nothing of theirs is left.
TEST(DeadlinesTest, HangUpsByTheThousandPenaliseNobody) {
    WebHarness h;
    h.add_key("serper", "serper-key-number-one");
    h.add_key("tavily", "tvly-key-number-one");
    h.http.set_responder(
        [](const io::ClientRequest& request) { return after(90ms, test::ok_answer(request)); });
    for (int i = 0; i < 1000; ++i) {
        SearchRequest request = h.request("leaver " + std::to_string(i));
        request.strategy = static_cast<Strategy>(i % 3);
        const auto client = h.start(std::move(request));
        h.run_for(Millis(i % 80));
        h.hang_up(*client);
        h.run();
    }
    EXPECT_EQ(h.http.under_way(), 0u);
    for (const auto& [provider, counts] : h.keys.counts()) {
        EXPECT_EQ(counts.available, 1u) << provider;
        EXPECT_EQ(counts.in_flight, 0u) << provider;
    }
    const Search::Overview overview = h.overview();
    for (const auto& provider : overview.providers) {
        EXPECT_EQ(provider.circuit.state, guard::CircuitState::kClosed) << provider.name;
    }
    EXPECT_EQ(overview.fast.running, 0u);
    EXPECT_EQ(overview.flights, 0u);
    EXPECT_EQ(h.sink.count(obs::Level::kWarn, "key_penalised"), 0u);
}

}  // namespace
}  // namespace sluice::web
