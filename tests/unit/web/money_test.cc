// What searches cost, through the real web side: whose budget pays, what is given back, and what a
// caller is told when there is nothing left.
#include "access/metrics.h"
#include "access/tokens.h"
#include "base/random.h"
#include "support/web_harness.h"
#include "unit/web/replies.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice::web {
namespace {

using namespace std::chrono_literals;
using access::BudgetConfig;
using access::Period;
using access::Purse;
using access::Spent;
using test::WebHarness;

constexpr std::int64_t kSerperPrice = 1'000;
constexpr std::int64_t kTavilyPrice = 8'000;

access::Limits calls_a_day(std::int64_t calls) {
    access::Limits limits;
    limits.calls[index_of(Period::kDay)] = calls;
    return limits;
}

access::Limits usd_a_day(std::int64_t micro_usd) {
    access::Limits limits;
    limits.micro_usd[index_of(Period::kDay)] = micro_usd;
    return limits;
}

BudgetConfig provider_budget(std::string_view provider, access::Limits limits) {
    BudgetConfig config;
    config.providers.resize(all_providers().size());
    config.providers[*find_provider_index(provider)] = limits;
    return config;
}

BudgetConfig anonymous_budget(access::Limits limits) {
    BudgetConfig config;
    config.anonymous = limits;
    return config;
}

// Good for searches, with a budget of its own.
access::StoredToken stored(const access::TokenText& text, std::int64_t calls_a_day) {
    access::StoredToken token;
    token.record.id = text.id;
    token.record.scopes = {access::Scope::kSearch};
    token.record.budget.calls[index_of(Period::kDay)] = calls_a_day;
    token.digest = text.digest;
    return token;
}

class MoneyTest : public testing::Test {
 protected:
    void with(BudgetConfig budgets) {
        h = std::make_unique<WebHarness>(test::harness_config(), std::move(budgets));
        h->add_key("serper", "serper-key-number-one");
        h->add_key("tavily", "tvly-key-number-one");
    }
    SearchReply search(std::string query) { return h->search(h->request(std::move(query))); }
    Spent spent(std::string_view provider) {
        return h->budgets.provider(*find_provider_index(provider)).spent[index_of(Period::kDay)];
    }
    double open() { return h->metrics.gauge(access::kBudgetReservations).value(); }

    std::unique_ptr<WebHarness> h;
};

// A search costs what its provider's list says, and the trace shows it.
TEST_F(MoneyTest, ASearchIsPaidOnce) {
    with({});
    const SearchReply reply = search("a");
    EXPECT_EQ(served(reply).attempts.at(0).cost, (Cost{1, kSerperPrice}));
    EXPECT_EQ(spent("serper"), (Spent{1, 1, kSerperPrice}));
    EXPECT_EQ(open(), 0);
}

// An answer from the cache costs nothing.
TEST_F(MoneyTest, ACachedAnswerIsFree) {
    with(anonymous_budget(calls_a_day(1)));
    search("a");
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(served(search("a")).cached);
    }
    EXPECT_EQ(spent("serper").calls, 1);
}

// Of many who ask the same at once one pays.
TEST_F(MoneyTest, FollowersRideFree) {
    with(anonymous_budget(calls_a_day(1)));
    std::vector<std::shared_ptr<WebHarness::Client>> clients;
    for (int i = 0; i < 20; ++i) {
        clients.push_back(h->start(h->request("the same")));
    }
    h->run_for(10s);
    for (const auto& client : clients) {
        EXPECT_EQ(trail(served(client->reply.value()).attempts),
                  std::vector<std::string>{"serper:success"});
    }
    EXPECT_EQ(spent("serper").calls, 1);
}

// Whoever starts a search pays for all who ask the same; when it can't, the others pay themselves,
// once.
TEST_F(MoneyTest, AFollowerIsNotRefusedForTheStartersBudget) {
    WebConfig config = test::harness_config();
    config.lanes.fast.concurrency = 1;
    h = std::make_unique<WebHarness>(config);
    h->add_key("serper", "serper-key-number-one");
    h->http.set_responder([](const io::ClientRequest& request) {
        test::FakeAnswer answer = test::ok_answer(request);
        answer.delay = 1s;
        return answer;
    });
    SeededRandom random(1);
    const access::TokenText poor = access::make_token_text(random);
    const access::TokenText rich = access::make_token_text(random);
    h->tokens.reload({stored(poor, 1), stored(rich, 100)});
    const auto blocker = h->start(h->request("before"), poor.token.reveal());
    const auto starter = h->start(h->request("the same"), poor.token.reveal());
    const auto other = h->start(h->request("the same"), poor.token.reveal());
    const auto follower = h->start(h->request("the same"), rich.token.reveal());
    const auto second = h->start(h->request("the same"), rich.token.reveal());
    h->run_for(5s);
    served(*blocker->reply);
    for (const auto& client : {starter, other}) {
        EXPECT_EQ(failed(*client->reply).error.code, Code::kBudgetExhausted);
        EXPECT_EQ(failed(*client->reply).error.blame, Blame::kTenant);
    }
    served(*follower->reply);
    served(*second->reply);
    EXPECT_EQ(h->http.calls(), 2U) << "of the same payer one is enough";
    EXPECT_TRUE(served(h->search(h->request("the same"))).cached);
}

