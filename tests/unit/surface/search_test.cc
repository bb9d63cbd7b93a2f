// What callers of /v1/search read: answers, trails of attempts, and what kept them from one.
#include "surface/rest/search.h"

#include "request.h"
#include "support/json_list.h"
#include "support/web_harness.h"
#include "web/metrics.h"

#include <gtest/gtest.h>

namespace sluice::surface {
namespace {

using namespace std::chrono_literals;
using io::Method;
using test::FakeAnswer;

class SearchDoorTest : public testing::Test {
 protected:
    void SetUp() override {
        h.add_key("serper", "serper-key-number-one");
        h.add_key("tavily", "tvly-key-number-one");
    }

    io::HttpResponse ask(const TestRequest& request) {
        const bool is_post = request.get().method == Method::kPost;
        return finished(is_post ? door.post(request.get()) : door.get(request.get()), h.io,
                        h.clock);
    }
    io::HttpResponse post(std::string body) {
        TestRequest request(Method::kPost, "/v1/search", h.clock.now());
        request.header("Content-Type", "application/json").body(std::move(body));
        return ask(request);
    }
    io::HttpResponse get(std::string query) {
        return ask(TestRequest(Method::kGet, "/v1/search?" + query, h.clock.now()));
    }
    // The body of `response`, valid until the next call.
    JsonValue parsed(const io::HttpResponse& response) {
        text = body_of(response);
        auto body = reader.parse(text);
        EXPECT_TRUE(body.ok()) << text;
        return *body;
    }

