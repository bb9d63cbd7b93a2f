// Policies held against a configuration: what is decided is what the gateway decides, and a policy
// that does not hold says what is otherwise and why.
#include "app/policy_check.h"
#include "app/policy_decision.h"
#include "app/policy_file.h"
#include "support/fake_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace sluice::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Config config_of(const std::vector<ConfigSources::Override>& overrides = {}) {
    test::FakeEnvironment environment;
    ConfigSources sources;
    sources.overrides = overrides;
    LoadedConfig loaded = load_config(sources, environment);
    EXPECT_TRUE(loaded.errors.empty()) << format_errors(loaded.errors);
    return std::move(loaded.config);
}

Policy policy_of(const std::string& request, const std::string& given, const std::string& expect) {
    const PolicyFile file = read_policies("policies: [{name: a, request: {" + request +
                                          "}, given: {" + given + "}, expect: {" + expect + "}}]");
    EXPECT_TRUE(file.errors.empty()) << file.errors.front().message;
    return file.policies.at(0);
}

// "member: message" of each difference.
std::vector<std::string> differences(const std::string& request, const std::string& given,
                                     const std::string& expect, const Config& config) {
    const Policy policy = policy_of(request, given, expect);
    std::vector<std::string> lines;
    for (const PolicyDifference& d : differences(policy.expect, decide(config, policy))) {
        lines.push_back(d.member + ": " + d.message);
    }
    return lines;
}

std::vector<std::string> differences(const std::string& given, const std::string& expect) {
    return differences("query: kiln", given, expect, config_of());
}

TEST(PolicyTest, TheRouteIsAskedInItsOrder) {
    EXPECT_THAT(differences("", "asks: [serper, brave], first: serper, strategy: failover"),
                IsEmpty());
    EXPECT_THAT(differences("", "asks: [brave, serper]"),
                ElementsAre("asks: expected brave, serper in this order, got serper, brave"));
    EXPECT_THAT(differences("query: kiln", "", "asks: [exa], strategy: merge",
                            config_of({{"routing.fast", "exa", "--set"},
                                       {"routing.fast_strategy", "merge", "--set"}})),
                IsEmpty());
}

TEST(PolicyTest, WhoHasNoKeyIsSkippedAndTheDifferenceSaysSo) {
    EXPECT_THAT(differences("keys: [brave]", "first: brave, skips: {serper: skipped_no_key}"),
                IsEmpty());
    EXPECT_THAT(differences("keys: [brave]", "first: serper"),
                ElementsAre("first: expected first provider serper, got brave: serper was "
                            "skipped: skipped_no_key, no key is configured"));
    EXPECT_THAT(differences("", "first: exa"),
                ElementsAre(HasSubstr("got serper: exa is not in the route")));
    EXPECT_THAT(differences("keys: []", "asks: [], refused: no_usable_key"), IsEmpty());
}

// Each reason that explain knows, and what brings it about.
TEST(PolicyTest, EveryReasonToSkipCanBeGiven) {
    struct Case {
        const char* given;
        const char* reason;
    };
    for (const Case& c : {Case{"key_states: {serper: cooling}", "skipped_no_key"},
                          Case{"key_states: {serper: exhausted}", "skipped_no_key"},
                          Case{"key_states: {serper: quarantined}", "skipped_no_key"},
                          Case{"key_states: {serper: disabled}", "skipped_no_key"},
                          Case{"open_circuits: [serper]", "skipped_circuit"}}) {
        EXPECT_THAT(
            differences(c.given, "asks: [brave], skips: {serper: " + std::string(c.reason) + "}"),
            IsEmpty())
            << c.given;
    }
    EXPECT_THAT(
        differences("query: kiln, page: 2, lane: deep", "",
                    "skips: {exa: skipped_capability}, refused: invalid_request", config_of()),
        IsEmpty());
    EXPECT_THAT(differences("", "skips: {google_cse: switched_off}"), IsEmpty());
    EXPECT_THAT(differences("", "skips: {serper: skipped_circuit}"),
                ElementsAre("skips: expected serper to be skipped: skipped_circuit, got: serper is "
                            "asked"));
}

