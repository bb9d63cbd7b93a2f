// What a request asks for beyond its query, from the door's call to the reply: who honours it, what
// is left out here, and what is tried once more with less.
#include "replies.h"
#include "support/web_harness.h"
#include "web/search.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::web {
namespace {

using test::FakeAnswer;
using test::WebHarness;

WebConfig with_route(std::vector<std::string> route) {
    WebConfig config = test::harness_config();
    for (const std::string& name : route) {
        config.providers.find(name)->second.enabled = true;
    }
    config.route_fast = std::move(route);
    return config;
}

FakeAnswer brave_answer(std::string_view host) {
    FakeAnswer answer;
    answer.body = R"({"type":"search","web":{"results":[{"title":"T","url":"https://)" +
                  std::string(host) + R"(/a"}]}})";
    return answer;
}

// Each constraint of an answer is listed with who honoured it and how; without any there is no
// list.
TEST(HonouredSearch, AnswerSaysWhoHonouredWhat) {
    WebHarness h;
    h.add_key("serper", "serper-key-number-one");
    EXPECT_TRUE(served(h.search(h.request("plain"))).answer->constraints().empty());
    SearchRequest request = h.request("narrow");
    request.country = "de";
    request.include_domains = {"site1.example.com"};
    const SearchReply reply = h.search(request);
    const SearchAnswer& answer = *served(reply).answer;
    const std::vector<Honoured> expected = {{"country", "serper", Honour::kProvider},
                                            {"include_domains", "serper", Honour::kOperator}};
    EXPECT_EQ(answer.constraints(), expected);
    // The provider ignored the operator for two of its three hits.
    ASSERT_EQ(answer.hits().size(), 1U);
    EXPECT_EQ(answer.hits()[0].site, "site1.example.com");
    EXPECT_EQ(answer.hits()[0].rank, 1U);
    EXPECT_EQ(answer.query(), "narrow");
}

// What is left after filtering counts: with nothing left the next provider is asked.
TEST(HonouredSearch, NothingLeftAfterFilteringIsEmpty) {
    WebHarness h;
    h.add_key("serper", "serper-key-number-one");
    h.add_key("tavily", "tvly-key-number-one");
    SearchRequest request = h.request("narrow");
    request.include_domains = {"elsewhere.example"};
    const SearchReply reply = h.search(request);
    EXPECT_EQ(trail(served(reply).attempts),
              (std::vector<std::string>{"serper:empty", "tavily:success"}));
    EXPECT_EQ(served(reply).answer->constraints().at(0).how, Honour::kProvider);
}

// An option that the plan lacks: the same key is asked once more without it, and both attempts are
// shown. No key is blamed, and the answer says what was given up.
TEST(HonouredSearch, OnceMoreWithoutWhatThePlanLacks) {
    WebHarness h(with_route({"brave"}));
    h.add_key("brave", "brave-key-number-one");
    std::vector<std::string> urls;
    h.http.set_responder([&](const io::ClientRequest& request) {
        urls.push_back(request.url);
        return urls.size() == 1
                   ? test::status_answer(400, R"({"error":{"code":"OPTION_NOT_IN_PLAN"}})")
                   : brave_answer("a.example");
    });
    SearchRequest request = h.request("a");
    request.want_content = true;
    const SearchReply reply = h.search(request);
    EXPECT_EQ(trail(served(reply).attempts),
              (std::vector<std::string>{"brave:plan_limit", "brave:success"}));
    EXPECT_EQ(served(reply).attempts[0].key_id, served(reply).attempts[1].key_id);
    ASSERT_EQ(urls.size(), 2U);
    EXPECT_NE(urls[0].find("extra_snippets"), std::string::npos);
    EXPECT_EQ(urls[1].find("extra_snippets"), std::string::npos);
    const std::vector<Honoured> expected = {{"content", "brave", Honour::kShortened}};
    EXPECT_EQ(served(reply).answer->constraints(), expected);
}

// Once, and only when there is something to leave out; then the next key has its turn.
TEST(HonouredSearch, OnceMoreIsOnce) {
    WebHarness h(with_route({"brave"}));
    h.add_key("brave", "brave-key-number-one");
    h.add_key("brave", "brave-key-number-two");
    h.http.set_responder([](const io::ClientRequest&) {
        return test::status_answer(400, R"({"error":{"code":"OPTION_NOT_IN_PLAN"}})");
    });
    SearchRequest request = h.request("a");
    EXPECT_EQ(trail(failed(h.search(request)).attempts),
              (std::vector<std::string>{"brave:plan_limit", "brave:plan_limit"}));
    EXPECT_EQ(h.http.calls(), 2U);
    request.want_content = true;
    failed(h.search(request));
    EXPECT_EQ(h.http.calls(), 6U);
}

// The second try needs a turn of its own under the provider's rate; without one the attempt stands
// as it is, and nothing is left behind.
TEST(HonouredSearch, OnceMoreNeedsATurn) {
    WebConfig config = with_route({"brave"});
    config.providers.find("brave")->second.rate = RateLimit{1, Millis(3'600'000)};
    WebHarness h(config);
    h.add_key("brave", "brave-key-number-one");
    h.http.set_responder([](const io::ClientRequest&) {
        return test::status_answer(400, R"({"error":{"code":"OPTION_NOT_IN_PLAN"}})");
    });
    SearchRequest request = h.request("a");
    request.want_content = true;
    EXPECT_EQ(trail(failed(h.search(request)).attempts),
              (std::vector<std::string>{"brave:plan_limit", "brave:rate_limited"}));
    EXPECT_EQ(h.http.calls(), 1U);
    EXPECT_EQ(h.key_counts("brave").in_flight, 0U);
}

