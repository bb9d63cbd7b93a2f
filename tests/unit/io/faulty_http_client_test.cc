// Calls go wrong exactly as the script says, and in the same way each time.
#include "io/faulty_http_client.h"

#include "base/json.h"
#include "io/exchange_metrics.h"
#include "support/fake_http_client.h"
#include "support/manual_clock.h"
#include "support/run_task.h"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::io {
namespace {

using namespace std::chrono_literals;

FaultRule rule_of(Fault fault) {
    FaultRule rule;
    rule.name = "r";
    rule.fault = fault;
    return rule;
}

class FaultyTest : public testing::Test {
 protected:
    FaultyTest()
        : inner_(clock_, [](const ClientRequest&) {
              test::FakeAnswer answer;
              answer.body = "whole answer";
              return answer;
          }) {}

    FaultyHttpClient client(FaultScript script) {
        return FaultyHttpClient(inner_, std::move(script), clock_, metrics_);
    }
    static FaultScript only(FaultRule rule) {
        FaultScript script;
        script.rules.push_back(std::move(rule));
        return script;
    }
    Result<ClientResponse> send(FaultyHttpClient& to, std::string_view upstream = "serper") {
        ClientRequest request;
        request.url = "http://127.0.0.1:9/";
        request.upstream = upstream;
        request.deadline = clock_.now() + 10s;
        return test::run_task(io_, clock_, to.send(std::move(request)));
    }
    // 'x' for each call that failed.
    std::string outcomes(FaultyHttpClient& to, std::size_t calls, std::string_view upstream) {
        std::string text;
        for (std::size_t i = 0; i < calls; ++i) {
            text += send(to, upstream)->status == 200 ? '.' : 'x';
        }
        return text;
    }

    boost::asio::io_context io_{1};
    test::ManualClock clock_;
    obs::Metrics metrics_;
    test::FakeHttpClient inner_;
};

TEST_F(FaultyTest, AnAnswerOfItsOwnAsksNobody) {
    FaultRule status = rule_of(Fault::kStatus);
    status.status = 503;
    FaultyHttpClient down = client(only(status));
    EXPECT_EQ(send(down)->status, 503);
    FaultyHttpClient garbage = client(only(rule_of(Fault::kGarbage)));
    EXPECT_EQ(send(garbage)->status, 200);
    EXPECT_FALSE(JsonReader().parse(send(garbage)->body).ok());
    FaultRule limit = rule_of(Fault::kRateLimit);
    limit.retry_after = 1500ms;
    FaultyHttpClient limited = client(only(limit));
    const auto answer = send(limited);
    EXPECT_EQ(answer->status, 429);
    EXPECT_EQ(answer->header("retry-after"), "2");
    FaultyHttpClient refused = client(only(rule_of(Fault::kRefuse)));
    EXPECT_EQ(send(refused).error().code, Code::kUnavailable);
    EXPECT_EQ(send(refused).error().blame, Blame::kProvider);
    EXPECT_EQ(inner_.calls(), 0U);
    EXPECT_EQ(metrics_.counter(kInjectedFaults, {"refuse"}).value(), 2);
}

TEST_F(FaultyTest, AStallLastsToTheDeadlineAndADelayAsLongAsItSays) {
    FaultyHttpClient stalled = client(only(rule_of(Fault::kStall)));
    const Instant started = clock_.now();
    EXPECT_EQ(send(stalled).error().code, Code::kTimeout);
    EXPECT_EQ(clock_.now() - started, 10s);
    FaultRule delay = rule_of(Fault::kDelay);
    delay.delay = 3s;
    FaultyHttpClient delayed = client(only(delay));
    const Instant before = clock_.now();
    EXPECT_EQ(send(delayed)->body, "whole answer");
    EXPECT_EQ(clock_.now() - before, 3s);
}

TEST_F(FaultyTest, ACutLeavesShortAnswersWhole) {
    FaultRule cut = rule_of(Fault::kCut);
    cut.after_bytes = 11;
    FaultyHttpClient cutting = client(only(cut));
    EXPECT_EQ(send(cutting).error().code, Code::kUnavailable);
    cut.after_bytes = 12;
    FaultyHttpClient generous = client(only(cut));
    EXPECT_EQ(send(generous)->body, "whole answer");
}

TEST_F(FaultyTest, CallsAreCountedForEachUpstreamOfItsOwn) {
    FaultRule second = rule_of(Fault::kStatus);
    second.from_call = second.to_call = 2;
    FaultyHttpClient faulty = client(only(second));
    EXPECT_EQ(outcomes(faulty, 2, "serper"), ".x");
    EXPECT_EQ(outcomes(faulty, 3, "brave"), ".x.");
    EXPECT_EQ(outcomes(faulty, 2, "serper"), "..");
}

TEST_F(FaultyTest, TheFirstRuleThatAppliesDecides) {
    FaultScript script;
    FaultRule of_brave = rule_of(Fault::kRefuse);
    of_brave.upstream = "brave";
    script.rules = {of_brave, rule_of(Fault::kStatus)};
    FaultyHttpClient faulty = client(script);
    EXPECT_FALSE(send(faulty, "brave").ok());
    EXPECT_EQ(send(faulty, "serper")->status, 500);
}

TEST_F(FaultyTest, AProbabilityPicksTheSameCallsForTheSameSeed) {
    FaultScript script = only(rule_of(Fault::kStatus));
    script.rules[0].probability = 0.5;
    script.seed = 7;
    FaultyHttpClient first = client(script);
    FaultyHttpClient second = client(script);
    const std::string alone = outcomes(first, 40, "serper");
    // Calls of another upstream in between change nothing.
    std::string mixed;
    for (int i = 0; i < 40; ++i) {
        mixed += outcomes(second, 1, "serper");
        outcomes(second, 1, "brave");
    }
    EXPECT_EQ(alone, mixed);
    EXPECT_NE(alone.find('x'), std::string::npos);
    EXPECT_NE(alone.find('.'), std::string::npos);
    script.seed = 8;
    FaultyHttpClient third = client(script);
    EXPECT_NE(outcomes(third, 40, "serper"), alone);
}

}  // namespace
}  // namespace sluice::io
