// Which door a request reaches, and what is said when there is none.
#include "surface/common/router.h"

#include "access/tokens.h"
#include "request.h"

#include <gtest/gtest.h>

#include <memory>

namespace sluice::surface {
namespace {

using io::Method;

io::HttpResponse says(std::string text) {
    io::HttpResponse response;
    response.headers = "Content-Type: text/plain\r\n";
    response.lead = std::move(text);
    return response;
}

Task<io::HttpResponse> says_later(std::string text) {
    co_return says(std::move(text));
}

access::AccessConfig with_origin() {
    access::AccessConfig config;
    config.cors_origins = {"https://app.example"};
    return config;
}

class RouterTest : public testing::Test {
 protected:
    static std::vector<Route> routes() {
        return {
            {Method::kGet, "/thing", [](const io::HttpRequest&) { return says("got"); }},
            {Method::kPost, "/thing", [](const io::HttpRequest&) { return says("posted"); }},
            {Method::kGet, "/later", [](const io::HttpRequest&) { return says_later("later"); }},
            {Method::kPost, "/secret", [](const io::HttpRequest&) { return says("done"); }, true},
        };
    }

    io::HttpResponse ask(const TestRequest& request) {
        return finished(router_.handle(request.get()), io_, clock_);
    }
    io::HttpResponse ask(Method method, std::string target) {
        return ask(TestRequest(method, std::move(target), clock_.now()));
    }

