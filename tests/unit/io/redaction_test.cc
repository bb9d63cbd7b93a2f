// No secret of a request may stay in what is written down about it, however an upstream repeats it.
#include "io/redaction.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace sluice::io {
namespace {

ClientRequest request_with_secrets() {
    ClientRequest request;
    request.method = Method::kPost;
    request.url = "https://user:pass-word-1@api.example.com/v1/search?q=kiln";
    request.upstream = "serper";
    request.base_bytes = std::string("https://user:pass-word-1@api.example.com/v1").size();
    request.headers = {{"Accept", "application/json"}};
    request.secret_headers.emplace_back("Authorization", Secret("Bearer sk-Marker\"0001"));
    request.secret_query.emplace_back("key", Secret("query/Marker+0002"));
    request.body = R"({"q":"kiln","api_key":"sk-Marker\"0001"})";
    return request;
}

TEST(RedactionTest, EveryFormOfASecretIsRemovedWhereverItIsRepeated) {
    const ClientRequest request = request_with_secrets();
    const Redaction redaction(request);
    for (std::string text :
         {"sk-Marker\"0001", "Bearer sk-Marker\"0001", "SK-MARKER\"0001 twice sk-marker\"0001",
          R"({"message":"bad key sk-Marker\"0001"})", "sk-Marker%220001", "query%2FMarker%2B0002",
          "query/Marker+0002"}) {
        const std::string before = text;
        redaction.clean(text);
        EXPECT_EQ(text.find("arker"), std::string::npos) << before << " -> " << text;
        EXPECT_EQ(text.find("ARKER"), std::string::npos) << before << " -> " << text;
        EXPECT_NE(text.find(Redaction::kMark), std::string::npos) << before;
    }
}

TEST(RedactionTest, WhatHasNoSecretStaysByteForByte) {
    const Redaction redaction(request_with_secrets());
    std::string text = "Bearer of good news: sk-Mark";
    redaction.clean(text);
    EXPECT_EQ(text, "Bearer of good news: sk-Mark");
}

TEST(RedactionTest, AWordTooShortToBeASecretIsLeftAlone) {
    ClientRequest request;
    request.secret_headers.emplace_back("X-API-KEY", Secret("key"));
    std::string text = R"({"message":"no key"})";
    Redaction(request).clean(text);
    EXPECT_EQ(text, R"({"message":"no key"})");
}

TEST(RedactionTest, AnExchangeIsCleanedInEveryField) {
    const ClientRequest request = request_with_secrets();
    ClientResponse response;
    response.status = 401;
    response.headers = {{"x-echo", "sk-Marker\"0001"}, {"set-cookie", "session=abc; Path=/"}};
    response.body = R"({"key":"sk-Marker\"0001"})";
    ClientRequest repeating = request;
    repeating.url += "&again=query%2FMarker%2B0002";
    repeating.headers.emplace_back("X-Again", "sk-Marker\"0001");
    Exchange answered{without_secrets(repeating), std::move(response), {}, {}};
    Exchange failed{without_secrets(repeating),
                    Error{Code::kUnavailable, Blame::kProvider, "sk-Marker\"0001", {}},
                    {},
                    {}};
    ExchangeFormat format;
    for (Exchange* exchange : {&answered, &failed}) {
        Redaction(request).clean(*exchange);
        const std::string file = format.write(*exchange);
        EXPECT_EQ(file.find("arker"), std::string::npos) << file;
        EXPECT_EQ(file.find("pass-word-1"), std::string::npos) << file;
        EXPECT_EQ(file.find("session=abc"), std::string::npos) << file;
        EXPECT_NE(file.find("header Authorization"), std::string::npos) << file;
        EXPECT_NE(file.find("parameter key"), std::string::npos) << file;
    }
}

}  // namespace
}  // namespace sluice::io
