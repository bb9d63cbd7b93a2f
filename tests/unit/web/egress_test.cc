// What calls to providers go out through: chosen for each call, shown in the trace, and a proxy
// that fails is neither a key's nor a provider's fault.
#include "replies.h"
#include "support/web_harness.h"
#include "web/route.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::web {
namespace {

using namespace std::chrono_literals;
using test::FakeAnswer;
using test::WebHarness;
using testing::ElementsAre;

std::string url_of(std::string_view endpoint) {
    return "http://" + std::string(endpoint) + ":8080";
}

WebConfig with_endpoints(io::EgressPolicy policy, std::initializer_list<std::string_view> names) {
    WebConfig config = test::harness_config();
    config.egress.policy = policy;
    for (const std::string_view name : names) {
        io::EgressEndpointConfig endpoint;
        endpoint.url = Secret(url_of(name));
        endpoint.address = url_of(name);
        config.egress.endpoints.emplace(name, std::move(endpoint));
    }
    return config;
}

FakeAnswer proxy_fault() {
    FakeAnswer answer;
    answer.error =
        Error{Code::kUnavailable, Blame::kGateway, "through the proxy: refused", std::nullopt};
    return answer;
}

// What a proxy that can't reach the provider ends with, and one before a provider that is gone.
FakeAnswer unreached() {
    FakeAnswer answer;
    answer.error = Error{Code::kUnavailable, Blame::kProvider, "the proxy answered 502 to CONNECT",
                         std::nullopt};
    return answer;
}

class EgressCallsTest : public testing::Test {
 protected:
    void begin(WebConfig config) {
        h = std::make_unique<WebHarness>(std::move(config));
        h->add_key("serper", "serper-key-number-one");
        h->add_key("tavily", "tvly-key-number-one");
        h->http.set_responder([this](const io::ClientRequest& request) {
            proxies.emplace_back(request.proxy.reveal());
            if (cut_off.contains(proxies.back())) {
                return unreached();
            }
            return dead.contains(proxies.back()) ? proxy_fault() : test::ok_answer(request);
        });
    }
    // "a", "b": what the attempts of a search went out through.
    std::vector<std::string> ways(SearchRequest request) {
        reply = h->search(std::move(request));
        const auto* ended = std::get_if<Served>(&*reply);
        std::vector<std::string> names;
        for (const Attempt& attempt :
             ended != nullptr ? ended->attempts : std::get<Failure>(*reply).attempts) {
            names.push_back(attempt.egress);
        }
        return names;
    }
    SearchRequest request(std::string session = "") {
        SearchRequest made = h->request("query " + std::to_string(++queries));
        made.session_id = std::move(session);
        return made;
    }

