// The file of policies: what it says is read, and a mistake is told with its line and the name that
// may have been meant, all of them at once.
#include "app/policy_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace sluice::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// "line: message", of a file with mistakes.
std::vector<std::string> mistakes(const std::string& text) {
    std::vector<std::string> lines;
    for (const PolicyFileError& error : read_policies(text).errors) {
        lines.push_back(std::to_string(error.line) + ": " + error.message);
    }
    return lines;
}

std::string one(const std::string& members) {
    return "policies:\n- name: a\n  request: {query: kiln}\n" + members;
}

TEST(PolicyFileTest, ReadsWhatIsGivenAndExpected) {
    const PolicyFile file = read_policies(R"(
policies:
  - name: all of it
    request: {query: kiln, max_results: 5}
    given:
      keys: [serper, exa]
      key_states: {serper: exhausted, exa: disabled}
      open_circuits: [brave]
      spent:
        gateway: {usd_day: 1.5}
        caller: {calls_month: 7}
        providers: {exa: {usd_total: 3}}
      caller: {scopes: [search, status], budget: {usd_day: 0.5}}
    expect:
      asks: [serper, brave]
      first: serper
      never: [exa]
      skips: {tavily: skipped_no_key, google_cse: switched_off}
      strategy: merge
      max_usd: 0.02
)");
    ASSERT_TRUE(file.errors.empty()) << file.errors.front().message;
    const Policy& policy = file.policies.at(0);
    EXPECT_EQ(policy.line, 3u);
    EXPECT_EQ(policy.request, R"({"query":"kiln","max_results":5})");
    EXPECT_THAT(*policy.given.keys, ElementsAre("serper", "exa"));
    EXPECT_EQ(policy.given.resting.at("serper"), web::KeyStatus::kExhausted);
    EXPECT_THAT(policy.given.disabled, ElementsAre("exa"));
    // A day is in its month, and that in everything.
    EXPECT_EQ(policy.given.gateway_spent[index_of(access::Period::kDay)].micro_usd, 1'500'000);
    EXPECT_EQ(policy.given.gateway_spent[index_of(access::Period::kTotal)].micro_usd, 1'500'000);
    EXPECT_EQ(policy.given.caller_spent[index_of(access::Period::kDay)].calls, 0);
    EXPECT_EQ(policy.given.caller_spent[index_of(access::Period::kMonth)].calls, 7);
    EXPECT_EQ(policy.given.spent.at("exa")[index_of(access::Period::kTotal)].micro_usd, 3'000'000);
    EXPECT_EQ(policy.given.caller.scopes.to_string(), "search,status");
    EXPECT_EQ(policy.given.caller.budget.micro_usd[index_of(access::Period::kDay)], 500'000);
    EXPECT_EQ(policy.expect.max_micro_usd, 20'000);
    EXPECT_EQ(policy.expect.skips.at("google_cse"), kSwitchedOff);
    EXPECT_EQ(policy.expect.refused, std::nullopt);
}

TEST(PolicyFileTest, WhatAPolicyGivesTakesThePlaceOfWhatTheFileGives) {
    const PolicyFile file = read_policies(R"(
policies:
  - {name: a, request: {query: kiln}, expect: {first: exa}}
  - name: b
    request: {query: kiln}
    given: {keys: [exa]}
    expect: {first: exa}
given: {keys: [serper], open_circuits: [brave], caller: anonymous}
)");
    ASSERT_TRUE(file.errors.empty()) << file.errors.front().message;
    EXPECT_THAT(*file.policies.at(0).given.keys, ElementsAre("serper"));
    EXPECT_THAT(*file.policies.at(1).given.keys, ElementsAre("exa"));
    EXPECT_THAT(file.policies.at(1).given.open_circuits, ElementsAre("brave"));
    EXPECT_TRUE(file.policies.at(1).given.caller.is_anonymous);
}

TEST(PolicyFileTest, AMistakeIsToldWithItsLineAndTheNearestName) {
    struct Case {
        std::string text;
        std::string expected;
    };
    const Case cases[] = {
        {"", "1: the file is empty"},
        {"policy: []", "1: unknown member 'policy'; expected one of: policies given"},
        {"given: {keys: [exa]}", "1: has no policies"},
        {"policies: []", "1: policies: expected a list of policies"},
        {"- a", "1: expected members, such as policies: ..."},
        {one("  expect: {ask: [exa]}"),
         "4: policies[0].expect: unknown member 'ask'; did you mean 'asks'?"},
        {one("  expect: {first: serpr}"),
         "4: policies[0].expect.first: unknown provider 'serpr'; did you mean 'serper'?"},
        {one("  expect: {never: exa}"), "4: policies[0].expect.never: expected a list"},
        {one("  expect: {asks: [exa, exa]}"),
         "4: policies[0].expect.asks[1]: exa is in the list twice"},
        {one("  expect: {asks: [[exa]]}"), "4: policies[0].expect.asks[0]: expected a text"},
        {one("  expect: {skips: {exa: skipped_nokey}}"),
         "4: policies[0].expect.skips.exa: unknown reason 'skipped_nokey'; did you mean "
         "'skipped_no_key'?"},
        {one("  expect: {refused: forbiden}"), "did you mean 'forbidden'?"},
        {one("  expect: {refused: rate_limited}"),
         "4: policies[0].expect.refused: 'rate_limited' can't be expected"},
        {one("  expect: {refused: overloaded}"), "'overloaded' can't be expected"},
        {one("  expect: {skips: {exa: rate_limited}}"),
         "4: policies[0].expect.skips.exa: 'rate_limited' can't be expected"},
        {one("  expect: {first: exa}\n  given: {spent: {caller: {calls_day: 2.7}}}"),
         "5: policies[0].given.spent.caller.calls_day: expected a whole number of calls"},
        {one("  expect: {first: exa}\n  given: {caller: {budget: {calls_day: 0.5}}}"),
         "budget.calls_day: expected a whole number of calls"},
        {one("  expect: {first: exa}\n  given:\n    keys: [exa]\n    key_states: {serper: "
             "cooling}"),
         "6: policies[0].given: serper has no key by `keys`"},
        {one("  expect: {first: exa}\n  given: {keys: []}\n"
             "given: {key_states: {exa: disabled}}\n"),
         "5: policies[0].given: exa has no key by `keys`"},
        {one("  expect: {first: exa}\ngiven: {keys: [exa], key_states: {brave: disabled}}"),
         "5: given: brave has no key by `keys`"},
        {"policies:\n- name: a\n  request:\n    query: 2024\n  expect: {first: exa}",
         "4: policies[0].request.query: expected a text; in quotes it is one: \"2024\""},
        {"policies:\n- name: a\n  request: {query: true}\n  expect: {first: exa}",
         "3: policies[0].request.query: expected a text"},
        {one("  expect:\n\t  first: exa"), "5: a tab stands in front of the text"},
        {one("  expect: {strategy: race}"), "unknown strategy 'race'; expected one of: failover"},
        {one("  expect: {max_usd: a lot}"), "max_usd: expected a number from 0 to 1000000000"},
        {one("  expect: {max_usd: -1}"), "max_usd: expected a number"},
        {one("  expect: {max_usd: nan}"), "max_usd: expected a number"},
        {one("  expect: {max_usd: '1'}"), "max_usd: expected a number"},
        {one("  expect: {}"), "4: policies[0].expect: expected something"},
        {one("  expect: {first: exa, refused: forbidden}"), "asks nobody"},
        {one(""), "2: policies[0]: has no expect"},
        {one("  expect: {first: exa}\n  given: {key: [exa]}"), "did you mean 'keys'?"},
        {one("  expect: {first: exa}\n  given: {key_states: {exa: tired}}"),
         "unknown state of a key 'tired'"},
        {one("  expect: {first: exa}\n  given: {spent: {exa: {usd_day: 1}}}"),
         "spent: unknown member 'exa'; expected one of: gateway caller providers"},
        {one("  expect: {first: exa}\n  given: {spent: {gateway: {usd_dya: 1}}}"),
         "unknown amount 'usd_dya'; did you mean 'usd_day'?"},
        {one("  expect: {first: exa}\n  given: {caller: nobody}"), "unknown caller 'nobody'"},
        {one("  expect: {first: exa}\n  given: {caller: {scopes: [serch]}}"), "'search'"},
        {"policies: [{name: '', request: {query: a}, expect: {first: exa}}]",
         "name: expected 1 to 200 bytes"},
        {"policies: [{name: \"a\\nb\", request: {query: a}, expect: {first: exa}}]", "in one line"},
        {"policies: [{name: a, request: kiln, expect: {first: exa}}]",
         "1: policies[0].request: expected members, such as query: ..."},
        {"policies:\n- {name: a, request: {query: a}, expect: {first: exa}}\n"
         "- {name: a, request: {query: b}, expect: {first: exa}}",
         "3: policies[1]: the policy on line 2 has the same name"},
        {"a: [\n", "2: end of sequence"},
    };
    for (const Case& c : cases) {
        const auto lines = mistakes(c.text);
        ASSERT_EQ(lines.size(), 1u) << c.text;
        EXPECT_THAT(lines[0], HasSubstr(c.expected)) << c.text;
    }
}

TEST(PolicyFileTest, AllMistakesAreToldAtOnceUpToABound) {
    EXPECT_THAT(mistakes("polices: 1\ngivn: 2\n"),
                ElementsAre(HasSubstr("'policies'"), HasSubstr("'given'")));
    std::string many = "policies:\n";
    for (std::size_t i = 0; i < kMaxPolicyErrors + 5; ++i) {
        many += "- {nam: a}\n";
    }
    EXPECT_EQ(mistakes(many).size(), kMaxPolicyErrors);
    std::string too_many = "policies:\n";
    for (std::size_t i = 0; i < kMaxPolicies + 1; ++i) {
        too_many += "- {}\n";
    }
    EXPECT_THAT(mistakes(too_many), ElementsAre(HasSubstr("expected at most 1000")));
}

}  // namespace
}  // namespace sluice::app
