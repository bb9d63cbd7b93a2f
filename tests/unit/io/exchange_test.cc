// A recording says what was asked and what came back, is read as it was written, and is found by
// every request that asks the same.
#include "io/exchange.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::io {
namespace {

using namespace std::chrono_literals;

constexpr std::array<std::string_view, 2> kUpstreams = {"serper", "brave"};

ExchangeRequest post(std::string body, std::string target = "/search") {
    ExchangeRequest request;
    request.upstream = "serper";
    request.base_url = "https://api.example.com";
    request.method = Method::kPost;
    request.target = std::move(target);
    request.headers = {{"Accept", "application/json"}};
    request.body = std::move(body);
    return request;
}

Exchange answered(std::string body) {
    ClientResponse response;
    response.status = 200;
    response.headers = {{"content-type", "application/json"}, {"x-two", "a: b"}, {"x-two", ""}};
    response.body = std::move(body);
    return Exchange{post(R"({"q":"kiln"})"), std::move(response), 412ms, "2026-01-01T00:00:00Z"};
}

TEST(ExchangeTest, AnAnswerIsReadAsItWasWritten) {
    ExchangeFormat format;
    std::string deep(60, '[');
    deep.append(60, ']');
    for (const std::string& body :
         {std::string(R"({"a":[1,-2.5,true,null,{"b":"\u0000ü"}],"a":{}})"), std::string("plain"),
          std::string(), std::string("\xFF\x00\x80garbage", 10), std::string("[1,"), deep}) {
        const std::string file = format.write(answered(body));
        const auto back = format.read(file, kUpstreams);
        ASSERT_TRUE(back.ok()) << back.error().message << "\n" << file;
        ASSERT_TRUE(back->outcome.ok());
        EXPECT_EQ(back->outcome->body, body) << file;
        EXPECT_EQ(back->outcome->status, 200);
        EXPECT_EQ(back->outcome->headers, answered("").outcome->headers);
        EXPECT_EQ(back->latency, 412ms);
        EXPECT_EQ(format.match_key(back->request), format.match_key(post(R"({"q":"kiln"})")));
    }
}

TEST(ExchangeTest, ATransportErrorIsReadAsItWasWritten) {
    ExchangeFormat format;
    const Exchange failed{post("{}"), Error{Code::kTimeout, Blame::kProvider, "no answer", {}}, 8s,
                          ""};
    const auto back = format.read(format.write(failed), kUpstreams);
    ASSERT_TRUE(back.ok()) << back.error().message;
    ASSERT_FALSE(back->outcome.ok());
    EXPECT_EQ(back->outcome.error().code, Code::kTimeout);
    EXPECT_EQ(back->outcome.error().blame, Blame::kProvider);
    EXPECT_EQ(back->outcome.error().message, "no answer");
    EXPECT_EQ(back->latency, 8s);
}

TEST(ExchangeTest, AFileIsReadable) {
    EXPECT_EQ(ExchangeFormat().write(answered(R"({"organic":[],"credits":1})")),
              R"({
  "sluice_recording": 1,
  "provider": "serper",
  "recorded_at": "2026-01-01T00:00:00Z",
  "request": {
    "method": "POST",
    "base_url": "https://api.example.com",
    "target": "/search",
    "headers": [
      "Accept: application/json"
    ],
    "removed": [],
    "body": {
      "q": "kiln"
    }
  },
  "response": {
    "status": 200,
    "headers": [
      "content-type: application/json",
      "x-two: a: b",
      "x-two: "
    ],
    "body": {
      "organic": [],
      "credits": 1
    }
  },
  "latency_ms": 412
}
)");
}

