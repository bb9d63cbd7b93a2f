// Short ways to look at what a search ended with.
#pragma once

#include "io/http_client.h"
#include "support/fake_http_client.h"
#include "web/search.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace sluice::web {

inline bool is_serper(const io::ClientRequest& request) {
    return request.url.find("serper") != std::string::npos;
}

// What a provider does when it is asked.
using Act = std::function<test::FakeAnswer(const io::ClientRequest&)>;

inline test::FakeAnswer after(Duration delay, test::FakeAnswer answer) {
    answer.delay = delay;
    return answer;
}

// The answer; a test that expected one fails when it is an error.
inline const Served& served(const SearchReply& reply) {
    EXPECT_TRUE(std::holds_alternative<Served>(reply))
        << (std::holds_alternative<Failure>(reply) ? std::get<Failure>(reply).error.message : "");
    return std::get<Served>(reply);
}

// The error; a test that expected one fails when it is an answer.
inline const Failure& failed(const SearchReply& reply) {
    EXPECT_TRUE(std::holds_alternative<Failure>(reply));
    return std::get<Failure>(reply);
}

// "serper:success" for each attempt.
inline std::vector<std::string> trail(const std::vector<Attempt>& attempts) {
    std::vector<std::string> words;
    for (const Attempt& attempt : attempts) {
        words.push_back(attempt.provider + ":" + std::string(to_string(attempt.outcome)));
    }
    return words;
}

}  // namespace sluice::web