TEST(PolicyTest, BudgetsThatAreSpentDecide) {
    const Config config = config_of({{"budgets.gateway.usd_month", "10", "--set"},
                                     {"budgets.providers.serper.calls_day", "5", "--set"},
                                     {"budgets.anonymous.calls_day", "3", "--set"}});
    const auto with = [&](const std::string& given, const std::string& expect) {
        return differences("query: kiln", given, expect, config);
    };
    EXPECT_THAT(with("", "asks: [serper, brave]"), IsEmpty());
    EXPECT_THAT(with("spent: {providers: {serper: {calls_day: 4}}}", "first: serper"), IsEmpty());
    EXPECT_THAT(with("spent: {providers: {serper: {calls_day: 5}}}",
                     "first: brave, skips: {serper: skipped_budget}"),
                IsEmpty());
    EXPECT_THAT(with("spent: {providers: {serper: {calls_month: 5}}}", "first: serper"), IsEmpty());
    EXPECT_THAT(with("spent: {gateway: {usd_day: 10}}", "refused: budget_exhausted"), IsEmpty());
    EXPECT_THAT(
        with("caller: anonymous, spent: {caller: {calls_day: 3}}", "refused: budget_exhausted"),
        IsEmpty());
    EXPECT_THAT(with("spent: {caller: {calls_day: 3}}", "first: serper"), IsEmpty());
    EXPECT_THAT(with("caller: {budget: {calls_total: 3}}, spent: {caller: {calls_day: 3}}",
                     "refused: budget_exhausted"),
                IsEmpty());
}

TEST(PolicyTest, TheCallerDecidesWhetherAnybodyIsAsked) {
    const Config open = config_of();
    const Config closed = config_of({{"server.listen", "0.0.0.0:8080", "--listen"}});
    const std::string kiln = "query: kiln";
    EXPECT_THAT(differences(kiln, "caller: anonymous", "first: serper", open), IsEmpty());
    EXPECT_THAT(differences(kiln, "caller: anonymous", "refused: unauthenticated", closed),
                IsEmpty());
    EXPECT_THAT(differences(kiln, "", "first: serper", closed), IsEmpty());
    EXPECT_THAT(differences(kiln, "caller: {scopes: [status]}", "refused: forbidden", closed),
                IsEmpty());
    EXPECT_THAT(differences(kiln, "caller: {scopes: [admin]}", "first: serper", closed), IsEmpty());
    EXPECT_THAT(differences(kiln, "", "refused: forbidden", closed),
                ElementsAre("refused: expected to be refused with forbidden, got serper, brave "
                            "asked"));
}

// A policy that only says what is not to happen must not hold since nothing happened.
TEST(PolicyTest, ARequestThatIsTurnedAwayHoldsNothing) {
    EXPECT_THAT(differences("qery: kiln", "", "never: [exa]", config_of()),
                ElementsAre("request: was refused with invalid_request: unknown field 'qery'; did "
                            "you mean 'query'?"));
    EXPECT_THAT(
        differences("query: kiln", "caller: {scopes: [status]}", "never: [exa]", config_of()),
        ElementsAre(HasSubstr("request: was refused with forbidden")));
    EXPECT_THAT(
        differences("query: kiln, max_results: 99", "", "refused: invalid_request", config_of()),
        IsEmpty());
    EXPECT_THAT(
        differences("query: kiln, cache: only", "", "asks: [], refused: not_cached", config_of()),
        IsEmpty());
}

TEST(PolicyTest, ThePriceIsOneCallToEachWhoIsAsked) {
    const Config config = config_of({{"providers.serper.price.usd_per_1000", "2", "--set"},
                                     {"providers.brave.price.usd_per_1000", "3", "--set"}});
    const auto with = [&](const std::string& given, const std::string& expect) {
        return differences("query: kiln", given, expect, config);
    };
    EXPECT_THAT(with("", "max_usd: 0.005"), IsEmpty());
    EXPECT_THAT(with("", "max_usd: 0.0049"),
                ElementsAre("max_usd: expected at most 0.0049 USD, got 0.005: serper 0.002, brave "
                            "0.003"));
    EXPECT_THAT(with("keys: [brave]", "max_usd: 0.003"), IsEmpty());
}

TEST(PolicyTest, WhoIsNeverToBeAskedIsNot) {
    EXPECT_THAT(differences("", "never: [exa, tavily]"), IsEmpty());
    EXPECT_THAT(differences("", "never: [brave]"),
                ElementsAre("never: expected that brave is never asked, got serper, brave"));
}

}  // namespace
}  // namespace sluice::app
