// The doors to the keys: what is let in, what is refused, and what never comes out.
#include "surface/rest/keys.h"

#include "request.h"
#include "support/fake_key_store.h"
#include "support/web_harness.h"
#include "surface/rest/key_request.h"
#include "web/key_watch.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace sluice::surface {
namespace {

using namespace std::chrono_literals;
using io::Method;

constexpr const char* kSecret = "serper-secret-that-nobody-sees-4711";

class KeysDoorTest : public testing::Test {
 protected:
    io::HttpResponse ask(Method method, const std::string& path, const std::string& body = {}) {
        TestRequest request(method, path, h.clock.now());
        if (!body.empty()) {
            request.header("Content-Type", "application/json").body(body);
        }
        return finished(router.handle(request.get()), h.io, h.clock);
    }
    // The whole answer to a request that has to succeed.
    std::string ask_ok(Method method, const std::string& path, const std::string& body = {}) {
        const io::HttpResponse response = ask(method, path, body);
        EXPECT_LT(response.status, 300) << response.lead;
        EXPECT_EQ(response.lead.find(kSecret), std::string::npos) << "a secret came out";
        return response.lead;
    }
    std::string add(const std::string& members = {}) {
        const std::string body = ask_ok(
            Method::kPost, "/v1/keys",
            R"({"provider":"serper","secret":")" + std::string(kSecret) + "\"" + members + "}");
        return std::string(reader.parse(body)->string_at("id"));
    }
    std::string detail_of(const io::HttpResponse& response) {
        return std::string(reader.parse(response.lead)->string_at("detail"));
    }

    test::WebHarness h;
    test::FakeKeyStore store{h.clock};
    web::KeyWatch watch{store, h.keys, h.clock, h.log, h.metrics};
    web::KeyTrial trial{h.keys,
                        h.budgets,
                        h.web.providers(),
                        h.http,
                        h.egress,
                        h.clock,
                        [this] { return h.web.config(); }};
    web::KeyAdmin admin{h.io.get_executor(), store, watch, h.keys, trial};
    KeysDoor door{admin, h.access, h.clock};
    Router router{key_routes(door), h.access};
    JsonReader reader;
};

// A record has exactly the members of the contract, and the secret is in none of them.
TEST_F(KeysDoorTest, ARecordIsAsPromised) {
    const io::HttpResponse response =
        ask(Method::kPost, "/v1/keys",
            R"({"provider":"serper","secret":"serper-secret-that-nobody-sees-4711","label":"main",)"
            R"("account":"team","weight":3,"max_in_flight":7,"quota":{"limit":9,"per":"day"},)"
            R"("engine_id":"cx"})");
    EXPECT_EQ(response.status, 201);
    const auto record = reader.parse(response.lead);
    ASSERT_TRUE(record.ok()) << response.lead;
    std::vector<std::string> names;
    for (const auto& [name, value] : record->members()) {
        names.emplace_back(name);
    }
    EXPECT_EQ(names, (std::vector<std::string>{"id", "provider", "label", "account", "last4",
                                               "state", "status", "until", "in_flight",
                                               "max_in_flight", "weight", "quota", "used",
                                               "engine_id", "last_outcome", "created_at"}));
    EXPECT_EQ(record->string_at("last4"), "4711");
    EXPECT_EQ(record->string_at("status"), "available");
    EXPECT_EQ(record->find("quota", "limit")->as_integer(), 9);
    EXPECT_EQ(record->find("max_in_flight")->as_integer(), 7);
    EXPECT_TRUE(has_header(response, "Location: /v1/keys/" + std::string(record->string_at("id"))));
    EXPECT_EQ(response.lead.find("nobody-sees"), std::string::npos);
}

// What is added is used by the very next search; what is disabled or removed is not.
TEST_F(KeysDoorTest, ChangesAreInForceForTheNextLease) {
    EXPECT_TRUE(std::holds_alternative<web::Failure>(h.search(h.request("before"))));
    const std::string id = add();
    EXPECT_TRUE(std::holds_alternative<web::Served>(h.search(h.request("added"))));
    ask_ok(Method::kPatch, "/v1/keys/" + id, R"({"state":"disabled"})");
    EXPECT_TRUE(std::holds_alternative<web::Failure>(h.search(h.request("disabled"))));
    ask_ok(Method::kPatch, "/v1/keys/" + id, R"({"state":"active"})");
    EXPECT_TRUE(std::holds_alternative<web::Served>(h.search(h.request("enabled"))));
    EXPECT_EQ(ask(Method::kDelete, "/v1/keys/" + id).status, 204);
    EXPECT_TRUE(std::holds_alternative<web::Failure>(h.search(h.request("removed"))));
    EXPECT_EQ(ask(Method::kGet, "/v1/keys/" + id).status, 404);
}