    test::WebHarness h;
    SearchDoor door{h.web, h.access, h.clock};
    JsonReader reader;
    std::string text;
};

// Lead and shared body together are one JSON text with every member of the contract.
TEST_F(SearchDoorTest, AnswerIsOneJsonText) {
    h.http.set_responder([](const io::ClientRequest& request) {
        FakeAnswer answer = test::ok_answer(request, 2);
        answer.delay = 120ms;
        return answer;
    });
    const io::HttpResponse response = post(R"({"query":"  stone \"ware\"  "})");
    EXPECT_EQ(response.status, 200);
    EXPECT_TRUE(has_header(response, "Content-Type: application/json"));
    EXPECT_TRUE(has_header(response, "Cache-Control: no-store"));
    const JsonValue body = parsed(response);
    EXPECT_EQ(body.string_at("object"), "search");
    EXPECT_EQ(body.string_at("query"), "stone \"ware\"");
    EXPECT_EQ(body.string_at("lane"), "fast");
    EXPECT_EQ(body.string_at("provider"), "serper");
    EXPECT_EQ(body.string_at("request_id").size(), 32u);
    EXPECT_EQ(body.find("cached")->as_boolean(), false);
    EXPECT_EQ(body.find("stale")->as_boolean(), false);
    EXPECT_EQ(body.find("elapsed_ms")->as_number(), 120.0);
    EXPECT_FALSE(body.find("degraded"));
    EXPECT_FALSE(body.find("attempts"));
    EXPECT_FALSE(body.find("answer"));
    const auto results = test::listed(body.find("results"));
    ASSERT_EQ(results.size(), 2u);
    EXPECT_EQ(results[0].string_at("url"), "https://www.site1.example.com/a");
    EXPECT_EQ(results[0].string_at("title"), "Title 1");
    EXPECT_EQ(results[0].string_at("snippet"), "Snippet 1");
    EXPECT_EQ(results[0].string_at("site"), "site1.example.com");
    EXPECT_EQ(results[1].find("rank")->as_integer(), 2);
    EXPECT_FALSE(results[0].find("score"));
    EXPECT_FALSE(results[0].find("content"));
}

// A cached answer has the same shared bytes, and the lead of its own request.
TEST_F(SearchDoorTest, CachedAnswerSharesItsBody) {
    const io::HttpResponse first = post(R"({"query":"kiln"})");
    const io::HttpResponse second = get("q=kiln&trace=true");
    EXPECT_EQ(first.body, second.body);
    const JsonValue body = parsed(second);
    EXPECT_EQ(body.find("cached")->as_boolean(), true);
    EXPECT_TRUE(body.find("attempts")->elements().empty());
    EXPECT_EQ(h.http.calls(), 1u);
}

// Where an answer came from and how old it is stands in the head, in the words of RFC 9211.
TEST_F(SearchDoorTest, HeadSaysWhatTheCacheDid) {
    const io::HttpResponse made = get("q=kiln");
    EXPECT_TRUE(has_header(made, "Cache-Status: sluice; fwd=miss; stored"));
    EXPECT_EQ(made.headers.find("Age:"), std::string::npos);
    EXPECT_FALSE(parsed(made).find("age_s"));
    h.clock.advance(9'900ms);
    const io::HttpResponse hit = get("q=kiln");
    EXPECT_TRUE(has_header(hit, "Cache-Status: sluice; hit; ttl=290"));
    EXPECT_TRUE(has_header(hit, "Age: 9"));
    EXPECT_EQ(parsed(hit).find("age_s")->as_integer(), 9);
    EXPECT_TRUE(
        has_header(get("q=kiln&cache=refresh"), "Cache-Status: sluice; fwd=request; stored"));
    EXPECT_TRUE(has_header(get("q=kiln&cache=bypass"), "Cache-Status: sluice; fwd=bypass"));
    const io::HttpResponse none = get("q=other&cache=only");
    EXPECT_EQ(none.status, 504);
    EXPECT_TRUE(has_header(none, "Cache-Status: sluice; detail=only-if-cached"));

    h.clock.advance(400s);
    h.http.set_responder([](const io::ClientRequest&) { return test::status_answer(503); });
    const io::HttpResponse stale = get("q=kiln");
    EXPECT_TRUE(has_header(stale, "Cache-Status: sluice; fwd=stale; ttl=-100"));
    EXPECT_TRUE(has_header(stale, "Age: 400"));
    const io::HttpResponse failed = get("q=other");
    EXPECT_EQ(failed.status, 503);
    EXPECT_TRUE(has_header(failed, "Cache-Status: sluice; fwd=miss"));
    EXPECT_EQ(get("q=").headers.find("Cache-Status"), std::string::npos) << "nothing was asked";
}

// An answer is in the cache as fields until it is finished, then as its bytes, and a large one as
// compressed bytes: what it is charged follows.
TEST(SearchDoorMemory, AFinishedAnswerIsChargedForItsBytes) {
    web::WebConfig config = test::harness_config();
    config.cache.compress_over_bytes = 4'096;
    config.cache.provider_results_enabled = false;
    test::WebHarness h(std::move(config));
    h.add_key("serper", "serper-key-number-one");
    h.http.set_responder(
        [](const io::ClientRequest& request) { return test::ok_answer(request, 50); });
    web::SearchRequest fields = h.request("kiln");
    fields.max_results = 50;
    h.search(std::move(fields));
    const std::size_t as_fields = h.overview().cache.bytes;

    SearchDoor door{h.web, h.access, h.clock};
    TestRequest request(Method::kGet, "/v1/search?q=kiln&max_results=50", h.clock.now());
    const io::HttpResponse response = finished(door.get(request.get()), h.io, h.clock);
    ASSERT_TRUE(response.body->is_packed());
    EXPECT_LT(h.overview().cache.bytes, as_fields / 4);
    EXPECT_LT(h.overview().cache.bytes, response.body->size());
    EXPECT_EQ(h.metrics.counter(web::kCacheCompressed, {"plain"}).value(),
              static_cast<double>(response.body->size()));
    const std::string body =
        response.lead + std::string(io::HttpBody::unpacked(response.body)->bytes());
    JsonReader reader;
    EXPECT_EQ(reader.parse(body)->find("results")->elements().size(), 50u);
    EXPECT_EQ(h.http.calls(), 1u);
}

// Nothing of the request that made an answer is replayed to the next one.
TEST_F(SearchDoorTest, ACachedAnswerCarriesNothingOfAnotherRequest) {
    h.http.set_responder([](const io::ClientRequest& request) {
        FakeAnswer answer = test::ok_answer(request);
        answer.delay = 120ms;
        return answer;
    });
    const std::string first = body_of(post(R"({"query":"kiln","trace":true,"session_id":"mine"})"));
    EXPECT_NE(first.find("\"elapsed_ms\":120"), std::string::npos);
    const std::string second = body_of(get("q=kiln"));
    for (const char* trace : {"elapsed_ms\":120", "attempts", "key_id", "queued_ms", "mine"}) {
        EXPECT_EQ(second.find(trace), std::string::npos) << trace;
    }
}

// With `trace` each attempt says who, with which key, how it ended, whose fault it was, how long.
TEST_F(SearchDoorTest, TraceShowsEveryAttempt) {
    h.http.set_responder([](const io::ClientRequest& request) {
        if (request.url.find("serper") == std::string::npos) {
            return test::ok_answer(request);
        }
        FakeAnswer answer = test::status_answer(503, R"({"message":"down for repairs"})");
        answer.delay = 40ms;
        return answer;
    });
    const JsonValue body = parsed(post(R"({"query":"kiln","trace":true})"));
    const auto attempts = test::listed(body.find("attempts"));
    ASSERT_EQ(attempts.size(), 2u);
    EXPECT_EQ(attempts[0].string_at("provider"), "serper");
    EXPECT_EQ(attempts[0].string_at("outcome"), "server_error");
    EXPECT_EQ(attempts[0].string_at("blame"), "provider");
    EXPECT_EQ(attempts[0].find("status")->as_integer(), 503);
    EXPECT_EQ(attempts[0].find("latency_ms")->as_integer(), 40);
    EXPECT_EQ(attempts[0].string_at("detail"), "down for repairs");
    EXPECT_EQ(attempts[0].string_at("key_id").size(), 12u);
    EXPECT_EQ(attempts[1].string_at("outcome"), "success");
    EXPECT_FALSE(attempts[1].find("blame"));
    EXPECT_FALSE(attempts[1].find("detail"));
}

// Waits, ways out and skips are in the trail, each where there is something to tell.
TEST_F(SearchDoorTest, TraceShowsWaitsAndSkips) {
    web::WebConfig config = test::harness_config();
    config.providers.find("serper")->second.rate = web::RateLimit{1, 1000ms};
    h.web.reconfigure(config);
    post(R"({"query":"first","providers":["serper"]})");
    const JsonValue waited = parsed(post(R"({"query":"second","trace":true})"));
    EXPECT_EQ(waited.find("queued_ms")->as_integer(), 0);
    const auto attempt = test::listed(waited.find("attempts")).at(0);
    EXPECT_EQ(attempt.string_at("egress"), "direct");
    EXPECT_EQ(attempt.find("waited_ms")->as_integer(), 1000);

    h.http.set_responder([](const io::ClientRequest&) { return test::status_answer(500); });
    for (const char* query : {"a", "b", "c"}) {
        post(std::string(R"({"query":")") + query + R"(","providers":["serper"]})");
    }
    const JsonValue skipped = parsed(post(R"({"query":"third","trace":true})"));
    const auto skip = test::listed(skipped.find("attempts")).at(0);
    EXPECT_EQ(skip.string_at("outcome"), "skipped_circuit");
    EXPECT_EQ(skip.string_at("blame"), "provider");
    EXPECT_TRUE(skip.find("key_id")->is_null());
    EXPECT_FALSE(skip.find("egress"));
    EXPECT_FALSE(skip.find("waited_ms"));
    EXPECT_NE(skip.string_at("detail").find("left alone"), std::string_view::npos);
}

// A merged answer says of each hit who had it at which place.
TEST_F(SearchDoorTest, MergedHitsHaveOrigins) {
    const JsonValue body = parsed(post(R"({"query":"kiln","strategy":"merge"})"));
    EXPECT_EQ(body.string_at("provider"), "merge");
    const auto hit = test::listed(body.find("results")).at(1);
    const auto origins = test::listed(hit.find("origins"));
    ASSERT_EQ(origins.size(), 1u);
    EXPECT_EQ(origins[0].string_at("provider"), hit.string_at("provider"));
    EXPECT_EQ(origins[0].find("rank")->as_integer(), 1);
    EXPECT_FALSE(
        test::listed(parsed(post(R"({"query":"glaze"})")).find("results")).at(0).find("origins"));
}

// An explanation has the route with keys by id, prices and reasons; no secret and no query, and
// nobody was called for it.
TEST_F(SearchDoorTest, ExplanationNamesNoSecret) {
    h.rest_key("tavily", web::KeyStatus::kCooling, 5s);
    const io::HttpResponse response = get("q=marker-query&explain=true&strategy=hedge");
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(h.http.calls(), 0u);
    const JsonValue body = parsed(response);
    EXPECT_EQ(body.string_at("object"), "explanation");
    EXPECT_EQ(body.string_at("strategy"), "hedge");
    EXPECT_EQ(body.string_at("cache", "entry"), "none");
    EXPECT_EQ(body.find("scheduler", "concurrency")->as_integer(), 64);
    const auto route = test::listed(body.find("route"));
    ASSERT_EQ(route.size(), 2u);
    EXPECT_EQ(route[0].find("usable")->as_boolean(), true);
    EXPECT_EQ(route[0].string_at("key_id").size(), 12u);
    EXPECT_GT(route[0].find("price", "usd")->as_number(), 0.0);
    EXPECT_EQ(route[1].find("usable")->as_boolean(), false);
    EXPECT_EQ(route[1].string_at("outcome"), "skipped_no_key");
    EXPECT_EQ(text.find("serper-key"), std::string::npos);
    EXPECT_EQ(text.find("marker-query"), std::string::npos);
}

// An empty answer behind a failure says so: somebody who might have found something was not heard.
TEST_F(SearchDoorTest, DegradedIsSaid) {
    h.http.set_responder([](const io::ClientRequest& request) {
        return request.url.find("serper") != std::string::npos ? test::status_answer(500)
                                                               : test::ok_answer(request, 0);
    });
    const JsonValue body = parsed(post(R"({"query":"kiln"})"));
    const auto degraded = body.find("degraded");
    ASSERT_TRUE(degraded);
    EXPECT_EQ(degraded->as_boolean(), true);
    EXPECT_TRUE(body.find("results")->elements().empty());
}

// A stale answer is marked as one.
TEST_F(SearchDoorTest, StaleIsSaid) {
    post(R"({"query":"kiln"})");
    h.clock.advance(301s);
    h.http.set_responder([](const io::ClientRequest&) { return test::status_answer(500); });
    const JsonValue body = parsed(post(R"({"query":"kiln"})"));
    EXPECT_EQ(body.find("stale")->as_boolean(), true);
    EXPECT_EQ(body.find("cached")->as_boolean(), true);
}

// A failure is a problem; with `trace` it has the attempts too, a provider without a key among
// them.
TEST_F(SearchDoorTest, FailureCarriesItsTrail) {
    h.http.set_responder([](const io::ClientRequest&) { return test::status_answer(500); });
    const io::HttpResponse bare = post(R"({"query":"kiln"})");
    EXPECT_EQ(bare.status, 503);
    EXPECT_TRUE(has_header(bare, "Retry-After: 5"));
    EXPECT_FALSE(parsed(bare).find("attempts"));
    const JsonValue body = parsed(post(R"({"query":"kiln","trace":true})"));
    EXPECT_EQ(body.string_at("code"), "upstream_failed");
    EXPECT_EQ(body.find("attempts")->elements().size(), 2u);

    test::WebHarness keyless;
    SearchDoor other(keyless.web, keyless.access, keyless.clock);
    TestRequest request(Method::kGet, "/v1/search?q=kiln&trace=1", keyless.clock.now());
    const JsonValue none = parsed(finished(other.get(request.get()), keyless.io, keyless.clock));
    EXPECT_EQ(none.string_at("code"), "no_usable_key");
    EXPECT_NE(none.string_at("detail").find("SERPER_API_KEYS"), std::string_view::npos);
    const auto attempts = test::listed(none.find("attempts"));
    ASSERT_EQ(attempts.size(), 2u);
    EXPECT_TRUE(attempts[0].find("key_id")->is_null());
    EXPECT_FALSE(attempts[0].find("status"));
}

// Types that can't be read or given are refused before anybody's budget is touched.
TEST_F(SearchDoorTest, MediaTypes) {
    struct Case {
        const char* name;
        const char* value;
        int status;
    };
    const Case cases[] = {
        {"Content-Type", "application/json", 200},
        {"Content-Type", "Application/JSON; charset=utf-8", 200},
        {"Content-Type", "application/vnd.api+json", 200},
        {"Content-Type", "", 200},
        {"Content-Type", "text/plain", 415},
        {"Content-Type", "application/x-www-form-urlencoded", 415},
        {"Accept", "*/*", 200},
        {"Accept", "text/html, application/*;q=0.5", 200},
        {"Accept", "application/json", 200},
        {"Accept", "text/html", 406},
        {"Accept", "", 406},
    };
    for (const Case& c : cases) {
        SCOPED_TRACE(std::string(c.name) + ": " + c.value);
        TestRequest request(Method::kPost, "/v1/search", h.clock.now());
        request.header(c.name, c.value).body(R"({"query":"kiln"})");
        EXPECT_EQ(ask(request).status, c.status);
    }
}

// The shared part has everything that a hit can have, escaped, and no member without a value.
TEST(RenderSharedTest, OptionalMembers) {
    Hit full;
    full.url = "https://a.example/\"";
    full.title = "T";
    full.snippet = "S\n";
    full.content = "C";
    full.score = 0.25;
    full.published_at = "2026-09-14T00:00:00Z";
    full.rank = 1;
    full.provider = "tavily";
    full.site = "a.example";
    const web::SearchAnswer answer("q", web::Lane::kDeep, "tavily", "Because.", {full, Hit{}});
    const std::string text = "{" + render_shared(answer);
    JsonReader reader;
    const auto body = reader.parse(text);
    ASSERT_TRUE(body.ok()) << text;
    EXPECT_EQ(body->string_at("answer"), "Because.");
    EXPECT_EQ(body->string_at("lane"), "deep");
    const auto hits = test::listed(body->find("results"));
    ASSERT_EQ(hits.size(), 2u);
    EXPECT_EQ(hits[0].string_at("url"), "https://a.example/\"");
    EXPECT_EQ(hits[0].string_at("snippet"), "S\n");
    EXPECT_EQ(hits[0].string_at("content"), "C");
    EXPECT_EQ(hits[0].find("score")->as_number(), 0.25);
    EXPECT_EQ(hits[0].string_at("published_at"), "2026-09-14T00:00:00Z");
    for (const char* absent : {"score", "published_at", "content"}) {
        EXPECT_FALSE(hits[1].find(absent)) << absent;
    }
}

// What one answer leaves behind is in no other one, however long it was.
TEST(RenderSharedTest, OneAfterAnother) {
    const web::SearchAnswer small("q", web::Lane::kFast, "serper", "Because.", {});
    const std::string alone = render_shared(small);
    for (const std::size_t size : {std::size_t{10}, std::size_t{1'000}, std::size_t{1'000'000}}) {
        const web::SearchAnswer large("q", web::Lane::kFast, "serper", std::string(size, 'x'), {});
        EXPECT_GT(render_shared(large).size(), size);
        EXPECT_EQ(render_shared(small), alone);
        EXPECT_EQ(alone.back(), '\n');
    }
}

}  // namespace
}  // namespace sluice::surface
