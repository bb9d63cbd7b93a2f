// The one table from errors to HTTP, and the body that native callers read.
#include "surface/common/errors.h"

#include "request.h"

#include <gtest/gtest.h>

#include <set>

namespace sluice::surface {
namespace {

using namespace std::chrono_literals;

RequestId an_id() {
    SeededRandom random(7);
    return RequestId::make(random);
}

// Every code has a row of its own with a status that HTTP calls an error, a title, and help that is
// a sentence; names of codes are unique, since callers compare them.
TEST(ErrorTableTest, EveryCodeHasARow) {
    std::set<std::string_view> names;
    std::size_t index = 0;
    for (const ErrorRow& row : all_error_rows()) {
        SCOPED_TRACE(to_string(row.code));
        EXPECT_EQ(static_cast<std::size_t>(row.code), index++);
        EXPECT_EQ(&error_row(row.code), &row);
        EXPECT_TRUE(names.insert(to_string(row.code)).second);
        EXPECT_GE(row.status, 400);
        EXPECT_LE(row.status, 599);
        EXPECT_FALSE(row.title.empty());
        EXPECT_FALSE(row.title.ends_with('.'));
        EXPECT_TRUE(row.help.ends_with('.'));
    }
    EXPECT_EQ(index, static_cast<std::size_t>(Code::kInternal) + 1);
}

// Each code renders as a problem of RFC 9457 whose members agree with the row and the error.
TEST(ErrorTableTest, EveryCodeRendersAsAProblem) {
    const RequestId id = an_id();
    JsonReader reader;
    for (const ErrorRow& row : all_error_rows()) {
        SCOPED_TRACE(to_string(row.code));
        const Error error{row.code, Blame::kProvider, "what \"happened\"", {}};
        const io::HttpResponse response = problem(error, id);
        EXPECT_EQ(response.status, row.status);
        EXPECT_TRUE(has_header(response, "Content-Type: application/problem+json"));
        EXPECT_TRUE(has_header(response, "Cache-Control: private, no-store"));
        const std::string text = body_of(response);
        EXPECT_TRUE(text.ends_with("}\n"));
        const auto body = reader.parse(text);
        ASSERT_TRUE(body.ok()) << text;
        const std::string name(to_string(row.code));
        EXPECT_EQ(body->string_at("type"), "urn:sluice:error:" + name);
        EXPECT_EQ(body->string_at("title"), row.title);
        EXPECT_EQ(body->find("status")->as_integer(), row.status);
        EXPECT_EQ(body->string_at("detail"), "what \"happened\"");
        EXPECT_EQ(body->string_at("code"), name);
        EXPECT_EQ(body->string_at("request_id"), id.text());
        EXPECT_EQ(body->string_at("blame"), "provider");
        EXPECT_FALSE(body->find("retry_after_ms"));
        EXPECT_EQ(response.headers.find("Retry-After"), std::string::npos);
    }
}

// A client that only knows the header never comes back too early, and never at once.
TEST(ErrorTableTest, RetryAfterIsRoundedUpToWholeSeconds) {
    struct Case {
        Millis wait;
        std::string_view header;
        std::int64_t millis;
    };
    const Case cases[] = {
        {0ms, "Retry-After: 1", 0},          {1ms, "Retry-After: 1", 1},
        {1000ms, "Retry-After: 1", 1000},    {1001ms, "Retry-After: 2", 1001},
        {60000ms, "Retry-After: 60", 60000}, {-5ms, "Retry-After: 1", 0},
    };
    JsonReader reader;
    for (const Case& c : cases) {
        SCOPED_TRACE(c.wait.count());
        const io::HttpResponse response =
            problem(Error{Code::kRateLimited, Blame::kCaller, "full", c.wait}, an_id());
        EXPECT_TRUE(has_header(response, c.header)) << response.headers;
        const std::string text = body_of(response);
        EXPECT_EQ(reader.parse(text)->find("retry_after_ms")->as_integer(), c.millis);
    }
}

// RFC 9110 demands the challenge with a 401, and with nothing else.
TEST(ErrorTableTest, OnlyUnauthenticatedCarriesAChallenge) {
    for (const ErrorRow& row : all_error_rows()) {
        const io::HttpResponse response =
            problem(Error{row.code, Blame::kCaller, "no", {}}, an_id());
        EXPECT_EQ(has_header(response, "WWW-Authenticate: Bearer realm=\"sluice\""),
                  row.code == Code::kUnauthenticated)
            << to_string(row.code);
    }
}

// Further members join the same JSON object.
TEST(ErrorTableTest, ExtraMembersAreSplicedIn) {
    const io::HttpResponse response =
        problem(Error{Code::kUpstreamFailed, Blame::kProvider, "no", 5s}, an_id(),
                R"(,"attempts":[{"provider":"a"}])");
    JsonReader reader;
    const std::string text = body_of(response);
    const auto body = reader.parse(text);
    ASSERT_TRUE(body.ok()) << text;
    EXPECT_EQ(body->find("attempts")->elements().front().string_at("provider"), "a");
    EXPECT_EQ(body->find("retry_after_ms")->as_integer(), 5000);
}

// The page that people look codes up in has them all.
TEST(ErrorTableTest, ThePageListsEveryCode) {
    const std::string page = describe_errors();
    for (const ErrorRow& row : all_error_rows()) {
        EXPECT_NE(page.find("| `" + std::string(to_string(row.code)) + "` | " +
                            std::to_string(row.status) + " |"),
                  std::string::npos)
            << to_string(row.code);
    }
}

}  // namespace
}  // namespace sluice::surface
