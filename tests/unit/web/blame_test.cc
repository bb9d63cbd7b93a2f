// The generic table, tests/cases/blame/*.json: each row is an answer ("status", "type", "headers",
// "body" or "text") and what has to follow ("effect", "outcome", and where they matter "penalty_s"
// and "detail"). A row without "penalty_s" must have no penalty. "own" is the effect that the
// provider's own rows give every answer.
#include "web/blame.h"

#include "case_file.h"
#include "judge_cases.h"
#include "plain_provider.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::web {
namespace {

using namespace testing;  // NOLINT: the vocabulary of this file

Judgement judge_with(const Provider& provider, const io::ClientResponse& response) {
    const SearchRequest request = usual_request();
    const ProviderKey key = usual_key();
    JsonReader reader;
    return judge({provider, request, key}, response, reader, usual_now());
}

io::ClientResponse response_of(int status, std::string body, std::string type = {}) {
    io::ClientResponse response;
    response.status = status;
    response.body = std::move(body);
    if (!type.empty()) {
        response.headers.emplace_back("content-type", std::move(type));
    }
    return response;
}

// Without a row of its own, a provider's answer is blamed as the tables say.
TEST(Blame, EveryRowHolds) {
    std::size_t rows = 0;
    for (const JudgeCase& judge_case : judge_cases()) {
        SCOPED_TRACE(judge_case.name);
        EXPECT_EQ(difference(judge_case, *judge_case.provider, blame_tables()), "");
        rows += judge_case.owned ? 1 : 0;
    }
    EXPECT_GE(rows, 60U);
}

// An empty list of a known shape is an answer with every 2xx, and not an error.
TEST(Blame, EmptyListIsAnAnswer) {
    for (const int status : {200, 201, 202, 206}) {
        const auto judgement = judge_with(
            PlainProvider(), response_of(status, "\xEF\xBB\xBF {\"results\": []}\n", "text/html"));
        EXPECT_TRUE(std::holds_alternative<ProviderAnswer>(judgement)) << status;
    }
}

// Whatever a provider's own rows say, a page or an empty 4xx never accuses a key or a caller, and a
// 429 never a caller.
TEST(Blame, GuardsHoldAgainstAProvidersOwnRows) {
    for (const Effect effect : {Effect::kQuarantine, Effect::kCaller}) {
        const StubbornProvider stubborn(effect, Outcome::kBadRequest);
        for (int status = 400; status < 500; ++status) {
            for (const std::string body : {"", "<html></html>"}) {
                SCOPED_TRACE(std::to_string(status) + body);
                const auto verdict =
                    std::get<Verdict>(judge_with(stubborn, response_of(status, body)));
                if (status == 429) {
                    EXPECT_NE(verdict.effect, Effect::kCaller);
                } else {
                    EXPECT_EQ(verdict.effect, Effect::kProvider);
                    EXPECT_EQ(verdict.outcome, Outcome::kBlocked);
                }
            }
        }
        const auto limited =
            std::get<Verdict>(judge_with(stubborn, response_of(429, R"({"message": "slow"})")));
        EXPECT_NE(limited.effect, Effect::kCaller);
    }
}

// A provider's own row comes before the generic one, on a success too.
TEST(Blame, OwnRowsComeFirst) {
    const StubbornProvider empty(Effect::kEmpty, Outcome::kEmpty);
    for (const int status : {200, 400, 422, 500}) {
        const auto judgement = judge_with(empty, response_of(status, R"({"results": []})"));
        ASSERT_TRUE(std::holds_alternative<Verdict>(judgement));
        EXPECT_EQ(std::get<Verdict>(judgement).effect, Effect::kEmpty);
    }
}

// No status and no body leads a real provider to accuse somebody on the word of a page.
TEST(Blame, GuardsHoldForEveryProviderAndStatus) {
    for (const Provider* provider : all_providers()) {
        for (int status = 100; status < 600; ++status) {
            for (const std::string body : {"", "<html></html>", "words", "{", "{}", "[]", "null"}) {
                SCOPED_TRACE(std::string(provider->spec().name) + std::to_string(status) + body);
                const auto judgement = judge_with(*provider, response_of(status, body));
                ASSERT_TRUE(std::holds_alternative<Verdict>(judgement));
                const auto& verdict = std::get<Verdict>(judgement);
                const bool is_json = body == "{}" || body == "[]";
                if (status == 429) {
                    EXPECT_EQ(verdict.effect, Effect::kCool);
                }
                if (status < 400 || status >= 500) {
                    EXPECT_EQ(verdict.effect, Effect::kProvider);
                }
                if (verdict.effect == Effect::kCaller) {
                    EXPECT_TRUE(is_json);
                }
                if (verdict.effect == Effect::kQuarantine) {
                    EXPECT_FALSE(body.empty() || body.starts_with('<'));
                }
            }
        }
    }
}

// More than the reader takes cannot be read, which is the provider's fault and costs no memory.
TEST(Blame, OversizedBodyIsTheProvidersFault) {
    const PlainProvider plain;
    const SearchRequest request = usual_request();
    const ProviderKey key = usual_key();
    JsonReader small({.max_bytes = 64, .max_depth = 8});
    const auto response =
        response_of(200, R"({"results": [], "pad": ")" + std::string(64, 'x') + "\"}");
    const auto judgement = judge({plain, request, key}, response, small, usual_now());
    EXPECT_EQ(std::get<Verdict>(judgement).outcome, Outcome::kUnparseable);
}

// Four effects cost a key something or send the next one in; the others never touch it.
TEST(Blame, EffectsAndBlame) {
    for (const Effect effect :
         {Effect::kCool, Effect::kExhaust, Effect::kQuarantine, Effect::kKeyCannot}) {
        EXPECT_EQ(blame_of(effect), Blame::kKey);
    }
    EXPECT_EQ(blame_of(Effect::kCaller), Blame::kCaller);
    EXPECT_EQ(blame_of(Effect::kProvider), Blame::kProvider);
    EXPECT_EQ(blame_of(Effect::kGateway), Blame::kGateway);
}

}  // namespace
}  // namespace sluice::web