// An operator sees how a key fares, and can end its rest.
TEST_F(KeysDoorTest, ShowsAndClearsARest) {
    const std::string id = add();
    h.rest_key("serper", web::KeyStatus::kQuarantined, 900s);
    const std::string resting = ask_ok(Method::kGet, "/v1/keys/" + id);
    EXPECT_EQ(reader.parse(resting)->string_at("status"), "quarantined");
    EXPECT_EQ(reader.parse(resting)->string_at("until"), "2026-01-01T00:15:00Z");
    EXPECT_EQ(reader.parse(resting)->string_at("last_outcome"), "rate_limited");
    const std::string cleared =
        ask_ok(Method::kPatch, "/v1/keys/" + id, R"({"clear_penalty":true})");
    EXPECT_EQ(reader.parse(cleared)->string_at("status"), "available");
    EXPECT_TRUE(reader.parse(cleared)->find("until")->is_null());
}

// null takes a bound away; what is not named stays.
TEST_F(KeysDoorTest, APatchChangesWhatItNames) {
    const std::string id = add(R"(,"label":"main","quota":{"limit":9,"per":"day"})");
    const std::string changed =
        ask_ok(Method::kPatch, "/v1/keys/" + id, R"({"quota":null,"weight":5})");
    EXPECT_FALSE(reader.parse(changed)->find("quota"));
    EXPECT_EQ(reader.parse(changed)->find("weight")->as_integer(), 5);
    EXPECT_EQ(reader.parse(changed)->string_at("label"), "main");
}

// Every mistake is told by field, with the nearest name, and costs nothing; a secret is not told.
TEST_F(KeysDoorTest, MistakesAreTold) {
    const std::string id = add();
    struct Case {
        Method method;
        std::string path;
        std::string body;
        int status;
        std::string_view said;
    };
    const std::string one = "/v1/keys/" + id;
    const Case cases[] = {
        {Method::kPost, "/v1/keys", "[]", 400, "JSON object"},
        {Method::kPost, "/v1/keys", "{", 400, ""},
        {Method::kPost, "/v1/keys", R"({"provider":"serper"})", 400, "secret: required"},
        {Method::kPost, "/v1/keys", R"({"secret":"x"})", 400, "provider: required"},
        {Method::kPost, "/v1/keys", R"({"provider":"serpr","secret":"x"})", 400, "'serper'"},
        {Method::kPost, "/v1/keys", R"({"provider":"serper","secrt":"x"})", 400, "'secret'"},
        {Method::kPost, "/v1/keys", R"({"provider":"serper","secret":"a b"})", 400, "secret:"},
        {Method::kPost, "/v1/keys", R"({"provider":"serper","secret":7})", 400, "secret:"},
        {Method::kPost, "/v1/keys", R"({"provider":"serper","secret":"x","weight":0})", 400,
         "1 to 100"},
        {Method::kPost, "/v1/keys", R"({"provider":"serper","secret":"x","weight":101})", 400,
         "1 to 100"},
        {Method::kPost, "/v1/keys", R"({"provider":"serper","secret":"x","max_in_flight":1001})",
         400, "max_in_flight"},
        {Method::kPost, "/v1/keys", R"({"provider":"serper","secret":"x","quota":5})", 400,
         "limit"},
        {Method::kPost, "/v1/keys",
         R"({"provider":"serper","secret":"x","quota":{"limit":5,"per":"0s"}})", 400, "quota.per"},
        {Method::kPost, "/v1/keys",
         R"({"provider":"serper","secret":"x","quota":{"limit":5,"per":"367d"}})", 400,
         "quota.per"},
        {Method::kPost, "/v1/keys",
         R"({"provider":"serper","secret":"x","quota":{"limit":5,"per":"week"}})", 400,
         "day month total"},
        {Method::kPost, "/v1/keys", R"({"provider":"serper","secret":"x","quota":{"limit":5}})",
         400, "quota"},
        {Method::kPost, "/v1/keys",
         R"({"provider":"serper","secret":"x","quota":{"limt":5,"per":"day"}})", 400, "'limit'"},
        {Method::kPost, "/v1/keys", R"({"provider":"serper","secret":"x","label":"a\u0007b"})", 400,
         "label"},
        {Method::kPost, "/v1/keys", R"({"provider":"serper","provider":"exa","secret":"x"})", 400,
         "given twice"},
        {Method::kPost, "/v1/keys",
         R"({"provider":"serper","secret":"serper-secret-that-nobody-sees-4711"})", 409, ""},
        {Method::kPatch, one, "{}", 400, "at least one"},
        {Method::kPatch, one, R"({"state":"off"})", 400, "active or disabled"},
        {Method::kPatch, one, R"({"stat":"active"})", 400, "'state'"},
        {Method::kPatch, one, R"({"secret":"x"})", 400, "unknown field"},
        {Method::kPatch, one, R"({"clear_penalty":1})", 400, "true or false"},
        {Method::kPatch, "/v1/keys/nonesuch", R"({"weight":1})", 404, "no key of that id"},
        {Method::kPatch, "/v1/keys/nonesuch", R"({"clear_penalty":true})", 404, "no key"},
        {Method::kGet, "/v1/keys/nonesuch", "", 404, "no key of that id"},
        {Method::kGet, "/v1/keys/", "", 404, "no such path"},
        {Method::kGet, "/v1/keys/a/b", "", 404, "no such path"},
        {Method::kDelete, "/v1/keys/nonesuch", "", 404, "no key of that id"},
        {Method::kPost, "/v1/keys/nonesuch/test", "", 404, "no key of that id"},
        {Method::kPut, one, "{}", 405, "DELETE, GET, HEAD, OPTIONS, PATCH"},
    };
    for (const Case& c : cases) {
        const io::HttpResponse response = ask(c.method, c.path, c.body);
        EXPECT_EQ(response.status, c.status) << c.path << " " << c.body << "\n" << response.lead;
        EXPECT_NE(detail_of(response).find(c.said), std::string::npos) << detail_of(response);
        EXPECT_EQ(response.lead.find("nobody-sees"), std::string::npos) << response.lead;
    }
    EXPECT_EQ(h.keys.size(), 1u);
}

