// Waiting before a call: for a turn under the provider's rate, and for a key that rests. Only where
// the deadline allows it, and shown.
#include "access/metrics.h"
#include "replies.h"
#include "support/run_task.h"
#include "support/web_harness.h"
#include "web/metrics.h"
#include "web/provider_rate.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::web {
namespace {

using namespace std::chrono_literals;
using test::FakeAnswer;
using test::WebHarness;

WebConfig config_with(std::string_view toml) {
    ConfigLayers layers;
    layers.add_file("test.toml", toml);
    ConfigReader reader(layers);
    return WebConfig::read(reader);
}

const char* const kOneEveryThreeSeconds = R"(
[routing]
fast = ["serper", "tavily"]
[providers.serper.rate]
tokens = 1
interval_s = 3
)";

SearchRequest ask_serper(const WebHarness& h, std::string query) {
    SearchRequest request = h.request(std::move(query));
    request.providers = {"serper"};
    return request;
}

class RatesTest : public testing::Test {
 protected:
    void SetUp() override {
        h.add_key("serper", "serper-key-number-one");
        h.add_key("tavily", "tvly-key-number-one");
    }
    WebHarness h{config_with(kOneEveryThreeSeconds)};
};

// Whoever finds the bucket empty waits for the turn, and the trace says how long.
TEST_F(RatesTest, WaitsForTheTurn) {
    h.search(ask_serper(h, "first"));
    h.clock.advance(1s);
    const Instant begun = h.clock.now();
    const SearchReply reply = h.search(ask_serper(h, "second"));
    EXPECT_EQ(h.clock.now() - begun, 2s);
    EXPECT_EQ(served(reply).attempts.at(0).outcome, Outcome::kSuccess);
    EXPECT_EQ(served(reply).attempts.at(0).waited, 2000ms);
    EXPECT_EQ(served(reply).attempts.at(0).latency, 0ms);
    EXPECT_EQ(h.metrics.counter(kRateWaits, {"serper"}).value(), 1.0);
}

// Without a turn in this provider's share of the time the next provider is asked; no key is taken
// and nothing is held against anybody.
TEST_F(RatesTest, NoTurnInTimeAsksTheNext) {
    h.search(ask_serper(h, "first"));
    auto waits = h.start(ask_serper(h, "second"));  // has the turn in three seconds
    h.run();
    const SearchReply reply = h.search(h.request("third"));  // would have it in six
    const std::vector<Attempt>& attempts = served(reply).attempts;
    EXPECT_EQ(trail(attempts), (std::vector<std::string>{"serper:rate_limited", "tavily:success"}));
    EXPECT_EQ(attempts[0].blame, Blame::kGateway);
    EXPECT_EQ(attempts[0].status, 0);
    EXPECT_TRUE(attempts[0].key_id.empty());
    EXPECT_EQ(attempts[0].detail,
              "its rate of calls, providers.serper.rate, leaves no turn before "
              "2026-01-01T00:00:06.000Z");
    EXPECT_EQ(h.key_counts("serper").available, 1u);
    EXPECT_EQ(h.metrics.counter(kRateRefusals, {"serper"}).value(), 1.0);
    h.run_for(4s);
    EXPECT_TRUE(waits->reply);
}