// However many ask at once, no more calls are made than there is money for.
TEST_F(MoneyTest, FiveHundredInParallelAgainstTen) {
    BudgetConfig budgets = anonymous_budget(usd_a_day(10 * kSerperPrice));
    with(budgets);
    h->http.set_responder([](const io::ClientRequest& request) {
        test::FakeAnswer answer = test::ok_answer(request);
        answer.delay = 300ms;
        return answer;
    });
    std::vector<std::shared_ptr<WebHarness::Client>> clients;
    for (int i = 0; i < 500; ++i) {
        SearchRequest request = h->request("query " + std::to_string(i));
        request.lane = i % 2 == 0 ? Lane::kFast : Lane::kDeep;
        request.providers = {"serper"};
        clients.push_back(h->start(std::move(request)));
    }
    h->run_for(60s);
    int answered = 0;
    int refused = 0;
    for (const auto& client : clients) {
        ASSERT_TRUE(client->reply);
        if (std::holds_alternative<Served>(*client->reply)) {
            answered += 1;
        } else if (failed(*client->reply).error.code == Code::kBudgetExhausted) {
            refused += 1;
        }
    }
    EXPECT_EQ(h->http.calls(), 10U);
    EXPECT_EQ(answered, 10);
    EXPECT_EQ(refused, 490);
    EXPECT_EQ(spent("serper"), (Spent{10, 10, 10 * kSerperPrice}));
    EXPECT_EQ(open(), 0);
}

// A provider that is out of budget is passed over, the key is as good as before, and the next
// provider answers.
TEST_F(MoneyTest, TheNextProviderIsAsked) {
    with(provider_budget("serper", calls_a_day(1)));
    search("a");
    const SearchReply reply = search("b");
    EXPECT_EQ(trail(served(reply).attempts),
              (std::vector<std::string>{"serper:skipped_budget", "tavily:success"}));
    const Attempt& skipped = served(reply).attempts.at(0);
    EXPECT_EQ(skipped.detail,
              "budgets.providers.serper.calls_day has no room for this call until "
              "2026-01-02T00:00:00Z");
    EXPECT_EQ(skipped.blame, Blame::kGateway);
    EXPECT_FALSE(skipped.cost);
    EXPECT_EQ(served(reply).attempts.at(1).cost, (Cost{1, kTavilyPrice}));
    EXPECT_EQ(h->key_counts("serper").available, 1U);
    EXPECT_EQ(h->key_counts("serper").in_flight, 0U);
}

// A caller whose budget is gone is told so, and when it is back; a cheaper provider that still fits
// is asked before that.
TEST_F(MoneyTest, ACallersBudgetIsItsOwnAffair) {
    with(anonymous_budget(usd_a_day(kTavilyPrice + kSerperPrice)));
    SearchRequest dear = h->request("a");
    dear.providers = {"tavily"};
    served(h->search(std::move(dear)));
    SearchRequest next = h->request("b");
    next.providers = {"tavily", "serper"};
    EXPECT_EQ(trail(served(h->search(std::move(next))).attempts),
              (std::vector<std::string>{"tavily:skipped_budget", "serper:success"}));

    h->clock.advance(1h);
    const SearchReply reply = search("c");
    const Error& error = failed(reply).error;
    EXPECT_EQ(error.code, Code::kBudgetExhausted);
    EXPECT_EQ(error.blame, Blame::kTenant);
    EXPECT_EQ(error.retry_after, std::chrono::duration_cast<Millis>(23h));
    EXPECT_NE(error.message.find("budgets.anonymous.usd_day has no room for this call until "
                                 "2026-01-02T00:00:00Z"),
              std::string::npos)
        << error.message;
    h->clock.advance(23h);
    served(search("d"));
}

