// A script of faults is checked like the settings: each mistake with file, line, key and what was
// expected.
#include "io/fault_script.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::io {
namespace {

using namespace std::chrono_literals;

constexpr std::array<std::string_view, 2> kUpstreams = {"serper", "brave"};

struct Read {
    FaultScript script;
    std::string told;
};

Read read(std::string_view toml) {
    std::vector<ConfigError> errors;
    Read out{read_fault_script("f.toml", toml, kUpstreams, errors), {}};
    for (const ConfigError& error : errors) {
        out.told += error.where + ": " + error.key + ": " + error.message + "\n";
    }
    return out;
}

TEST(FaultScriptTest, EveryFieldIsRead) {
    const Read got = read(R"(
seed = 42
[faults.b]
provider = "brave"
fault = "rate_limit"
from_call = 2
to_call = 9
every = 3
probability = 0.5
delay_s = "250ms"
retry_after_s = 7
[faults.a]
fault = "cut"
after_bytes = "1KiB"
[faults.c]
fault = "status"
status = 503
)");
    EXPECT_EQ(got.told, "");
    ASSERT_EQ(got.script.rules.size(), 3U);
    EXPECT_EQ(got.script.seed, 42U);
    const FaultRule& a = got.script.rules[0];
    EXPECT_EQ(a.name, "a");
    EXPECT_EQ(a.upstream, "");
    EXPECT_EQ(a.fault, Fault::kCut);
    EXPECT_EQ(a.after_bytes, 1024U);
    EXPECT_EQ(a.probability, 1);
    const FaultRule& b = got.script.rules[1];
    EXPECT_EQ(b.upstream, "brave");
    EXPECT_EQ(b.fault, Fault::kRateLimit);
    EXPECT_EQ(b.delay, 250ms);
    EXPECT_EQ(b.retry_after, 7s);
    EXPECT_EQ(b.probability, 0.5);
    EXPECT_EQ(got.script.rules[2].status, 503);
}

TEST(FaultScriptTest, ScoringsOfTitlesHaveRulesOfTheirOwn) {
    const Read got = read(R"(
[title_faults.slow]
fault = "delay"
delay_s = "60s"
to_call = 2
[title_faults.broken]
fault = "fail"
from_call = 4
every = 2
probability = 0.25
)");
    EXPECT_EQ(got.told, "");
    EXPECT_TRUE(got.script.rules.empty());
    EXPECT_FALSE(got.script.empty());
    ASSERT_EQ(got.script.title_rules.size(), 2U);
    const FaultRule& broken = got.script.title_rules[0];
    EXPECT_EQ(broken.name, "broken");
    EXPECT_EQ(broken.fault, Fault::kFail);
    EXPECT_EQ(broken.from_call, 4U);
    EXPECT_EQ(broken.every, 2U);
    EXPECT_EQ(broken.probability, 0.25);
    const FaultRule& slow = got.script.title_rules[1];
    EXPECT_EQ(slow.fault, Fault::kDelay);
    EXPECT_EQ(slow.delay, 60s);
    EXPECT_EQ(slow.to_call, 2U);
}

TEST(FaultScriptTest, EachSectionHasItsOwnFaults) {
    const std::string told = read(R"(
[faults.a]
fault = "fail"
[title_faults.a]
fault = "stall"
provider = "serper"
[title_faults.b]
fault = "fial"
to_call = 0
)")
                                 .told;
    EXPECT_NE(told.find("faults.a.fault: expected one of status, delay,"), std::string::npos)
        << told;
    EXPECT_NE(told.find("title_faults.a.fault: expected one of delay, fail"), std::string::npos);
    EXPECT_NE(told.find("title_faults.a.provider"), std::string::npos) << "there is none";
    EXPECT_NE(told.find("did you mean fail?"), std::string::npos);
    EXPECT_NE(told.find("title_faults.b.to_call"), std::string::npos);
}

TEST(FaultScriptTest, ARuleCoversItsCallsOnly) {
    FaultRule rule;
    rule.upstream = "brave";
    rule.from_call = 2;
    rule.to_call = 8;
    rule.every = 3;
    std::string covered;
    for (std::uint64_t call = 1; call <= 12; ++call) {
        covered += rule.covers("brave", call) ? std::to_string(call) + " " : "";
        EXPECT_FALSE(rule.covers("serper", call));
    }
    EXPECT_EQ(covered, "2 5 8 ");
    rule.upstream.clear();
    EXPECT_TRUE(rule.covers("serper", 2));
}

TEST(FaultScriptTest, MistakesAreToldWithLineKeyAndTheNearestName) {
    struct Case {
        std::string_view toml;
        std::string_view told;
    };
    const Case kCases[] = {
        {"", "faults: expected at least one fault, [faults.<name>]"},
        {"[faults.a]\nfault = \"stal\"\n",
         "f.toml:2: faults.a.fault: expected one of status, delay, stall, cut, garbage, "
         "rate_limit, refuse; did you mean stall?"},
        {"[faults.a]\nstatus = 500\n", "faults.a.fault: expected one of"},
        {"[faults.a]\nfault = \"cut\"\nprovider = \"brav\"\n",
         "f.toml:3: faults.a.provider: expected a provider, or any; did you mean brave?"},
        {"[faults.a]\nfault = \"status\"\nstatus = 200\n", "f.toml:3: faults.a.status: "},
        {"[faults.a]\nfault = \"cut\"\nafter_byte = 1\n", "f.toml:3: faults.a.after_byte: "},
        {"[faults.a]\nfault = \"cut\"\nafter_byte = 1\n", "faults.a.after_bytes"},
        {"[faults.a]\nfault = \"cut\"\nprobability = 2\n", "f.toml:3: faults.a.probability: "},
        {"[faults.a]\nfault = \"cut\"\nfrom_call = 5\nto_call = 4\n",
         "f.toml:4: faults.a.to_call: expected at least from_call"},
        {"sed = 1\n[faults.a]\nfault = \"cut\"\n", "f.toml:1: sed: "},
        {"[fault.a]\nfault = \"cut\"\n", "f.toml:1: fault"},
        {"[faults.a\n", "f.toml:1: "},
    };
    for (const Case& one : kCases) {
        const Read got = read(one.toml);
        EXPECT_NE(got.told.find(one.told), std::string::npos) << one.toml << " -> " << got.told;
    }
}

}  // namespace
}  // namespace sluice::io
