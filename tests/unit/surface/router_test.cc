// Which door a request reaches, and what is said when there is none.
#include "surface/common/router.h"

#include "access/tokens.h"
#include "request.h"
#include "surface/common/errors.h"

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

// What browsers and programs say that they like, and which of them get a page.
TEST_F(RouterTest, APageIsForWhoPrefersOne) {
    struct Case {
        const char* accept;
        bool html;
    };
    const Case cases[] = {
        {"", false},
        {"*/*", false},
        {"application/json", false},
        {"text/plain", false},
        {"text/html", true},
        {"TEXT/HTML", true},
        {"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
         true},
        {"application/xhtml+xml", true},
        {"text/html, text/plain, */*;q=0.01", true},
        {"text/html, */*", true},
        {"*/*, text/html;q=0.5", false},
        {"text/html;q=0", false},
        {"text/html;q=0.0, */*;q=0", false},
        {"text/html;q=x", false},
        {"application/json, text/html", false},
        {"application/json;q=0.9, text/html", true},
        {"application/json, text/html;q=0.9", false},
        {"application/problem+json, text/html;q=0.9", false},
        {"application/*, text/html", false},
        {"image/avif,image/webp,*/*;q=0.8", false},
        {"text/htmlx, text/*", false},
        {";;q=,,", false},
    };
    Router router(routes(), access_, [](const io::HttpRequest& request, const Error& error) {
        io::HttpResponse page;
        page.status = error_row(error.code).status;
        page.lead = "<p>" + std::string(request.path);
        return page;
    });
    for (const Case& c : cases) {
        SCOPED_TRACE(c.accept);
        TestRequest missing(Method::kGet, "/nowhere?a=b", clock_.now());
        TestRequest wrong(Method::kDelete, "/thing", clock_.now());
        if (*c.accept != '\0') {
            missing.header("Accept", c.accept);
            wrong.header("Accept", c.accept);
        }
        const io::HttpResponse not_found = finished(router.handle(missing.get()), io_, clock_);
        EXPECT_EQ(not_found.status, 404);
        EXPECT_EQ(not_found.lead == "<p>/nowhere", c.html) << not_found.lead;
        EXPECT_TRUE(has_header(not_found, "X-Content-Type-Options: nosniff"));
        const io::HttpResponse refused = finished(router.handle(wrong.get()), io_, clock_);
        EXPECT_EQ(refused.status, 405);
        EXPECT_EQ(refused.lead == "<p>/thing", c.html) << refused.lead;
        EXPECT_TRUE(has_header(refused, "Allow: GET, HEAD, OPTIONS, POST"));
        EXPECT_NE(ask(missing).lead.find("\"code\""), std::string::npos) << "there are no pages";
    }
    TestRequest two_lines(Method::kGet, "/nowhere", clock_.now());
    two_lines.header("accept", "text/html").header("accept", "application/json");
    EXPECT_EQ(finished(router.handle(two_lines.get()), io_, clock_).lead[0], '{');
}

// People type a slash at the end of a page's address; programs are told that there is nothing.
TEST_F(RouterTest, ASlashTooManyLeadsToThePage) {
    std::vector<Route> with_pages = routes();
    for (const char* path : {"/", "/find", "/p/{slug}"}) {
        Route page{Method::kGet, path, [](const io::HttpRequest&) { return says("page"); }};
        page.is_page = true;
        with_pages.push_back(std::move(page));
    }
    Router router(std::move(with_pages), access_);
    struct Case {
        Method method;
        const char* target;
        const char* location;  // null: 404
    };
    const Case cases[] = {
        {Method::kGet, "/find/", "/find"},
        {Method::kHead, "/find/", "/find"},
        {Method::kGet, "/find/?q=a%20b&q=/", "/find?q=a%20b&q=/"},
        {Method::kGet, "/p/caf%C3%A9/", "/p/caf%C3%A9"},
        {Method::kGet, "/p/a/?", "/p/a"},
        {Method::kGet, "//", "/"},
        {Method::kGet, "/find//", nullptr},
        {Method::kGet, "/p//", nullptr},
        {Method::kGet, "/p/", nullptr},
        {Method::kGet, "/p/a/b/", nullptr},
        {Method::kPost, "/find/", nullptr},
        {Method::kGet, "/thing/", nullptr},
        {Method::kGet, "//evil.example/", nullptr},
        {Method::kGet, "/p/\xC3\xA9/", nullptr},
    };
    for (const Case& c : cases) {
        SCOPED_TRACE(c.target);
        const TestRequest request(c.method, c.target, clock_.now());
        const io::HttpResponse response = finished(router.handle(request.get()), io_, clock_);
        EXPECT_EQ(response.status, c.location == nullptr ? 404 : 308);
        if (c.location != nullptr) {
            EXPECT_TRUE(has_header(response, "Location: " + std::string(c.location)))
                << response.headers;
            EXPECT_TRUE(has_header(response, "Cache-Control: private, no-store"));
            EXPECT_TRUE(has_header(response, "Referrer-Policy: no-referrer"));
        }
    }
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
