// The recorded providers that wire tests and simulations rely on.
#include "support/provider_upstream.h"

#include "base/json.h"
#include "http_client_fixture.h"

#include <string_view>

namespace sluice::io {
namespace {

using test::ProviderUpstream;

class ProviderUpstreamTest : public HttpClientFixture {
 protected:
    ProviderUpstreamTest() : providers_({.fixtures = "tests/cases/providers"}) {}

    int control(std::string body) {
        ClientRequest what = request(providers_.server().url("/_control"));
        what.method = Method::kPost;
        what.body = std::move(body);
        const auto result = send(what);
        return result.ok() ? result->status : 0;
    }

    // The status of a search, or 0 when there was no answer.
    int search(std::string_view provider, Millis within = 5s) {
        ClientRequest what = request(providers_.base_url(provider) + "/search", within);
        what.method = Method::kPost;
        what.body = "{\"q\":\"glaze\"}";
        const auto result = send(what);
        return result.ok() ? result->status : 0;
    }

    ProviderUpstream providers_;
};

// Guards that a fixture arrives as it was recorded: status, headers and the same JSON.
TEST_F(ProviderUpstreamTest, ServesFixtures) {
    const auto result = get(providers_.base_url("serper") + "/search");
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->status, 200);
    EXPECT_EQ(result->header("content-type"), "application/json");
    JsonReader reader;
    const auto body = reader.parse(result->body);
    ASSERT_TRUE(body.ok());
    EXPECT_EQ(body->string_at("searchParameters", "q"), "stoneware glaze chemistry");
    EXPECT_FALSE(body->find("organic")->elements().empty());
    EXPECT_EQ(get(providers_.server().url("/nobody/search"))->status, 404);
}

// Guards the control door: behaviours begin, are per provider, wear off and are checked.
TEST_F(ProviderUpstreamTest, ChangesBehaviourOnRequest) {
    EXPECT_EQ(control(R"({"provider":"serper","fixture":"rate_limited","times":2})"), 200);
    EXPECT_EQ(search("tavily"), 200);
    EXPECT_EQ(search("serper"), 429);
    EXPECT_EQ(search("serper"), 429);
    EXPECT_EQ(search("serper"), 200);
    EXPECT_EQ(control(R"({"provider":"serper","status":503,"delay_ms":1})"), 200);
    EXPECT_EQ(search("serper"), 503);
    EXPECT_EQ(search("serper"), 503);
    EXPECT_EQ(control(R"({"provider":"serper"})"), 200);
    EXPECT_EQ(search("serper"), 200);
    for (const auto* bad :
         {R"({"provider":"nobody"})", R"({"provider":"serper","fixture":"nothing"})",
          R"({"provider":"serper","fault":"sulk"})", "{}", "nonsense"}) {
        EXPECT_EQ(control(bad), 400) << bad;
    }
}

// Guards that every fault is one: none of them gives a usable answer in time.
TEST_F(ProviderUpstreamTest, MisbehavesOnRequest) {
    for (const std::string fault :
         {"stall", "cut", "garbage", "bomb", "huge", "slow", "refuse", "reset"}) {
        EXPECT_EQ(control(R"({"provider":"tavily","fault":")" + fault + "\"}"), 200) << fault;
        EXPECT_EQ(search("tavily", fault == "stall" || fault == "slow" ? 100ms : 5000ms), 0)
            << fault;
    }
    EXPECT_EQ(search("serper"), 200);
}

// Guards what tests assert on: the requests, without those to the control door.
TEST_F(ProviderUpstreamTest, ListsAndForgetsRequests) {
    EXPECT_EQ(control(R"({"provider":"serper"})"), 200);
    EXPECT_EQ(search("serper"), 200);
    JsonReader reader;
    const auto listed = get(providers_.server().url("/_requests"));
    ASSERT_TRUE(listed.ok());
    const auto requests = reader.parse(listed->body);
    ASSERT_TRUE(requests.ok());
    ASSERT_EQ(requests->elements().size(), 1U);
    const JsonValue only = requests->elements().front();
    EXPECT_EQ(only.string_at("method"), "POST");
    EXPECT_EQ(only.string_at("target"), "/serper/search");
    EXPECT_EQ(only.string_at("body"), "{\"q\":\"glaze\"}");
    EXPECT_EQ(only.string_at("headers", "User-Agent"), "sluice");

    ClientRequest forget = request(providers_.server().url("/_requests"));
    forget.method = Method::kDelete;
    ASSERT_TRUE(send(forget).ok());
    EXPECT_EQ(get(providers_.server().url("/_requests"))->body, "[]");
}

}  // namespace
}  // namespace sluice::io