// When nobody else is left the caller is told that we are the bound, and when there is room again.
TEST_F(RatesTest, NoTurnAtAllIsOurOwnBound) {
    std::vector<std::shared_ptr<WebHarness::Client>> clients;
    for (int i = 0; i < 4; ++i) {
        clients.push_back(h.start(ask_serper(h, "query " + std::to_string(i))));
    }
    h.run();
    const SearchReply reply = h.search(ask_serper(h, "one too many"));
    EXPECT_EQ(failed(reply).error.code, Code::kOverloaded);
    EXPECT_EQ(failed(reply).error.blame, Blame::kGateway);
    EXPECT_EQ(failed(reply).error.retry_after, Millis(12'000));
    EXPECT_EQ(h.http.calls(), 1u);
    h.run_for(10s);
    EXPECT_EQ(h.http.calls(), 4u) << "three, six and nine seconds are within the deadline";
    EXPECT_EQ(h.http.started_late(), 0u);
}

// When there is room again is told by those that have a rate, not by those that could not be asked.
TEST_F(RatesTest, RoomIsThereWithTheFirstTurn) {
    h.rest_key("tavily", KeyStatus::kQuarantined, 900s);
    std::vector<std::shared_ptr<WebHarness::Client>> clients;
    for (int i = 0; i < 4; ++i) {
        clients.push_back(h.start(ask_serper(h, "query " + std::to_string(i))));
    }
    h.run();
    const SearchReply reply = h.search(h.request("one too many"));
    EXPECT_EQ(failed(reply).error.code, Code::kOverloaded);
    EXPECT_EQ(failed(reply).error.retry_after, Millis(12'000));
}

// A client that leaves while it waits gives its turn back.
TEST_F(RatesTest, LeavingGivesTheTurnBack) {
    h.search(ask_serper(h, "first"));
    auto leaves = h.start(ask_serper(h, "second"));
    h.run();
    h.hang_up(*leaves);
    h.run();
    const SearchReply reply = h.search(ask_serper(h, "third"));
    EXPECT_EQ(served(reply).attempts.at(0).waited, 3000ms);
}

// A call that never left, since it could not even be sent, gives its turn back, and says nothing
// against the provider or the key.
TEST_F(RatesTest, CallThatNeverLeftGivesTheTurnBack) {
    h.http.set_responder([](const io::ClientRequest& request) {
        FakeAnswer answer = test::ok_answer(request);
        if (is_serper(request)) {
            answer.error = Error{Code::kInvalidRequest, Blame::kGateway, "not a URL", {}};
        }
        return answer;
    });
    for (int i = 0; i < 5; ++i) {
        const SearchReply reply = h.search(h.request("query " + std::to_string(i)));
        EXPECT_EQ(served(reply).attempts.at(0).blame, Blame::kGateway);
        EXPECT_EQ(served(reply).attempts.at(0).waited, 0ms);
    }
    EXPECT_EQ(h.key_counts("serper").available, 1u);
    for (const auto& provider : h.overview().providers) {
        EXPECT_EQ(provider.circuit.state, guard::CircuitState::kClosed);
    }
}

// Waiting is for calls that could be made: not for a provider whose keys are all refused.
TEST_F(RatesTest, NobodyWaitsForAProviderWithoutAKey) {
    h.search(ask_serper(h, "first"));
    h.rest_key("serper", KeyStatus::kQuarantined, 900s);
    const Instant begun = h.clock.now();
    const SearchReply reply = h.search(h.request("second"));
    EXPECT_EQ(trail(served(reply).attempts),
              (std::vector<std::string>{"serper:skipped_no_key", "tavily:success"}));
    EXPECT_EQ(h.clock.now(), begun);
}

// A circuit that opens while a call waits for its turn keeps that call away too.
TEST_F(RatesTest, CircuitIsAskedAgainAfterTheWait) {
    WebConfig config = config_with(R"(
[routing]
fast = ["serper", "tavily"]
[providers.serper.rate]
tokens = 3
interval_s = 6
)");
    WebHarness three(config);
    three.add_key("serper", "serper-key-number-one");
    three.add_key("tavily", "tvly-key-number-one");
    three.http.set_responder([](const io::ClientRequest& request) {
        FakeAnswer answer =
            is_serper(request) ? test::status_answer(500) : test::ok_answer(request);
        answer.delay = 1s;
        return answer;
    });
    std::vector<std::shared_ptr<WebHarness::Client>> clients;
    for (int i = 0; i < 4; ++i) {
        clients.push_back(three.start(three.request("query " + std::to_string(i))));
    }
    three.run_for(5s);
    ASSERT_TRUE(clients[3]->reply);
    EXPECT_EQ(trail(served(*clients[3]->reply).attempts),
              (std::vector<std::string>{"serper:skipped_circuit", "tavily:success"}));
}

// The last provider of a route waits for the first of its keys, if that is back soon enough.
TEST_F(RatesTest, LastProviderWaitsForItsKey) {
    h.rest_key("tavily", KeyStatus::kCooling, 4s);
    SearchRequest request = h.request("a");
    request.providers = {"tavily"};
    const SearchReply reply = h.search(request);
    EXPECT_EQ(served(reply).attempts.at(0).waited, 4000ms);
    EXPECT_EQ(h.metrics.counter(kKeyWaits, {"tavily"}).value(), 1.0);
}

class LateTurnsTest : public testing::Test {
 protected:
    static constexpr Duration kPerCall = 100ms;

    LateTurnsTest() : h(config(), budgets()) {
        h.add_key("serper", "serper-key-number-one");
        h.http.set_responder([this](const io::ClientRequest& request) {
            started.push_back(h.clock.now());
            return test::ok_answer(request);
        });
    }
    void TearDown() override {
        h.spend_store.write_time = Duration::zero();
        h.run_for(1s);
    }
    static WebConfig config() {
        WebConfig config = test::harness_config();
        config.providers.find("serper")->second.rate = RateLimit{1, Millis(100)};
        return config;
    }
    static access::BudgetConfig budgets() {
        access::BudgetConfig budgets;
        budgets.gateway.calls[index_of(access::Period::kDay)] = 1'000'000;
        return budgets;
    }
    void start(int searches) {
        for (int i = 0; i < searches; ++i) {
            clients.push_back(h.start(ask_serper(h, "query " + std::to_string(i))));
        }
    }
    void expect_one_by_one() {
        for (std::size_t i = 1; i < started.size(); ++i) {
            EXPECT_GE(started[i] - started[i - 1], kPerCall) << "call " << i;
        }
    }

    std::vector<std::shared_ptr<WebHarness::Client>> clients;
    std::vector<Instant> started;
    WebHarness h;
};

// Calls that waited for the disk when their turns came don't go out together after it.
TEST_F(LateTurnsTest, ASlowDiskDoesNotBunchCalls) {
    h.spend_store.write_time = 240ms;
    const Instant begun = h.clock.now();
    start(4);
    h.run_for(5s);
    ASSERT_EQ(started.size(), 4u);
    EXPECT_EQ(started.front() - begun, 240ms);
    expect_one_by_one();
    EXPECT_EQ(started.back() - begun, 540ms);
    EXPECT_GT(served(clients[1]->reply.value()).attempts.at(0).waited, 100ms)
        << "for its turn a second time";
}

// Nor do those that waited for a key.
TEST_F(LateTurnsTest, AKeyThatComesBackDoesNotBunchCalls) {
    h.rest_key("serper", KeyStatus::kCooling, 2s);
    const Instant begun = h.clock.now();
    start(4);
    h.run_for(5s);
    ASSERT_EQ(started.size(), 4u);
    EXPECT_EQ(started.front() - begun, 2s);
    expect_one_by_one();
    EXPECT_EQ(started.back() - begun, 2300ms);
}

// A client that leaves while its call waits for the disk, and whose turn is put off by then, costs
// its key no call.
TEST_F(LateTurnsTest, LeavingBeforeALateTurnIsFree) {
    h.stored_keys.front().record.quota = KeyQuota{100, KeyQuota::Per::kDay, {}};
    h.apply_keys();
    h.spend_store.write_time = 240ms;
    start(2);
    h.run_for(245ms);
    h.hang_up(*clients[1]);
    h.run_for(5s);
    EXPECT_EQ(started.size(), 1u);
    const auto reports = test::run_task(h.io, h.clock, h.keys.report());
    EXPECT_EQ(reports.at(0).health.used, 1);
    EXPECT_EQ(h.key_counts("serper").in_flight, 0u);
}

// What happens while a turn that was put off is waited for counts: nobody is called for a client
// that left, nor with a key that was taken away; and everything is given back.
TEST_F(LateTurnsTest, MuchMayChangeUntilTheTurnComes) {
    h.spend_store.write_time = 240ms;
    start(4);
    h.run_for(300ms);
    ASSERT_EQ(started.size(), 1u);
    h.hang_up(*clients[1]);
    h.run_for(60ms);
    EXPECT_EQ(started.size(), 2u);
    h.stored_keys.front().record.state = KeyState::kDisabled;
    h.apply_keys();
    h.run_for(5s);
    EXPECT_EQ(started.size(), 2u);
    EXPECT_EQ(trail(failed(clients[2]->reply.value()).attempts),
              std::vector<std::string>{"serper:skipped_no_key"});
    EXPECT_EQ(h.key_counts("serper").in_flight, 0u);
    EXPECT_EQ(h.metrics.gauge(access::kBudgetReservations).value(), 0);
    expect_one_by_one();
}

// Where another provider could be asked it is, at once.
TEST_F(RatesTest, OthersAreAskedBeforeAnybodyWaits) {
    h.rest_key("serper", KeyStatus::kCooling, 4s);
    const Instant begun = h.clock.now();
    EXPECT_EQ(served(h.search(h.request("a"))).answer->provider(), "tavily");
    EXPECT_EQ(h.clock.now(), begun);
}

// Where nobody else could be, the first of the route waits for its key.
TEST_F(RatesTest, WaitingBeatsGivingUp) {
    h.rest_key("serper", KeyStatus::kCooling, 4s);
    h.rest_key("tavily", KeyStatus::kCooling, 30s);
    EXPECT_EQ(served(h.search(h.request("a"))).attempts.at(0).waited, 4000ms);
}

// A key that is away for longer than the search has is not waited for.
TEST_F(RatesTest, NobodyWaitsForLongerThanTheDeadline) {
    h.rest_key("serper", KeyStatus::kCooling, 20s);
    h.rest_key("tavily", KeyStatus::kCooling, 30s);
    const Instant begun = h.clock.now();
    const SearchReply reply = h.search(h.request("a"));
    EXPECT_EQ(failed(reply).error.code, Code::kNoUsableKey);
    EXPECT_EQ(failed(reply).error.retry_after, Millis(20'000));
    EXPECT_EQ(h.clock.now(), begun);
}

// A reload changes the rate at once.
TEST_F(RatesTest, ReloadChangesTheRate) {
    h.search(ask_serper(h, "first"));
    h.web.reconfigure(test::harness_config());
    EXPECT_EQ(served(h.search(ask_serper(h, "second"))).attempts.at(0).waited, 0ms);
}

// The vendor's documented limit holds at the vendor's address and nowhere else, unless it is set.
TEST(RateSettingsTest, VendorsLimitIsTheDefaultAtItsAddress) {
    EXPECT_EQ(config_with("").provider("serper").rate, (RateLimit{50, 1000ms}));
    EXPECT_EQ(config_with("[providers.serper]\nbase_url = \"http://127.0.0.1:9\"")
                  .provider("serper")
                  .rate.tokens,
              0);
    EXPECT_EQ(config_with("[providers.serper]\nbase_url = \"http://127.0.0.1:9\"\n"
                          "[providers.serper.rate]\ntokens = 7\ninterval_s = \"2s\"")
                  .provider("serper")
                  .rate,
              (RateLimit{7, 2000ms}));
}

// Calls that wait for their turns are kept back by a rest that the provider needs meanwhile.
TEST(RestsTest, RestsAreAskedAboutAfterTheWait) {
    WebConfig config = test::harness_config();
    config.providers.find("tavily")->second.rate = RateLimit{2, 4000ms};
    WebHarness h{config};
    for (int i = 0; i < 5; ++i) {
        h.add_key("tavily", "tvly-key-number-" + std::to_string(i));
    }
    h.http.set_responder([](const io::ClientRequest&) {
        test::FakeAnswer answer = test::status_answer(429, R"({"detail":{"error":"slow down"}})");
        answer.delay = 1s;
        return answer;
    });
    std::vector<std::shared_ptr<WebHarness::Client>> clients;
    for (int i = 0; i < 3; ++i) {
        SearchRequest request = h.request("query " + std::to_string(i));
        request.providers = {"tavily"};
        clients.push_back(h.start(std::move(request)));
    }
    h.run_for(9s);
    ASSERT_TRUE(clients[2]->reply);
    EXPECT_EQ(trail(failed(*clients[2]->reply).attempts),
              std::vector<std::string>{"tavily:skipped_circuit"});
    EXPECT_EQ(h.http.calls(), 2u);
    EXPECT_EQ(h.key_counts("tavily").in_flight, 0u);
}

// Through the whole search: the second refused key is not burnt but the provider is left alone for
// as long as it asked, and then asked again with that key.
TEST(RestsTest, ProviderRestsInsteadOfItsKeys) {
    WebHarness h;
    for (int i = 0; i < 5; ++i) {
        h.add_key("tavily", "tvly-key-number-" + std::to_string(i));
    }
    h.http.set_responder([](const io::ClientRequest&) {
        test::FakeAnswer answer = test::status_answer(429, R"({"detail":{"error":"slow down"}})");
        answer.headers.emplace_back("retry-after", "60");
        return answer;
    });
    SearchRequest request = h.request("first");
    request.providers = {"tavily"};
    const SearchReply first = h.search(request);
    EXPECT_EQ(trail(failed(first).attempts),
              (std::vector<std::string>{"tavily:rate_limited", "tavily:rate_limited"}));
    EXPECT_EQ(failed(first).attempts[0].blame, Blame::kKey);
    EXPECT_EQ(failed(first).attempts[1].blame, Blame::kProvider);
    EXPECT_EQ(h.key_counts("tavily").available, 4u);
    EXPECT_EQ(h.metrics.counter(kProviderRests, {"tavily"}).value(), 1.0);
    EXPECT_TRUE(h.sink.contains("provider_rested"));

    request.query = QueryText("second");
    const SearchReply second = h.search(request);
    EXPECT_EQ(trail(failed(second).attempts), std::vector<std::string>{"tavily:skipped_circuit"});
    EXPECT_EQ(failed(second).attempts[0].detail,
              "it refuses every key; left alone until 2026-01-01T00:01:00.000Z");
    EXPECT_EQ(failed(second).error.retry_after, Millis(60'000));
    h.clock.advance(60s);
    h.http.set_responder([](const io::ClientRequest& r) { return test::ok_answer(r); });
    EXPECT_EQ(served(h.search(request)).answer->provider(), "tavily");
    for (const auto& provider : h.overview().providers) {
        EXPECT_EQ(provider.circuit.state, guard::CircuitState::kClosed);
    }
}

// A turn that was used stays used; one that was not is there for the next.
TEST(ProviderRateTest, UnusedTurnsComeBack) {
    const Instant now{1000s};
    const RateLimit limit{1, 1000ms};
    ProviderRate rate;
    {
        auto unused = rate.take(limit, now, now);
    }
    {
        auto used = rate.take(limit, now, now);
        ASSERT_TRUE(used && used->start(now));
    }
    EXPECT_FALSE(rate.take(limit, now, now));
    EXPECT_EQ(rate.next_turn(limit, now), now + 1s);
}

// What was taken stays taken when the rate is changed, and while searches under both go on.
TEST(ProviderRateTest, AChangedRateGivesNothingBack) {
    Instant now{1000s};
    const RateLimit old_limit{3, 3'000ms};
    const RateLimit new_limit{5, 5'000ms};
    ProviderRate rate;
    int started = 0;
    for (int i = 0; i < 20; ++i) {
        auto turn = rate.take(i % 2 == 0 ? old_limit : new_limit, now, now);
        started += turn && turn->start(now) ? 1 : 0;
    }
    EXPECT_EQ(started, 5) << "as many as the larger bucket holds";
    EXPECT_EQ(rate.next_turn(old_limit, now), now + 1s);
    now += 1s;
    auto next = rate.take(old_limit, now, now);
    ASSERT_TRUE(next && next->start(now));
    EXPECT_FALSE(rate.take(new_limit, now, now));
    EXPECT_EQ(rate.next_turn(RateLimit{2, 60'000ms}, now), now + 30s) << "it begins empty";
}

// A rate that was set back hours later holds nobody up for what another one let through.
TEST(ProviderRateTest, ARateThatIsSetBackWaitsForNoMoreThanAnEmptyBucket) {
    Instant now{1000s};
    const RateLimit slow{1, 60'000ms};
    const RateLimit quick{100, 1'000ms};
    ProviderRate rate;
    ASSERT_TRUE(rate.take(slow, now, now)->start(now));
    for (int i = 0; i < 1'000; ++i) {
        now += 10ms;
        ASSERT_TRUE(rate.take(quick, now, now)->start(now));
    }
    EXPECT_EQ(rate.next_turn(slow, now), now + 60s);
}

// A turn of a limit that is no longer in force is not given back to the present one.
TEST(ProviderRateTest, OldTurnsDoNotFillANewBucket) {
    const Instant now{1000s};
    ProviderRate rate;
    auto old = rate.take(RateLimit{1, 1000ms}, now, now);
    auto first = rate.take(RateLimit{2, 1000ms}, now, now);
    auto second = rate.take(RateLimit{2, 1000ms}, now, now);
    ASSERT_TRUE(old && first && second);
    old->give_back();
    EXPECT_FALSE(rate.take(RateLimit{2, 1000ms}, now, now));
}

}  // namespace
}  // namespace sluice::web