// What was asked is hidden where it is echoed, though more than that was sent.
TEST(HonouredSearch, OperatorsDoNotUncoverTheQuery) {
    WebHarness h;
    h.add_key("serper", "serper-key-number-one");
    h.http.set_responder([](const io::ClientRequest&) {
        return test::status_answer(500, R"({"message":"no luck with celadon"})");
    });
    SearchRequest request = h.request("celadon");
    request.exclude_domains = {"a.example"};
    EXPECT_EQ(failed(h.search(request)).attempts.at(0).detail, "no luck with [query]");
}

// Two keys that are limited within moments: it is our address that Tavily limits. The second key
// is left as it was, the third is not tried, and nobody asks the provider for a while.
TEST(HonouredSearch, TwoLimitedKeysMeanTheAddress) {
    WebHarness h(with_route({"tavily", "serper"}));
    h.add_key("tavily", "tvly-key-number-one");
    h.add_key("tavily", "tvly-key-number-two");
    h.add_key("tavily", "tvly-key-number-three");
    h.add_key("serper", "serper-key-number-one");
    h.http.set_responder([](const io::ClientRequest& request) {
        return request.url.find("tavily") != std::string::npos ? test::status_answer(429)
                                                               : test::ok_answer(request);
    });
    const SearchReply reply = h.search(h.request("a"));
    EXPECT_EQ(
        trail(served(reply).attempts),
        (std::vector<std::string>{"tavily:rate_limited", "tavily:rate_limited", "serper:success"}));
    EXPECT_EQ(served(reply).attempts[0].blame, Blame::kKey);
    EXPECT_EQ(served(reply).attempts[1].blame, Blame::kProvider);
    EXPECT_EQ(h.overview().keys.at("tavily").cooling, 1U);
    EXPECT_EQ(trail(served(h.search(h.request("b"))).attempts),
              (std::vector<std::string>{"tavily:skipped_circuit", "serper:success"}));
    // With a provider that never limits addresses it is each key's own limit.
    WebHarness other(with_route({"serper"}));
    other.add_key("serper", "serper-key-number-one");
    other.add_key("serper", "serper-key-number-two");
    other.http.set_responder([](const io::ClientRequest&) { return test::status_answer(429); });
    failed(other.search(other.request("a")));
    EXPECT_EQ(other.overview().keys.at("serper").cooling, 2U);
}

// Google's key is of no use without an engine, which the configuration or the key may name. The
// secret is never part of the address that others see.
TEST(HonouredSearch, AKeyWithoutAnEngineIsPassedOver) {
    WebConfig config = with_route({"google_cse"});
    {
        WebHarness h(config);
        h.add_key("google_cse", "google-key-number-one");
        const Failure failure = failed(h.search(h.request("a")));
        EXPECT_EQ(trail(failure.attempts), std::vector<std::string>{"google_cse:skipped_no_key"});
        EXPECT_NE(failure.attempts[0].detail.find("providers.google_cse.engine_id"),
                  std::string::npos);
        EXPECT_EQ(failure.error.code, Code::kNoUsableKey);
        EXPECT_EQ(h.http.calls(), 0U);
    }
    config.providers.find("google_cse")->second.engine_id = "engine-1";
    WebHarness h(config);
    h.add_key("google_cse", "google-key-number-one");
    h.http.set_responder([](const io::ClientRequest& request) {
        EXPECT_NE(request.url.find("cx=engine-1"), std::string::npos);
        EXPECT_EQ(request.url.find("google-key"), std::string::npos);
        EXPECT_EQ(request.secret_query.at(0).second.reveal(), "google-key-number-one");
        FakeAnswer answer;
        answer.body = R"({"items":[{"link":"https://a.example/","title":"T"}]})";
        return answer;
    });
    EXPECT_EQ(served(h.search(h.request("a"))).answer->provider(), "google_cse");
}

// A provider whose end is near says so in the log when it is enabled, and only then.
TEST(HonouredSearch, NoticeAtTheStart) {
    EXPECT_FALSE(WebHarness().sink.contains("provider_notice"));
    EXPECT_TRUE(WebHarness(with_route({"google_cse"})).sink.contains("provider_notice"));
}

// What a route names and no search will ask is said once when the configuration takes effect, and
// not again with every search.
TEST(HonouredSearch, RoutesSayWhatTheySkip) {
    WebConfig config = test::harness_config();
    config.route_fast = {"serper", "wikipedia"};
    config.route_deep = {"tavily", "google_cse"};
    WebHarness h(config);
    const auto lines = [&](std::string_view named) {
        std::size_t count = 0;
        for (const std::string& line : h.sink.lines()) {
            const bool skips = line.find("route_skips_provider") != std::string::npos;
            count += skips && line.find(named) != std::string::npos ? 1 : 0;
        }
        return count;
    };
    h.add_key("serper", "serper-key-number-one");
    h.search(h.request("a"));
    EXPECT_EQ(lines("not in this version"), 1U);
    EXPECT_EQ(lines("disabled"), 1U);
    EXPECT_EQ(lines(""), 2U);
    config.providers.find("google_cse")->second.enabled = true;
    h.web.reconfigure(config);
    EXPECT_EQ(lines("wikipedia"), 2U);
    EXPECT_EQ(lines("google_cse"), 1U);
}

}  // namespace
}  // namespace sluice::web
