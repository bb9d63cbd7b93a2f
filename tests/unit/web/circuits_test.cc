// Circuits as a search meets them: what counts against a provider, what does not, and what a
// caller and an operator are told.
#include "replies.h"
#include "support/web_harness.h"
#include "web/metrics.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::web {
namespace {

using namespace std::chrono_literals;
using guard::CircuitState;
using test::FakeAnswer;
using test::WebHarness;

class CircuitsTest : public testing::Test {
 protected:
    void SetUp() override {
        h.add_key("serper", "serper-key-number-one");
        h.add_key("tavily", "tvly-key-number-one");
    }

    // Serper does this, tavily always answers.
    void serper_does(std::function<FakeAnswer(const io::ClientRequest&)> act) {
        h.http.set_responder([act = std::move(act)](const io::ClientRequest& request) {
            return is_serper(request) ? act(request) : test::ok_answer(request);
        });
    }
    SearchReply search() { return h.search(h.request("query " + std::to_string(++searches_))); }
    void search_times(int times) {
        for (int i = 0; i < times; ++i) {
            search();
        }
    }
    ProviderState::CircuitView circuit(std::string_view provider) {
        for (const auto& one : h.overview().providers) {
            if (one.name == provider) {
                return one.circuit;
            }
        }
        ADD_FAILURE() << "no such provider";
        return {};
    }

    WebHarness h;