// As soon as tokens exist, only one with the scope admin looks at keys.
TEST_F(KeysDoorTest, NeedsTheScopeAdmin) {
    std::vector<access::StoredToken> stored(1);
    stored[0].record.id = "t";
    stored[0].record.scopes = {access::Scope::kSearch, access::Scope::kStatus};
    h.tokens.reload(stored);
    for (const auto method : {Method::kGet, Method::kPost}) {
        EXPECT_EQ(ask(method, "/v1/keys", method == Method::kPost ? "{}" : "").status, 401);
    }
    EXPECT_EQ(ask(Method::kDelete, "/v1/keys/a").status, 401);
    EXPECT_EQ(ask(Method::kPatch, "/v1/keys/a", "{}").status, 401);
    EXPECT_EQ(ask(Method::kPost, "/v1/keys/a/test").status, 401);
}

// A trial says what the provider made of the key and punishes nobody, a disabled key's included.
TEST_F(KeysDoorTest, ATrialPunishesNobody) {
    const std::string id = add();
    ask_ok(Method::kPatch, "/v1/keys/" + id, R"({"state":"disabled"})");
    ask_ok(Method::kPatch, "/v1/keys/" + id, R"({"state":"active"})");
    const auto result = [&](int status, const std::string& body) {
        h.http.set_responder([=](const io::ClientRequest& request) {
            return status == 200 ? test::ok_answer(request) : test::status_answer(status, body);
        });
        const std::string answer = ask_ok(Method::kPost, "/v1/keys/" + id + "/test");
        return std::string(reader.parse(answer)->string_at("result"));
    };
    const std::string json = R"({"message":"no"})";
    EXPECT_EQ(result(200, json), "valid");
    EXPECT_EQ(result(401, json), "invalid");
    EXPECT_EQ(result(402, json), "quota");
    EXPECT_EQ(result(429, json), "unknown");
    EXPECT_EQ(result(500, json), "unknown");
    EXPECT_EQ(result(403, "<html>blocked</html>"), "unknown");
    EXPECT_EQ(h.key_counts("serper"), web::KeyCounts{.available = 1});
    const std::string record = ask_ok(Method::kGet, "/v1/keys/" + id);
    EXPECT_EQ(reader.parse(record)->find("used")->as_integer(), 0);
}

// Trials cost money: there are only so many a minute.
TEST_F(KeysDoorTest, TrialsAreRateLimited) {
    const std::string id = add();
    for (int i = 0; i < web::KeyTrial::kBurst; ++i) {
        ask_ok(Method::kPost, "/v1/keys/" + id + "/test");
    }
    const io::HttpResponse refused = ask(Method::kPost, "/v1/keys/" + id + "/test");
    EXPECT_EQ(refused.status, 429);
    EXPECT_TRUE(has_header(refused, "Retry-After: 6")) << refused.headers;
    h.clock.advance(6s);
    ask_ok(Method::kPost, "/v1/keys/" + id + "/test");
}

// While the store is away changes are refused with 503 and searching goes on; what was done to keys
// by others is seen once it is back.
TEST_F(KeysDoorTest, SearchingOutlivesTheStore) {
    const std::string id = add();
    store.away = true;
    const io::HttpResponse refused =
        ask(Method::kPatch, "/v1/keys/" + id, R"({"state":"disabled"})");
    EXPECT_EQ(refused.status, 503);
    EXPECT_NE(refused.lead.find("\"code\":\"unavailable\""), std::string::npos);
    EXPECT_EQ(ask(Method::kDelete, "/v1/keys/" + id).status, 503);
    EXPECT_TRUE(std::holds_alternative<web::Served>(h.search(h.request("meanwhile"))));
    ask_ok(Method::kGet, "/v1/keys");
    store.away = false;
    ask_ok(Method::kPatch, "/v1/keys/" + id, R"({"state":"disabled"})");
}

}  // namespace
}  // namespace sluice::surface
