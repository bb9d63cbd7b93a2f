// The last rung of the ladder: the same provider is asked again after a wait, only when a search
// has nothing else left to do, and what a try holds is given back while nobody is being called.
#include "access/metrics.h"
#include "replies.h"
#include "support/web_harness.h"
#include "web/metrics.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice::web {
namespace {

using namespace std::chrono_literals;
using test::FakeAnswer;
using test::WebHarness;

WebConfig with_retries(std::size_t retries = 3) {
    WebConfig config = test::harness_config();
    config.retry.max_retries = retries;
    config.circuit.failure_threshold = 2;
    return config;
}

FakeAnswer busy(int status, std::string retry_after = "") {
    FakeAnswer answer = test::status_answer(status);
    if (!retry_after.empty()) {
        answer.headers.emplace_back("retry-after", std::move(retry_after));
    }
    return answer;
}

SearchRequest only_serper(const WebHarness& h, std::string query = "a") {
    SearchRequest request = h.request(std::move(query));
    request.providers = {"serper"};
    return request;
}

std::vector<Millis> waits(const std::vector<Attempt>& attempts) {
    std::vector<Millis> waits;
    for (const Attempt& attempt : attempts) {
        waits.push_back(attempt.waited);
    }
    return waits;
}

class RetryTest : public testing::Test {
 protected:
    void SetUp() override { begin(with_retries()); }
    void begin(WebConfig config, access::BudgetConfig budgets = {}) {
        h = std::make_unique<WebHarness>(std::move(config), std::move(budgets));
        h->add_key("serper", "serper-key-number-one");
        h->add_key("tavily", "tvly-key-number-one");
        begun = h->clock.now();
    }
    // Serper answers so, one after another, and then well; tavily always well.
    void serper_says(std::deque<FakeAnswer> answers) {
        auto left = std::make_shared<std::deque<FakeAnswer>>(std::move(answers));
        h->http.set_responder([left](const io::ClientRequest& request) {
            if (!is_serper(request) || left->empty()) {
                return test::ok_answer(request);
            }
            FakeAnswer answer = std::move(left->front());
            left->pop_front();
            return answer;
        });
    }
    void always(std::function<FakeAnswer()> make) {
        h->http.set_responder(
            [make = std::move(make)](const io::ClientRequest&) { return make(); });
    }
    std::size_t failures_to_open() { return h->web.config()->circuit.failure_threshold; }
    guard::CircuitState serper_circuit() {
        for (const auto& one : h->overview().providers) {
            if (one.name == "serper") {
                return one.circuit.state;
            }
        }
        return guard::CircuitState::kOpen;
    }
    void expect_nothing_is_held() {
        EXPECT_EQ(h->key_counts("serper").in_flight, 0u);
        EXPECT_EQ(h->metrics.gauge(access::kBudgetReservations).value(), 0);
        EXPECT_EQ(h->http.started_late(), 0u);
        EXPECT_EQ(h->overview().fast.running, 0u);
    }