// When every provider of the route is out of budget it is the gateway's operator who has to act.
TEST_F(MoneyTest, EveryProviderOutOfBudget) {
    BudgetConfig budgets = provider_budget("serper", calls_a_day(1));
    budgets.providers[*find_provider_index("tavily")].calls[index_of(Period::kTotal)] = 1;
    with(budgets);
    search("a");
    search("b");
    const SearchReply reply = search("c");
    EXPECT_EQ(failed(reply).error.code, Code::kBudgetExhausted);
    EXPECT_EQ(failed(reply).error.blame, Blame::kGateway);
    EXPECT_EQ(failed(reply).error.retry_after, std::chrono::duration_cast<Millis>(24h));
}

// A total does not come back by itself, so nobody is told when to try again.
TEST_F(MoneyTest, ATotalHasNoReset) {
    BudgetConfig budgets;
    budgets.gateway.calls[index_of(Period::kTotal)] = 1;
    with(budgets);
    search("a");
    const SearchReply reply = search("b");
    EXPECT_EQ(failed(reply).error.code, Code::kBudgetExhausted);
    EXPECT_FALSE(failed(reply).error.retry_after);
}

// An old answer is better than none when the money is gone.
TEST_F(MoneyTest, AStaleAnswerIsServed) {
    with(anonymous_budget(calls_a_day(1)));
    search("a");
    h->clock.advance(400s);
    const SearchReply reply = search("a");
    EXPECT_TRUE(served(reply).stale);
    EXPECT_EQ(trail(served(reply).attempts),
              (std::vector<std::string>{"serper:skipped_budget", "tavily:skipped_budget"}));
}

// A call that a provider refuses or fails costs nothing; the money is there for the next one.
TEST_F(MoneyTest, AFailedCallIsGivenBack) {
    with(anonymous_budget(calls_a_day(1)));
    h->http.set_responder([](const io::ClientRequest& request) {
        return is_serper(request) ? test::status_answer(500) : test::ok_answer(request);
    });
    const SearchReply reply = search("a");
    EXPECT_EQ(trail(served(reply).attempts),
              (std::vector<std::string>{"serper:server_error", "tavily:success"}));
    EXPECT_FALSE(served(reply).attempts.at(0).cost);
    EXPECT_EQ(spent("serper"), Spent());
    EXPECT_EQ(spent("tavily").calls, 1);
}

// A time-out, an answer that can't be read and a client that left are paid: the vendor has served
// them, or may have.
TEST_F(MoneyTest, WhatMayHaveBeenServedIsPaid) {
    with({});
    h->http.set_responder([](const io::ClientRequest&) {
        test::FakeAnswer stalled;
        stalled.stall = true;
        return stalled;
    });
    search("a");
    EXPECT_EQ(spent("serper").calls, 1);
    EXPECT_EQ(spent("tavily").calls, 1);

    with({});
    h->http.set_responder(
        [](const io::ClientRequest&) { return test::status_answer(200, "{\"organic\": ["); });
    search("a");
    EXPECT_EQ(spent("serper").calls, 1);

    with({});
    h->http.set_responder([](const io::ClientRequest& request) {
        test::FakeAnswer slow = test::ok_answer(request);
        slow.delay = 2s;
        return slow;
    });
    const auto client = h->start(h->request("a"));
    h->run_for(100ms);
    h->hang_up(*client);
    h->run_for(10s);
    EXPECT_EQ(spent("serper").calls, 1);
    EXPECT_EQ(open(), 0);
}

// What a call comes to that got no answer to read: it is free only where nothing can have arrived,
// or where something in front of the provider refused it.
TEST_F(MoneyTest, AnAnswerThatIsLostOnTheWayIsPaid) {
    struct Case {
        std::optional<Error> error;
        int status;
        std::string_view outcome;
        std::int64_t calls;
    };
    const Error broken{Code::kUpstreamFailed, Blame::kProvider, "the answer was cut off", {}};
    const Error large{Code::kPayloadTooLarge, Blame::kProvider, "too large", {}};
    const Error refused{Code::kUnavailable, Blame::kProvider, "refused", {}};
    for (const Case& c : {Case{broken, 0, "unparseable", 1}, Case{large, 0, "unparseable", 1},
                          Case{refused, 0, "connect_error", 0}, Case{{}, 200, "blocked", 1},
                          Case{{}, 403, "blocked", 0}}) {
        SCOPED_TRACE(std::string(c.outcome) + std::to_string(c.status));
        with({});
        h->http.set_responder([&c](const io::ClientRequest& request) {
            test::FakeAnswer answer = test::ok_answer(request);
            if (is_serper(request)) {
                answer = test::status_answer(c.status, "<html>");
                answer.error = c.error;
            }
            return answer;
        });
        const SearchReply reply = search("a");
        EXPECT_EQ(trail(served(reply).attempts).front(), "serper:" + std::string(c.outcome));
        EXPECT_EQ(spent("serper").calls, c.calls);
    }
}