 private:
    int searches_ = 0;
};

// Failures in a row open the circuit: the provider is passed over, and trace, status, log and
// metrics say so and since what.
TEST_F(CircuitsTest, FailuresInARowKeepCallsAway) {
    serper_does([](const io::ClientRequest&) { return test::status_answer(503); });
    search_times(3);
    const std::size_t calls = h.http.calls();
    const SearchReply reply = search();
    EXPECT_EQ(trail(served(reply).attempts),
              (std::vector<std::string>{"serper:skipped_circuit", "tavily:success"}));
    EXPECT_EQ(served(reply).attempts[0].detail,
              "left alone after server_error (HTTP 503) until 2026-01-01T00:00:05.000Z");
    EXPECT_TRUE(served(reply).attempts[0].key_id.empty());
    EXPECT_TRUE(served(reply).attempts[0].egress.empty());
    EXPECT_EQ(h.http.calls(), calls + 1);

    EXPECT_EQ(circuit("serper").state, CircuitState::kOpen);
    EXPECT_EQ(circuit("serper").reason, "server_error (HTTP 503)");
    EXPECT_EQ(circuit("serper").reopens_in, Duration(5s));
    EXPECT_EQ(circuit("tavily").state, CircuitState::kClosed);
    EXPECT_TRUE(h.sink.contains("circuit_opened"));
    EXPECT_EQ(h.metrics.gauge(kCircuitOpen, {"serper"}).value(), 1.0);
    EXPECT_EQ(h.metrics.counter(kCircuitTrips, {"serper"}).value(), 1.0);
}

// A proxy that asks for credentials is ours to put right: the next provider is asked, and neither
// the circuit nor a key suffers.
TEST_F(CircuitsTest, AProxyWithoutCredentialsIsOurFault) {
    serper_does([](const io::ClientRequest&) { return test::status_answer(407); });
    search_times(5);
    const SearchReply reply = search();
    EXPECT_EQ(trail(served(reply).attempts),
              (std::vector<std::string>{"serper:connect_error", "tavily:success"}));
    EXPECT_EQ(served(reply).attempts[0].blame, Blame::kGateway);
    EXPECT_EQ(circuit("serper").state, CircuitState::kClosed);
    EXPECT_EQ(h.key_counts("serper").available, 1u);
    EXPECT_FALSE(h.sink.contains("key_penalised"));
}

// When its time is over one call, and not two, finds out whether the provider is back.
TEST_F(CircuitsTest, OneProbeDecides) {
    serper_does([](const io::ClientRequest&) { return test::status_answer(500); });
    search_times(3);
    h.clock.advance(5s);
    serper_does([](const io::ClientRequest& request) {
        FakeAnswer answer = test::ok_answer(request);
        answer.delay = 100ms;
        return answer;
    });
    const auto probe = h.start(h.request("probe"));
    h.run();
    const auto other = h.start(h.request("other"));
    h.run();
    ASSERT_TRUE(other->reply);
    EXPECT_EQ(trail(served(*other->reply).attempts),
              (std::vector<std::string>{"serper:skipped_circuit", "tavily:success"}));
    h.run_for(100ms);
    ASSERT_TRUE(probe->reply);
    EXPECT_EQ(served(*probe->reply).answer->provider(), "serper");
    EXPECT_EQ(circuit("serper").state, CircuitState::kClosed);
    EXPECT_TRUE(h.sink.contains("circuit_closed"));
    EXPECT_EQ(h.metrics.gauge(kCircuitOpen, {"serper"}).value(), 0.0);
}

// A probe that fails keeps calls away for twice as long.
TEST_F(CircuitsTest, FailedProbeDoublesTheTime) {
    serper_does([](const io::ClientRequest&) { return test::status_answer(500); });
    search_times(3);
    h.clock.advance(5s);
    search();
    EXPECT_EQ(circuit("serper").reopens_in, Duration(10s));
}

// A client that leaves while its call is the probe leaves the place to the next one.
TEST_F(CircuitsTest, LeavingDuringTheProbeFreesItsPlace) {
    serper_does([](const io::ClientRequest&) { return test::status_answer(500); });
    search_times(3);
    h.clock.advance(5s);
    serper_does([](const io::ClientRequest& request) {
        FakeAnswer answer = test::ok_answer(request);
        answer.stall = true;
        return answer;
    });
    const auto probe = h.start(h.request("probe"));
    h.run();
    h.hang_up(*probe);
    h.run();
    serper_does([](const io::ClientRequest& request) { return test::ok_answer(request); });
    EXPECT_EQ(served(search()).answer->provider(), "serper");
}

// A success in between starts the count again, and an empty answer is a success.
TEST_F(CircuitsTest, EmptyAnswerIsASuccess) {
    for (int i = 0; i < 3; ++i) {
        serper_does([](const io::ClientRequest&) { return test::status_answer(500); });
        search_times(2);
        serper_does([](const io::ClientRequest& request) { return test::ok_answer(request, 0); });
        search();
    }
    EXPECT_EQ(circuit("serper").state, CircuitState::kClosed);
}

// Keys and callers are not the provider's fault, however often they fail.
TEST_F(CircuitsTest, KeysAndCallersLeaveItClosed) {
    for (const int status : {429, 401, 402}) {
        serper_does([status](const io::ClientRequest&) { return test::status_answer(status); });
        search_times(1);
        h.clock.advance(3600s);
    }
    serper_does([](const io::ClientRequest&) {
        return test::status_answer(400, R"({"message":"no","statusCode":400})");
    });
    search_times(5);
    EXPECT_EQ(circuit("serper").state, CircuitState::kClosed);
}

// Clients that hang up are not the provider's fault either.
TEST_F(CircuitsTest, HangUpsLeaveItClosed) {
    serper_does([](const io::ClientRequest& request) {
        FakeAnswer answer = test::ok_answer(request);
        answer.stall = true;
        return answer;
    });
    for (int i = 0; i < 20; ++i) {
        const auto client = h.start(h.request("leaves " + std::to_string(i)));
        h.run_for(10ms);
        h.hang_up(*client);
        h.run();
    }
    EXPECT_EQ(circuit("serper").state, CircuitState::kClosed);
}

// A time-out counts against a provider that had its time.
TEST_F(CircuitsTest, TimeoutsCount) {
    serper_does([](const io::ClientRequest& request) {
        FakeAnswer answer = test::ok_answer(request);
        answer.stall = true;
        return answer;
    });
    search_times(3);
    EXPECT_EQ(circuit("serper").reason, "timeout");
}

// It does not count against one that had almost none, since the caller's own deadline was near.
TEST(CircuitsOfHastyCallersTest, ShortTimeoutsDoNotCount) {
    WebConfig config = test::harness_config();
    config.lanes.fast.deadline = 1s;
    WebHarness h(config);
    h.add_key("serper", "serper-key-number-one");
    h.http.set_responder([](const io::ClientRequest& request) {
        FakeAnswer answer = test::ok_answer(request);
        answer.stall = true;
        return answer;
    });
    for (int i = 0; i < 5; ++i) {
        const SearchReply reply = h.search(h.request("query " + std::to_string(i)));
        EXPECT_EQ(trail(failed(reply).attempts).at(0), "serper:timeout");
    }
}

// A reload changes settings and forgets nothing of what was learned.
TEST_F(CircuitsTest, ReloadKeepsTheState) {
    serper_does([](const io::ClientRequest&) { return test::status_answer(500); });
    search_times(3);
    h.web.reconfigure(test::harness_config());
    EXPECT_EQ(circuit("serper").state, CircuitState::kOpen);
}

// All circuits open: nobody is called, the providers are blamed, and the caller is told when it
// makes sense to try again. An old answer is served where there is one.
TEST_F(CircuitsTest, AllOpenSaysWhenToTryAgain) {
    h.search(h.request("kept"));
    h.clock.advance(301s);
    h.http.set_responder([](const io::ClientRequest&) { return test::status_answer(500); });
    search_times(3);
    h.clock.advance(1s);
    const std::size_t calls = h.http.calls();
    const SearchReply reply = search();
    EXPECT_EQ(failed(reply).error.code, Code::kUpstreamFailed);
    EXPECT_EQ(failed(reply).error.blame, Blame::kProvider);
    EXPECT_EQ(failed(reply).error.retry_after, Millis(4000));
    EXPECT_NE(failed(reply).error.message.find("/v1/status"), std::string::npos);
    EXPECT_TRUE(served(h.search(h.request("kept"))).stale);
    EXPECT_EQ(h.http.calls(), calls);
}

// Empty from one while another is left alone is not the whole truth: it is not remembered.
TEST_F(CircuitsTest, EmptyBesideAnOpenCircuitIsDegraded) {
    serper_does([](const io::ClientRequest&) { return test::status_answer(500); });
    search_times(3);
    h.http.set_responder(
        [](const io::ClientRequest& request) { return test::ok_answer(request, 0); });
    h.web.purge_cache();
    EXPECT_TRUE(served(search()).degraded);
    EXPECT_EQ(h.web.purge_cache().answers, 0u);
}

}  // namespace
}  // namespace sluice::web