    std::unique_ptr<WebHarness> h;
    std::set<std::string> dead;
    std::set<std::string> cut_off;
    std::vector<std::string> proxies;
    std::optional<SearchReply> reply;
    int queries = 0;
};

// The proxy of a call is the endpoint that its attempt names, and calls spread evenly.
TEST_F(EgressCallsTest, RotatesOverEndpoints) {
    begin(with_endpoints(io::EgressPolicy::kRotating, {"a", "b", "c"}));
    std::map<std::string, int> counts;
    for (int i = 0; i < 30; ++i) {
        const auto names = ways(request());
        ASSERT_EQ(names.size(), 1U);
        EXPECT_EQ(proxies.back(), url_of(names[0]));
        counts[names[0]] += 1;
    }
    EXPECT_EQ(counts, (std::map<std::string, int>{{"a", 10}, {"b", 10}, {"c", 10}}));
    EXPECT_EQ(h->overview().egress.endpoints.at(0).calls, 10U);
}

// Without a policy there is no proxy.
TEST_F(EgressCallsTest, IsDirectByDefault) {
    begin(test::harness_config());
    EXPECT_THAT(ways(request()), ElementsAre("direct"));
    EXPECT_THAT(proxies, ElementsAre(""));
}

// The request's country and session reach the choice; who has no session is known by its token.
TEST_F(EgressCallsTest, AsksForCountryAndSession) {
    WebConfig config = with_endpoints(io::EgressPolicy::kGeo, {"a", "b"});
    config.egress.endpoints.at("a").country = "de";
    config.egress.endpoints.at("b").country = "fr";
    begin(std::move(config));
    SearchRequest french = request();
    french.country = "fr";
    EXPECT_THAT(ways(french), ElementsAre("b"));
    french.country = "de";
    EXPECT_THAT(ways(french), ElementsAre("a"));
    EXPECT_THAT(ways(request()), ElementsAre("direct"));

    begin(with_endpoints(io::EgressPolicy::kSticky, {"a", "b", "c"}));
    std::set<std::string> used;
    for (int i = 0; i < 20; ++i) {
        const std::string session = "session " + std::to_string(i);
        const auto first = ways(request(session));
        EXPECT_EQ(ways(request(session)), first);
        used.insert(first.at(0));
    }
    EXPECT_EQ(used.size(), 3U);
    EXPECT_EQ(ways(request()), ways(request()));
    SearchRequest of_token;
    of_token.payer.token_id = "session 1";
    const io::EgressAsk ask = egress_ask(1, of_token);
    EXPECT_EQ(ask.caller, "session 1");
    EXPECT_EQ(ask.user, 1U);
}

// A provider's own setting wins.
TEST_F(EgressCallsTest, AProviderHasAChoiceOfItsOwn) {
    WebConfig config = with_endpoints(io::EgressPolicy::kDirect, {"a", "b"});
    config.providers.at("serper").egress.endpoint = "b";
    begin(std::move(config));
    EXPECT_THAT(ways(request()), ElementsAre("b"));
    SearchRequest other = request();
    other.providers = {"tavily"};
    EXPECT_THAT(ways(other), ElementsAre("direct"));
}

// A proxy that fails costs a second try through another one, at once: neither the key nor the
// provider's circuit hears of it, and nothing is paid for the first.
TEST_F(EgressCallsTest, TriesOnceThroughAnotherEndpoint) {
    begin(with_endpoints(io::EgressPolicy::kRotating, {"a", "b", "c"}));
    dead = {url_of("a"), url_of("c")};
    const Instant before = h->clock.now();
    std::size_t detours = 0;
    for (int i = 0; i < 12; ++i) {
        const auto names = ways(request());
        const Served& answer = served(*reply);
        for (std::size_t n = 0; n + 1 < answer.attempts.size(); ++n) {
            const Attempt& attempt = answer.attempts[n];
            EXPECT_EQ(attempt.outcome, Outcome::kConnectError);
            EXPECT_EQ(attempt.blame, Blame::kGateway);
            EXPECT_FALSE(attempt.cost);
        }
        const auto of_serper = std::ranges::count(answer.attempts, "serper", &Attempt::provider);
        EXPECT_LE(of_serper, 2) << "a single time";
        detours += of_serper == 2 ? 1 : 0;
    }
    EXPECT_GT(detours, 0U);
    EXPECT_EQ(h->clock.now(), before);
    EXPECT_EQ(h->key_counts("serper").available, 1U);
    for (const auto& provider : h->overview().providers) {
        EXPECT_EQ(provider.circuit.state, guard::CircuitState::kClosed) << provider.name;
    }
}

// A proxy that does not reach the provider ends like one before a provider that is gone. Where
// another one reaches it, that was the proxy: the provider's circuit hears of nothing.
TEST_F(EgressCallsTest, WhatAnotherEndpointReachesIsNotTheProvider) {
    begin(with_endpoints(io::EgressPolicy::kStatic, {"a", "b"}));
    const std::string first = ways(request()).at(0);
    const std::size_t place = first == "a" ? 0 : 1;
    cut_off = {url_of(first)};
    const Instant before = h->clock.now();
    for (int i = 0; i < 10; ++i) {
        SearchRequest asked = request();
        asked.providers = {"serper"};
        const auto names = ways(std::move(asked));
        ASSERT_EQ(names.size(), 2U) << i;
        EXPECT_EQ(names[0], first);
        EXPECT_NE(names[1], first);
        const Attempt& lost = served(*reply).attempts[0];
        EXPECT_EQ(lost.outcome, Outcome::kConnectError);
        EXPECT_EQ(lost.blame, Blame::kGateway);
        EXPECT_FALSE(lost.cost);
    }
    EXPECT_EQ(h->clock.now(), before);
    const auto endpoint = h->overview().egress.endpoints.at(place);
    EXPECT_EQ(endpoint.calls, 11U);
    EXPECT_EQ(endpoint.failures, 10U);
    EXPECT_EQ(endpoint.last_error, "the proxy answered 502 to CONNECT");
}

// Where none reaches it, that is the provider: two tries each, one failure each for its circuit,
// and no endpoint is blamed.
TEST_F(EgressCallsTest, WhatNoEndpointReachesIsTheProvider) {
    begin(with_endpoints(io::EgressPolicy::kRotating, {"a", "b", "c"}));
    cut_off = {url_of("a"), url_of("b"), url_of("c")};
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(h->overview().providers.at(0).circuit.state, guard::CircuitState::kClosed) << i;
        SearchRequest asked = request();
        asked.providers = {"serper"};
        const auto names = ways(std::move(asked));
        ASSERT_EQ(names.size(), 2U);
        EXPECT_NE(names[0], names[1]);
        for (const Attempt& attempt : std::get<Failure>(*reply).attempts) {
            EXPECT_EQ(attempt.blame, Blame::kProvider);
        }
    }
    EXPECT_EQ(h->overview().providers.at(0).circuit.state, guard::CircuitState::kOpen);
    for (const auto& endpoint : h->overview().egress.endpoints) {
        EXPECT_EQ(endpoint.failures, 0U) << endpoint.name;
    }
}