// Who leaves while the call is being written down has not spent anything yet: nothing is sent, and
// the money, the key and the turn are given back.
TEST_F(MoneyTest, WhoLeavesBeforeTheCallIsSentPaysNothing) {
    with({});
    h->spend_store.write_time = 200ms;
    const auto client = h->start(h->request("a"));
    h->run_for(100ms);
    EXPECT_EQ(open(), 1);
    h->hang_up(*client);
    h->run_for(10s);
    EXPECT_EQ(h->http.calls(), 0U);
    EXPECT_EQ(spent("serper"), Spent());
    EXPECT_EQ(open(), 0);
    EXPECT_EQ(h->key_counts("serper").in_flight, 0U);
    h->run_for(120s);
    EXPECT_EQ(h->spend_store.total(Purse::kProvider, "serper"), Spent());
}

// What the provider says it charged goes before the list.
TEST_F(MoneyTest, TheProvidersWordCounts) {
    with({});
    h->http.set_responder([](const io::ClientRequest&) {
        test::FakeAnswer answer;
        answer.body = test::serper_body(3);
        answer.body.back() = ',';
        answer.body += "\"credits\":2}";
        return answer;
    });
    EXPECT_EQ(served(search("a")).attempts.at(0).cost, (Cost{2, 2 * kSerperPrice}));
    EXPECT_EQ(spent("serper"), (Spent{1, 2, 2 * kSerperPrice}));
}

// Asking several at once is paid to each of them.
TEST_F(MoneyTest, AMergeIsPaidToEach) {
    with({});
    SearchRequest request = h->request("a");
    request.strategy = Strategy::kMerge;
    served(h->search(std::move(request)));
    EXPECT_EQ(spent("serper").calls, 1);
    EXPECT_EQ(spent("tavily").calls, 1);
}

// The dry run says that a provider would be passed over, at the price of the plan.
TEST_F(MoneyTest, AnExplanationKnowsBudgets) {
    with(provider_budget("serper", usd_a_day(kSerperPrice)));
    search("a");
    SearchRequest request = h->request("b");
    request.explain = true;
    const Explanation explanation = h->explain(std::move(request));
    EXPECT_EQ(explanation.route.at(0).outcome, Outcome::kSkippedBudget);
    EXPECT_EQ(explanation.route.at(0).price, (Cost{1, kSerperPrice}));
    EXPECT_FALSE(explanation.route.at(1).outcome);
    EXPECT_EQ(spent("tavily").calls, 0);
}

// A key that is out of budget makes room for the next one of the same provider.
TEST_F(MoneyTest, AKeyHasABudgetToo) {
    BudgetConfig budgets;
    budgets.key_default = calls_a_day(1);
    with(budgets);
    h->add_key("serper", "serper-key-number-two");
    for (const char* query : {"a", "b"}) {
        EXPECT_EQ(served(search(query)).answer->provider(), "serper");
    }
    const SearchReply reply = search("c");
    EXPECT_EQ(trail(served(reply).attempts),
              (std::vector<std::string>{"serper:skipped_budget", "serper:skipped_budget",
                                        "tavily:success"}));
}

// While spending can't be written down nothing that has a budget is called; the caller hears that
// the gateway is at fault.
TEST_F(MoneyTest, ALostStoreStopsOnlyWhatHasABudget) {
    with(anonymous_budget(calls_a_day(100)));
    h->spend_store.away = true;
    const SearchReply reply = search("a");
    EXPECT_EQ(failed(reply).error.code, Code::kUnavailable);
    EXPECT_EQ(failed(reply).error.blame, Blame::kGateway);
    EXPECT_EQ(h->http.calls(), 0U);

    with({});
    h->spend_store.away = true;
    served(search("a"));
    EXPECT_EQ(h->metrics.gauge(access::kBudgetStoreLost).value(), 1);
}

// An empty answer beside a provider without budget may be missing something: it is not kept.
TEST_F(MoneyTest, AnEmptyAnswerBesideASkippedOneIsDegraded) {
    with(provider_budget("serper", usd_a_day(1)));
    h->http.set_responder(
        [](const io::ClientRequest& request) { return test::ok_answer(request, 0); });
    EXPECT_TRUE(served(search("a")).degraded);
}

}  // namespace
}  // namespace sluice::web