    boost::asio::io_context io_{1};
    test::ManualClock clock_;
    obs::Metrics metrics_;
    access::TokenTable tokens_;
    access::Access access_{with_origin(), true, {"127.0.0.1"}, tokens_, clock_, metrics_};
    Router router_{routes(), access_};
};

// Path and method find the door; the query string plays no part.
TEST_F(RouterTest, PathAndMethodFindTheDoor) {
    EXPECT_EQ(ask(Method::kGet, "/thing").lead, "got");
    EXPECT_EQ(ask(Method::kGet, "/thing?a=b").lead, "got");
    EXPECT_EQ(ask(Method::kPost, "/thing").lead, "posted");
    EXPECT_EQ(ask(Method::kGet, "/later").lead, "later");
}

// HEAD is answered by the GET door; the server leaves the body out.
TEST_F(RouterTest, HeadIsServedByGet) {
    EXPECT_EQ(ask(Method::kHead, "/thing").lead, "got");
    EXPECT_EQ(ask(Method::kHead, "/secret").status, 404);
}

// Paths are exact: no prefix, no trailing slash, no other case.
TEST_F(RouterTest, AnythingElseIsNotFound) {
    for (const char* target : {"/", "/thing/", "/thin", "/things", "/Thing", "//thing", "", "*"}) {
        SCOPED_TRACE(target);
        const io::HttpResponse response = ask(Method::kGet, target);
        EXPECT_EQ(response.status, 404);
        EXPECT_NE(response.lead.find("\"code\":\"not_found\""), std::string::npos);
        EXPECT_TRUE(has_header(response, "X-Content-Type-Options: nosniff"));
    }
}

// A method that the path does not take is 405 with what it takes (RFC 9110, 15.5.6).
TEST_F(RouterTest, OtherMethodsAreRefusedWithAllow) {
    for (Method method : {Method::kPut, Method::kPatch, Method::kDelete, Method::kOther}) {
        const io::HttpResponse response = ask(method, "/thing");
        EXPECT_EQ(response.status, 405);
        EXPECT_TRUE(has_header(response, "Allow: GET, HEAD, OPTIONS, POST")) << response.headers;
        EXPECT_NE(response.lead.find("method_not_allowed"), std::string::npos);
    }
    EXPECT_TRUE(has_header(ask(Method::kPost, "/later"), "Allow: GET, HEAD, OPTIONS"));
}

// OPTIONS is what browsers ask before they send a request with a token.
TEST_F(RouterTest, OptionsTellsWhatIsAllowed) {
    TestRequest request(Method::kOptions, "/thing", clock_.now());
    request.header("Origin", "https://app.example");
    const io::HttpResponse response = ask(request);
    EXPECT_EQ(response.status, 204);
    EXPECT_TRUE(body_of(response).empty());
    EXPECT_TRUE(has_header(response, "Allow: GET, HEAD, OPTIONS, POST"));
    EXPECT_TRUE(has_header(response, "Access-Control-Allow-Methods: GET, HEAD, OPTIONS, POST"));
    EXPECT_TRUE(has_header(response, "Access-Control-Allow-Origin: https://app.example"));
    EXPECT_NE(response.headers.find("Access-Control-Allow-Headers: Authorization, Content-Type"),
              std::string::npos);
}

// Pages of a listed origin may read answers, at once and late, errors too; nobody else's may, and
// never everybody's.
TEST_F(RouterTest, CorsIsForListedOriginsOnly) {
    struct Case {
        const char* origin;
        bool allowed;
    };
    const Case cases[] = {
        {"https://app.example", true},
        {"https://other.example", false},
        {"http://app.example", false},
        {"https://app.example.evil.example", false},
        {"null", false},
    };
    for (const Case& c : cases) {
        for (const char* target : {"/thing", "/later"}) {
            SCOPED_TRACE(std::string(c.origin) + " " + target);
            TestRequest request(Method::kGet, target, clock_.now());
            request.header("Origin", c.origin);
            const io::HttpResponse response = ask(request);
            EXPECT_EQ(has_header(response, "Access-Control-Allow-Origin: " + std::string(c.origin)),
                      c.allowed);
            EXPECT_EQ(has_header(response, "Vary: Origin"), c.allowed);
            EXPECT_EQ(response.headers.find("Access-Control-Allow-Origin: *"), std::string::npos);
        }
    }
    TestRequest wrong(Method::kDelete, "/thing", clock_.now());
    wrong.header("Origin", "https://app.example");
    EXPECT_TRUE(has_header(ask(wrong), "Access-Control-Allow-Origin: https://app.example"));
    EXPECT_EQ(ask(Method::kGet, "/thing").headers.find("Access-Control"), std::string::npos);
}

// What only the admin socket may do does not exist elsewhere, whatever the method.
TEST_F(RouterTest, AdminRoutesExistOnTheSocketOnly) {
    EXPECT_EQ(ask(Method::kPost, "/secret").status, 404);
    EXPECT_EQ(ask(Method::kOptions, "/secret").status, 404);
    TestRequest request(Method::kPost, "/secret", clock_.now());
    request.over_unix_socket();
    EXPECT_EQ(ask(request).lead, "done");
}

// A large body is not read for a request that no door would take; where one might, the head is let
// pass, and the doors decide.
TEST_F(RouterTest, HeadsThatSayEnoughAreRefused) {
    struct Case {
        Method method;
        std::string path;
        std::string content_type;
        std::string token;
        int status;  // 0: let pass
    };
    const std::vector<Case> cases = {
        {Method::kPost, "/nothing", "", "", 404},
        {Method::kPost, "/secret", "", "", 404},
        {Method::kPut, "/thing", "", "", 405},
        {Method::kPost, "/thing", "text/plain", "", 415},
        {Method::kPost, "/thing", "application/json", "slu_unknown", 401},
        {Method::kPost, "/thing", "application/json; charset=utf-8", "", 0},
        {Method::kPost, "/thing", "", "", 0},
        {Method::kGet, "/thing", "text/plain", "slu_unknown", 0},
    };
    for (const Case& c : cases) {
        TestRequest request(c.method, c.path, clock_.now());
        if (!c.content_type.empty()) {
            request.header("Content-Type", c.content_type);
        }
        if (!c.token.empty()) {
            request.header("X-Api-Key", c.token);
        }
        const auto refusal = router_.refuse_head(request.get());
        EXPECT_EQ(refusal ? refusal->status : 0, c.status) << c.path << " " << c.content_type;
        if (refusal) {
            EXPECT_TRUE(has_header(*refusal, "X-Content-Type-Options: nosniff"));
        }
    }
    TestRequest foreign(Method::kPost, "/thing", clock_.now());
    foreign.header("Origin", "https://elsewhere.example");
    EXPECT_EQ(router_.refuse_head(foreign.get()).value().status, 403);
}

// What never became a request is refused in the native dialect, with the id that is logged.
TEST_F(RouterTest, RefusalsAreProblems) {
    SeededRandom random(3);
    const RequestId id = RequestId::make(random);
    const io::HttpResponse response =
        router_.refuse(Error{Code::kHeadersTooLarge, Blame::kCaller, "too large", {}}, id);
    EXPECT_EQ(response.status, 431);
    EXPECT_NE(response.lead.find(std::string(id.text())), std::string::npos);
    EXPECT_TRUE(has_header(response, "X-Content-Type-Options: nosniff"));
}

}  // namespace
}  // namespace sluice::surface
