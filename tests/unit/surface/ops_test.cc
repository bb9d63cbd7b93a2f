// What probes and operators are told.
#include "surface/rest/ops.h"

#include "base/random.h"
#include "io/postgres.h"
#include "io/postgres_url.h"
#include "request.h"
#include "support/web_harness.h"

#include <gtest/gtest.h>

namespace sluice::surface {
namespace {

using namespace std::chrono_literals;
using io::Method;

class OpsDoorTest : public testing::Test {
 protected:
    using Function = io::HttpReply (OpsDoor::*)(const io::HttpRequest&);

    io::HttpResponse ask(Function function) { return ask(door, function); }
    io::HttpResponse ask(OpsDoor& asked, Function function, std::string target = "/") {
        const TestRequest request(Method::kGet, std::move(target), h.clock.now());
        return finished((asked.*function)(request.get()), h.io, h.clock);
    }

    test::WebHarness h;
    OpsDoor door{h.web, h.access, nullptr, h.metrics, h.clock, "1.2.3", TitlesServed::kNo};
    JsonReader reader;
};

// Alive is not ready: a gateway without a usable key must not get searches, but must not be killed.
TEST_F(OpsDoorTest, ReadyFollowsTheKeys) {
    EXPECT_EQ(ask(&OpsDoor::healthz).status, 200);
    const io::HttpResponse none = ask(&OpsDoor::readyz);
    EXPECT_EQ(none.status, 503);
    EXPECT_NE(none.lead.find("TAVILY_API_KEYS"), std::string::npos);
    h.add_key("tavily", "tvly-key-number-one");
    EXPECT_EQ(ask(&OpsDoor::readyz).status, 200);
    // The only key rests: not ready until it is back.
    h.rest_key("tavily", web::KeyStatus::kCooling, 30s);
    const io::HttpResponse resting = ask(&OpsDoor::readyz);
    EXPECT_EQ(resting.status, 503);
    EXPECT_NE(resting.lead.find("1 cooling"), std::string::npos) << resting.lead;
    h.clock.advance(30s);
    EXPECT_EQ(ask(&OpsDoor::readyz).status, 200);
    // A provider that is switched off does not count.
    web::WebConfig config = test::harness_config();
    config.providers.find("tavily")->second.enabled = false;
    h.web.reconfigure(std::move(config));
    const io::HttpResponse switched_off = ask(&OpsDoor::readyz);
    EXPECT_EQ(switched_off.status, 503);
    EXPECT_NE(switched_off.lead.find("for no provider that is enabled"), std::string::npos);
}

// A gateway that serves titles is ready for those when nobody gave it a key, and says what it can't
// do; with a key it is there for web searches, too, and is ready when those can be served. Whoever
// needs one of the two asks for it.
TEST_F(OpsDoorTest, ATitleSearchNeedsNoKey) {
    OpsDoor both(h.web, h.access, nullptr, h.metrics, h.clock, "1.2.3", TitlesServed::kYes);
    const auto ready = [&](OpsDoor& asked, const char* target) {
        return ask(asked, &OpsDoor::readyz, target);
    };
    const io::HttpResponse keyless = ready(both, "/readyz");
    ASSERT_EQ(keyless.status, 200) << keyless.lead;
    const auto body = reader.parse(keyless.lead);
    EXPECT_EQ(body->string_at("status"), "ready");
    EXPECT_NE(body->find("without", "web")->as_string()->find("there is no key"), std::string::npos)
        << keyless.lead;
    EXPECT_EQ(ready(both, "/readyz?need=web").status, 503);
    EXPECT_EQ(ready(both, "/readyz?need=titles").lead, "{\"status\":\"ready\"}\n");
    EXPECT_EQ(ready(both, "/readyz?need=").status, 200);
    EXPECT_EQ(ready(both, "/readyz?other=1").status, 200);
    EXPECT_EQ(ready(both, "/readyz?need=everything").status, 400);
    EXPECT_EQ(ready(door, "/readyz?need=titles").status, 503) << "it serves none";
    EXPECT_EQ(ready(door, "/readyz").status, 503);

    h.add_key("tavily", "tvly-key-number-one");
    EXPECT_EQ(ready(both, "/readyz").lead, "{\"status\":\"ready\"}\n");
    EXPECT_EQ(ready(both, "/readyz?need=web").status, 200);
    h.rest_key("tavily", web::KeyStatus::kCooling, 30s);
    EXPECT_EQ(ready(both, "/readyz").status, 503) << "it has a key, and that rests";
    EXPECT_EQ(ready(both, "/readyz?need=titles").status, 200);
    h.tokens.set_unknown();
    EXPECT_EQ(ready(both, "/readyz?need=titles").status, 503);
    h.tokens.reload({});
    both.start_draining();
    EXPECT_EQ(ready(both, "/readyz?need=titles").status, 503);
}

// Pages that are in a database are served by nobody while it is away.
TEST_F(OpsDoorTest, TitlesNeedTheirDatabase) {
    io::PostgresConfig config;
    config.target = io::parse_postgres_url("postgresql://sluice@127.0.0.1:1/sluice").value();
    SeededRandom random{7};
    const io::PostgresClient away(h.io.get_executor(), config, "", h.clock, random, h.log,
                                  h.metrics);
    OpsDoor both(h.web, h.access, &away, h.metrics, h.clock, "1.2.3", TitlesServed::kYes);
    for (const char* target : {"/readyz?need=titles", "/readyz"}) {
        const io::HttpResponse answer = ask(both, &OpsDoor::readyz, target);
        EXPECT_EQ(answer.status, 503) << target;
        EXPECT_NE(answer.lead.find("pages are in a database that can't be used"),
                  std::string::npos);
    }
    h.add_key("tavily", "tvly-key-number-one");
    EXPECT_EQ(ask(both, &OpsDoor::readyz, "/readyz").status, 200)
        << "web searches go on with what is in memory";
}

// While tokens are not known nobody is sent here, whatever keys there are.
TEST_F(OpsDoorTest, WithoutItsTokensItIsNotReady) {
    h.add_key("serper", "serper-key-number-one");
    h.tokens.set_unknown();
    const io::HttpResponse response = ask(&OpsDoor::readyz);
    EXPECT_EQ(response.status, 503);
    EXPECT_NE(response.lead.find("the database can't be used"), std::string::npos);
    h.tokens.reload({});
    EXPECT_EQ(ask(&OpsDoor::readyz).status, 200);
}

// From the first moment of a shutdown balancers are told to send elsewhere.
TEST_F(OpsDoorTest, DrainingIsNotReady) {
    h.add_key("serper", "serper-key-number-one");
    door.start_draining();
    const io::HttpResponse response = ask(&OpsDoor::readyz);
    EXPECT_EQ(response.status, 503);
    EXPECT_NE(response.lead.find("\"code\":\"unavailable\""), std::string::npos);
    EXPECT_EQ(ask(&OpsDoor::healthz).status, 200);
}

// The status page counts what is there; no key and no secret is on it.
TEST_F(OpsDoorTest, StatusCounts) {
    h.add_key("serper", "serper-key-number-one");
    h.search(h.request("kiln"));
    h.clock.advance(5s);
    const io::HttpResponse response = ask(&OpsDoor::status);
    const auto body = reader.parse(response.lead);
    ASSERT_TRUE(body.ok()) << response.lead;
    EXPECT_EQ(body->string_at("version"), "1.2.3");
    EXPECT_EQ(body->find("uptime_s")->as_integer(), 5);
    EXPECT_EQ(body->find("scheduler", "fast", "running")->as_integer(), 0);
    EXPECT_EQ(body->find("scheduler", "deep", "concurrency")->as_integer(), 16);
    EXPECT_EQ(body->find("scheduler", "flights")->as_integer(), 0);
    EXPECT_EQ(body->find("cache", "entries")->as_integer(), 1);
    EXPECT_GT(body->find("cache", "bytes")->as_integer(), 0);
    EXPECT_EQ(body->find("keys", "serper", "available")->as_integer(), 1);
    EXPECT_EQ(body->find("providers", "tavily", "enabled")->as_boolean(), true);
    EXPECT_EQ(response.lead.find("serper-key"), std::string::npos);
}

// An operator sees which provider is left alone, since what and until when.
TEST_F(OpsDoorTest, StatusShowsCircuits) {
    h.add_key("serper", "serper-key-number-one");
    h.http.set_responder([](const io::ClientRequest&) { return test::status_answer(502); });
    for (const char* query : {"a", "b", "c"}) {
        h.search(h.request(query));
    }
    const io::HttpResponse response = ask(&OpsDoor::status);
    const auto body = reader.parse(response.lead);
    ASSERT_TRUE(body.ok()) << response.lead;
    const auto serper = body->find("circuits", "serper");
    ASSERT_TRUE(serper);
    EXPECT_EQ(serper->string_at("state"), "open");
    EXPECT_EQ(serper->string_at("reopens_at"), "2026-01-01T00:00:05.000Z");
    EXPECT_EQ(serper->string_at("reason"), "server_error (HTTP 502)");
    EXPECT_EQ(body->find("circuits", "tavily")->string_at("state"), "closed");
    EXPECT_EQ(body->find("egress")->string_at("policy"), "direct");
}

// Metrics that describe the cache are sampled, so that what is documented is there.
TEST_F(OpsDoorTest, MetricsHaveTheCache) {
    h.add_key("serper", "serper-key-number-one");
    h.search(h.request("kiln"));
    const io::HttpResponse response = ask(&OpsDoor::metrics);
    EXPECT_TRUE(has_header(response, "Content-Type: text/plain; version=0.0.4; charset=utf-8"));
    EXPECT_NE(response.lead.find("\nsluice_web_cache_entries 1\n"), std::string::npos);
    EXPECT_NE(response.lead.find("\nsluice_web_cache_bytes "), std::string::npos);
    EXPECT_EQ(response.lead.find("kiln"), std::string::npos);
}

// The purge says how many answers are gone, and they are.
TEST_F(OpsDoorTest, PurgeForgets) {
    h.add_key("serper", "serper-key-number-one");
    h.search(h.request("kiln"));
    EXPECT_EQ(ask(&OpsDoor::purge_cache).lead, "{\"purged\":1,\"purged_results\":1}\n");
    EXPECT_EQ(ask(&OpsDoor::purge_cache).lead, "{\"purged\":0,\"purged_results\":0}\n");
}

}  // namespace
}  // namespace sluice::surface