// What never left counts neither towards the key's quota nor under the provider's rate, whether the
// proxy could not be reached, did not let us in or did not reach the provider.
TEST_F(EgressCallsTest, OnlyWhatLeftIsCounted) {
    for (const FakeAnswer& end : {proxy_fault(), test::status_answer(407, "<html>"), unreached()}) {
        WebConfig config = with_endpoints(io::EgressPolicy::kRotating, {"a", "b"});
        config.providers.at("serper").rate = RateLimit{4, 60'000ms};
        begin(std::move(config));
        h->stored_keys.front().record.quota = KeyQuota{4, KeyQuota::Per::kDay, {}};
        h->apply_keys();
        h->http.set_responder([end](const io::ClientRequest& request) {
            return request.proxy.reveal() == url_of("a") ? end : test::ok_answer(request);
        });
        std::size_t detours = 0;
        for (int i = 0; i < 4; ++i) {
            SearchRequest asked = request();
            asked.providers = {"serper"};
            detours += ways(std::move(asked)).size() - 1;
            EXPECT_EQ(served(*reply).attempts.back().waited, 0ms);
        }
        EXPECT_EQ(detours, 2U);
        EXPECT_EQ(h->key_counts("serper").exhausted, 1U) << "four calls were made";
    }
}

// Through one endpoint by name there is no other way: the next provider is asked.
TEST_F(EgressCallsTest, ANamedEndpointIsNotLeft) {
    WebConfig config = with_endpoints(io::EgressPolicy::kDirect, {"a", "b"});
    config.providers.at("serper").egress.endpoint = "a";
    begin(std::move(config));
    dead = {url_of("a")};
    for (int i = 0; i < 5; ++i) {
        EXPECT_THAT(ways(request()), ElementsAre("a", "direct"));
        EXPECT_THAT(trail(served(*reply).attempts),
                    ElementsAre("serper:connect_error", "tavily:success"));
    }
    EXPECT_EQ(h->key_counts("serper").available, 1U);
}

// No try begins when the time is over.
TEST_F(EgressCallsTest, ADetourIsInsideTheDeadline) {
    WebConfig config = with_endpoints(io::EgressPolicy::kRotating, {"a", "b"});
    config.providers.at("serper").timeout = 60s;
    begin(std::move(config));
    h->http.set_responder([this](const io::ClientRequest& request) {
        proxies.emplace_back(request.proxy.reveal());
        FakeAnswer answer = proxy_fault();
        answer.delay = request.deadline - h->clock.now();
        return answer;
    });
    const Instant begun = h->clock.now();
    SearchRequest asked = request();
    asked.providers = {"serper"};
    EXPECT_EQ(ways(asked).size(), 1U);
    EXPECT_LE(h->clock.now() - begun, 10s);
    EXPECT_EQ(h->http.started_late(), 0U);
}

// A proxy that wants a password says so in an answer, which is not the provider's.
TEST_F(EgressCallsTest, AProxyThatRefusesUsIsNotTheProvider) {
    begin(with_endpoints(io::EgressPolicy::kStatic, {"a", "b"}));
    const std::string first = ways(request()).at(0);
    h->http.set_responder([&](const io::ClientRequest& request) {
        const bool refuses = request.proxy.reveal() == url_of(first);
        return refuses ? test::status_answer(407, "<html>") : test::ok_answer(request);
    });
    const auto names = ways(request());
    ASSERT_EQ(names.size(), 2U);
    EXPECT_EQ(names[0], first);
    EXPECT_NE(names[1], first);
    EXPECT_EQ(served(*reply).attempts[0].blame, Blame::kGateway);
    EXPECT_EQ(served(*reply).attempts[1].provider, "serper");
}

// explain names what the call would go out through, and takes no turn.
TEST_F(EgressCallsTest, ExplainNamesIt) {
    begin(with_endpoints(io::EgressPolicy::kRotating, {"a", "b"}));
    for (int i = 0; i < 6; ++i) {
        SearchRequest asked = request();
        const std::string foretold = h->explain(asked).route.at(0).egress;
        EXPECT_THAT(ways(std::move(asked)), ElementsAre(foretold));
    }
    SearchRequest unable = request();
    unable.providers = {"exa"};
    EXPECT_EQ(h->explain(unable).route.at(0).egress, "") << "no call would be made";
}

}  // namespace
}  // namespace sluice::web