    std::unique_ptr<WebHarness> h;
    Instant begun{};
};

// One, two, four seconds; each try is in the trace with its wait, and is counted.
TEST_F(RetryTest, TheLastOfARouteIsAskedAgain) {
    for (const int status : {429, 502, 503, 504}) {
        SCOPED_TRACE(status);
        begin(with_retries());
        serper_says({busy(status), busy(status), busy(status)});
        const SearchReply reply = h->search(only_serper(*h));
        EXPECT_EQ(served(reply).attempts.size(), 4u);
        // Serper names a time of its own for its 429.
        const std::vector<Millis> expected = status == 429
                                                 ? std::vector<Millis>{0ms, 2000ms, 2000ms, 2000ms}
                                                 : std::vector<Millis>{0ms, 1000ms, 2000ms, 4000ms};
        EXPECT_EQ(waits(served(reply).attempts), expected);
        EXPECT_EQ(served(reply).attempts.back().outcome, Outcome::kSuccess);
        EXPECT_FALSE(served(reply).degraded);
        EXPECT_EQ(h->metrics.counter(kRetries, {"serper"}).value(), 3.0);
        // The last try is what counts: the key was not put to rest, nor the provider accused.
        EXPECT_EQ(h->key_counts("serper").available, 1u);
        EXPECT_FALSE(h->sink.contains("key_penalised"));
        expect_nothing_is_held();
    }
}

// What may not pass by itself within seconds is not asked again.
TEST_F(RetryTest, OtherFailuresAreNot) {
    FakeAnswer refused_connection;
    refused_connection.error = Error{Code::kUnavailable, Blame::kProvider, "refused", {}};
    FakeAnswer slow;
    slow.stall = true;
    for (const FakeAnswer& answer :
         {busy(500), busy(501), busy(408), busy(401), busy(402), refused_connection, slow}) {
        SCOPED_TRACE(answer.status);
        begin(with_retries());
        always([answer] { return answer; });
        EXPECT_EQ(failed(h->search(only_serper(*h))).attempts.size(), 1u);
        EXPECT_EQ(h->http.calls(), 1u);
    }
}

// As long as somebody else can be asked, that comes first, and at once.
TEST_F(RetryTest, AnotherProviderComesFirst) {
    serper_says({busy(503)});
    EXPECT_EQ(trail(served(h->search(h->request("a"))).attempts),
              (std::vector<std::string>{"serper:server_error", "tavily:success"}));
    EXPECT_EQ(h->clock.now(), begun);
}

// So does another key of the same provider, where the key was at fault.
TEST_F(RetryTest, AnotherKeyComesFirst) {
    h->add_key("serper", "serper-key-number-two");
    serper_says({busy(429)});
    const SearchReply reply = h->search(only_serper(*h));
    EXPECT_EQ(served(reply).attempts.size(), 2u);
    EXPECT_NE(served(reply).attempts[0].key_id, served(reply).attempts[1].key_id);
    EXPECT_EQ(h->clock.now(), begun);
    EXPECT_EQ(h->key_counts("serper").cooling, 1u);
}

// With an outage of all, the last one is asked again until the tries are used up, and its circuit
// and its key hear of it once.
TEST_F(RetryTest, ReportsOnceAfterTheLastTry) {
    always([] { return busy(503); });
    const SearchReply reply = h->search(h->request("a"));
    EXPECT_EQ(trail(failed(reply).attempts),
              (std::vector<std::string>{"serper:server_error", "tavily:server_error",
                                        "tavily:server_error", "tavily:server_error",
                                        "tavily:server_error"}));
    EXPECT_EQ(h->clock.now() - begun, 7s);
    EXPECT_FALSE(h->sink.contains("circuit_opened")) << "two failures in a row would open it";

    begin(with_retries(1));
    always([] { return busy(429); });
    h->search(only_serper(*h));
    EXPECT_EQ(h->http.calls(), 2u);
    EXPECT_EQ(h->sink.count(obs::Level::kWarn, "key_penalised"), 1u);
    EXPECT_EQ(h->key_counts("serper").cooling, 1u);
}

// The time that the other side asks for wins, in both directions; beyond the deadline it ends it.
TEST_F(RetryTest, RetryAfterWins) {
    serper_says({busy(503, "3")});
    EXPECT_EQ(waits(served(h->search(only_serper(*h))).attempts),
              (std::vector<Millis>{0ms, 3000ms}));

    for (const int status : {429, 503}) {
        begin(with_retries());
        serper_says({busy(status, "60")});
        EXPECT_EQ(failed(h->search(only_serper(*h))).attempts.size(), 1u);
        EXPECT_EQ(h->clock.now(), begun);
    }
}

// No try starts that the deadline leaves no time for.
TEST_F(RetryTest, TheDeadlineBoundsTheTries) {
    WebConfig config = with_retries(10);
    begin(config);
    always([] { return busy(503); });
    const SearchReply reply = h->search(only_serper(*h));
    EXPECT_LT(h->clock.now() - begun, config.lanes.fast.deadline);
    EXPECT_EQ(failed(reply).attempts.size(), 4u) << "the fourth wait would end after 15 s";
    expect_nothing_is_held();
}

// A stale answer at once is better than a wait.
TEST_F(RetryTest, NotWhereAStaleAnswerIsThere) {
    for (const CacheMode mode : {CacheMode::kUse, CacheMode::kRefresh}) {
        begin(with_retries());
        h->search(only_serper(*h));
        h->clock.advance(400s);
        always([] { return busy(503); });
        SearchRequest request = only_serper(*h);
        request.cache = mode;
        begun = h->clock.now();
        EXPECT_TRUE(served(h->search(std::move(request))).stale);
        EXPECT_EQ(h->clock.now(), begun);
    }
}

// Several at once are each asked once: another one's answer is worth more than a wait.
TEST_F(RetryTest, OnlyFailoverRetries) {
    for (const Strategy strategy : {Strategy::kMerge, Strategy::kHedge}) {
        SCOPED_TRACE(to_string(strategy));
        begin(with_retries());
        always([] { return busy(503); });
        SearchRequest request = h->request("a");
        request.strategy = strategy;
        EXPECT_EQ(failed(h->search(std::move(request))).attempts.size(), 2u);
        EXPECT_EQ(h->clock.now(), begun);
    }
}

// A probe is one call: it decides at once whether the circuit stays open.
TEST_F(RetryTest, AProbeIsNotRepeated) {
    WebConfig config = with_retries(0);
    begin(config);
    always([] { return busy(503); });
    for (std::size_t i = 0; i < failures_to_open(); ++i) {
        h->search(only_serper(*h, "query " + std::to_string(i)));
    }
    ASSERT_EQ(serper_circuit(), guard::CircuitState::kOpen);
    h->web.reconfigure(with_retries(3));
    h->clock.advance(6s);
    const std::size_t calls = h->http.calls();
    h->search(only_serper(*h, "the probe"));
    EXPECT_EQ(h->http.calls(), calls + 1);
    EXPECT_EQ(serper_circuit(), guard::CircuitState::kOpen);
}

// The settings are live: the next search has the new ones.
TEST_F(RetryTest, SettingsAreLive) {
    always([] { return busy(503); });
    WebConfig config = with_retries(1);
    config.retry.base = 250ms;
    h->web.reconfigure(config);
    EXPECT_EQ(waits(failed(h->search(only_serper(*h))).attempts),
              (std::vector<Millis>{0ms, 250ms}));
}

// While it waits a search holds its key and nothing else; one that is left by its last client
// gives that back at once, calls nobody, and reports what the try before had taught.
TEST_F(RetryTest, ClientsThatLeaveDuringTheWait) {
    always([] { return busy(429); });
    const auto client = h->start(only_serper(*h));
    h->run_for(2500ms);
    EXPECT_EQ(h->http.calls(), 2u);
    EXPECT_EQ(h->key_counts("serper").in_flight, 1u);
    EXPECT_EQ(h->metrics.gauge(access::kBudgetReservations).value(), 0);
    h->hang_up(*client);
    h->run();
    expect_nothing_is_held();
    EXPECT_EQ(h->key_counts("serper").cooling, 1u);
    h->run_for(20s);
    EXPECT_EQ(h->http.calls(), 2u);
}

// Others that open the circuit meanwhile are believed.
TEST_F(RetryTest, ACircuitThatOpensMeanwhileEndsTheTries) {
    always([] { return busy(503); });
    const auto client = h->start(only_serper(*h));
    h->run_for(1500ms);
    ASSERT_EQ(h->http.calls(), 2u);
    h->web.reconfigure(with_retries(0));
    for (std::size_t i = 0; i < failures_to_open(); ++i) {
        h->search(only_serper(*h, "query " + std::to_string(i)));
    }
    ASSERT_EQ(serper_circuit(), guard::CircuitState::kOpen);
    const std::size_t calls = h->http.calls();
    h->run_for(20s);
    EXPECT_EQ(h->http.calls(), calls);
    EXPECT_EQ(failed(client->reply.value()).attempts.size(), 2u);
    expect_nothing_is_held();
}

// What an operator decides during the wait holds for the tries that are left: a key that was
// disabled or removed is not used again.
TEST_F(RetryTest, AKeyThatIsTakenAwayIsNotUsedAgain) {
    for (const bool removed : {false, true}) {
        SCOPED_TRACE(removed ? "removed" : "disabled");
        begin(with_retries());
        always([] { return busy(503); });
        const auto client = h->start(only_serper(*h));
        h->run_for(500ms);
        if (removed) {
            const std::string id = h->stored_keys.front().record.id;
            h->stored_keys.erase(h->stored_keys.begin());
            h->apply_keys({id});
        } else {
            h->stored_keys.front().record.state = KeyState::kDisabled;
            h->apply_keys();
        }
        h->run_for(20s);
        EXPECT_EQ(h->http.calls(), 1u);
        EXPECT_EQ(trail(failed(client->reply.value()).attempts),
                  std::vector<std::string>{"serper:server_error"});
        expect_nothing_is_held();
    }
}

// Each try is a call towards the key's quota, and none goes beyond it.
TEST_F(RetryTest, EachTryCountsTowardsTheQuota) {
    h->stored_keys.front().record.quota = KeyQuota{2, KeyQuota::Per::kDay, {}};
    h->apply_keys();
    serper_says({busy(503)});
    const SearchReply reply = h->search(only_serper(*h));
    EXPECT_EQ(served(reply).attempts.size(), 2u);
    EXPECT_EQ(h->key_counts("serper").exhausted, 1u);

    begin(with_retries());
    h->stored_keys.front().record.quota = KeyQuota{2, KeyQuota::Per::kDay, {}};
    h->apply_keys();
    always([] { return busy(503); });
    EXPECT_EQ(failed(h->search(only_serper(*h))).attempts.size(), 2u);
    EXPECT_EQ(h->http.calls(), 2u);
    expect_nothing_is_held();
}

// What is not sent counts for nothing: else an hour without DNS would use up a month of calls.
TEST_F(RetryTest, WhatIsNotSentCountsTowardsNothing) {
    WebConfig config = with_retries();
    config.circuit.failure_threshold = 100;
    config.providers.find("serper")->second.rate = RateLimit{2, 60'000ms};
    begin(config);
    h->stored_keys.front().record.quota = KeyQuota{2, KeyQuota::Per::kDay, {}};
    h->apply_keys();
    const FakeAnswer unreached{
        .error = Error{Code::kUnavailable, Blame::kProvider, "the connection was refused", {}}};
    serper_says({unreached, unreached, unreached, unreached});
    for (const char* query : {"a", "b", "c", "d"}) {
        EXPECT_EQ(trail(failed(h->search(only_serper(*h, query))).attempts),
                  std::vector<std::string>{"serper:connect_error"});
    }
    EXPECT_EQ(waits(served(h->search(only_serper(*h, "e"))).attempts), std::vector<Millis>{0ms});
    EXPECT_EQ(h->key_counts("serper").exhausted, 0u) << "one call was made";
    EXPECT_EQ(waits(served(h->search(only_serper(*h, "f"))).attempts), std::vector<Millis>{0ms});
    EXPECT_EQ(h->key_counts("serper").exhausted, 1u);
    expect_nothing_is_held();
}

// Every try takes a turn under the provider's rate, and waits for it.
TEST_F(RetryTest, EachTryTakesATurn) {
    WebConfig config = with_retries();
    config.providers.find("serper")->second.rate = RateLimit{1, 3'000ms};
    begin(config);
    serper_says({busy(503), busy(503)});
    EXPECT_EQ(waits(served(h->search(only_serper(*h))).attempts),
              (std::vector<Millis>{0ms, 3000ms, 3000ms}));
}

// A failed try costs nothing; the one that answers is paid once, from what is there by then.
TEST_F(RetryTest, EachTryIsPaidByItself) {
    access::BudgetConfig budgets;
    budgets.providers.resize(all_providers().size());
    budgets.providers[*find_provider_index("serper")].calls[index_of(access::Period::kDay)] = 1;
    begin(with_retries(), budgets);
    serper_says({busy(503)});
    const auto first = h->start(only_serper(*h, "waits"));
    h->run();
    // Its reservation does not stand in the way of others, and theirs ends its tries.
    EXPECT_EQ(served(h->search(only_serper(*h, "pays"))).attempts.size(), 1u);
    h->run_for(20s);
    EXPECT_EQ(trail(failed(first->reply.value()).attempts),
              std::vector<std::string>{"serper:server_error"});
    EXPECT_EQ(h->http.calls(), 2u);
    expect_nothing_is_held();
}

}  // namespace
}  // namespace sluice::web