TEST(ExchangeTest, EqualRequestsHaveOneKeyHoweverTheyAreSpelt) {
    ExchangeFormat format;
    const auto same = [&](const ExchangeRequest& a, const ExchangeRequest& b) {
        return format.match_key(a) == format.match_key(b);
    };
    EXPECT_TRUE(
        same(post(R"({"q":"a","n":{"x":1,"y":2}})"), post(R"({ "n":{"y":2,"x":1}, "q":"a" })")));
    EXPECT_TRUE(same(post("", "/s?q=a%20b&n=1"), post("", "/s?n=1&q=a+b")));
    ExchangeRequest elsewhere = post("{}");
    elsewhere.base_url = "http://127.0.0.1:9001";
    elsewhere.headers.clear();
    elsewhere.removed = {"header X-API-KEY"};
    EXPECT_TRUE(same(post("{}"), elsewhere));
}

TEST(ExchangeTest, DifferentRequestsHaveDifferentKeys) {
    ExchangeFormat format;
    ExchangeRequest of_brave = post("{}");
    of_brave.upstream = "brave";
    ExchangeRequest put = post("{}");
    put.method = Method::kPut;
    for (const ExchangeRequest& other :
         {post(R"({"q":"b"})"), post("{}", "/news"), post("{}", "/search?q=a"), post("[]"),
          post("{} x"), of_brave, put}) {
        EXPECT_NE(format.match_key(post("{}")), format.match_key(other)) << other.target;
    }
    EXPECT_NE(format.match_key(post("[1,2]")), format.match_key(post("[2,1]")));
}

TEST(ExchangeTest, AnOperationIsNamedWithoutWhatWasSearchedFor) {
    EXPECT_EQ(operation_of(post("secret words", "/res/v1?q=secret")), "POST serper /res/v1");
}

struct Bad {
    std::string_view what;
    std::string_view instead;
    std::string_view message;
};

TEST(ExchangeTest, AMistakeIsNamedWithItsField) {
    constexpr std::string_view kGood =
        R"({"sluice_recording":1,"provider":"serper","request":{"method":"GET","target":"/s","headers":["a: b"]},)"
        R"("response":{"status":200,"body_text":"x"},"latency_ms":5})";
    const Bad kBad[] = {
        {R"("sluice_recording":1)", R"("sluice_recording":2)", "sluice_recording: expected"},
        {R"("serper")", R"("serpre")", "provider: no such provider; did you mean serper?"},
        {R"("serper")", R"(7)", "provider: expected a text"},
        {R"("GET")", R"("FETCH")", "request.method: expected one of GET, HEAD, POST"},
        {R"("/s")", R"("http://x/s")", "request.target: expected what follows"},
        {R"(["a: b"])", R"(["a b"])", "request.headers: expected a list of"},
        {R"(["a: b"])", R"(["a: b\nc"])", "request.headers: expected a list of"},
        {R"("status":200)", R"("status":99)", "response.status: expected a whole number from 100"},
        {R"("status":200)", R"("statsu":200)", "response.statsu: unknown; did you mean status?"},
        {R"("body_text":"x")", R"("body_text":"x","body":1)", "response.body: expected one of"},
        {R"("body_text":"x")", R"("body_hex":"0g")", "response.body_hex: expected pairs"},
        {R"("body_text":"x")", R"("body_hex":"0")", "response.body_hex: expected pairs"},
        {R"("latency_ms":5)", R"("latency_ms":-1)", "latency_ms: expected a whole number from 0"},
        {R"("latency_ms":5)", R"("latency_m":5)", "latency_m: unknown; did you mean latency_ms?"},
        {R"("latency_ms":5)", R"("error":{})", "response: expected either response or error"},
        {R"("response":)", R"("error":)", "error.status: unknown"},
    };
    ExchangeFormat format;
    ASSERT_TRUE(format.read(kGood, kUpstreams).ok());
    for (const Bad& bad : kBad) {
        std::string file(kGood);
        file.replace(file.find(bad.what), bad.what.size(), bad.instead);
        const auto read = format.read(file, kUpstreams);
        ASSERT_FALSE(read.ok()) << file;
        EXPECT_TRUE(read.error().message.starts_with(bad.message)) << read.error().message;
    }
    EXPECT_FALSE(format.read("[]", kUpstreams).ok());
    EXPECT_FALSE(format.read("{", kUpstreams).ok());
}

}  // namespace
}  // namespace sluice::io
