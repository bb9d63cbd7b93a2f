#include "base/config_reader.h"

#include "config_loaded.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace sluice::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct GoodCase {
    std::string_view toml;
    Variables variables;
    std::function<bool(const SampleConfig&)> holds;
};

// Each accepted way of writing a value means what the documents say it does.
TEST(ConfigReader, AcceptsEveryDocumentedForm) {
    using namespace std::chrono_literals;
    const auto body = [](std::size_t n) { return [=](const auto& c) { return c.max_body == n; }; };
    const auto deadline = [](Millis m) { return [=](const auto& c) { return c.deadline == m; }; };
    const auto listen = [](std::vector<std::string> l) {
        return [=](const auto& c) { return c.listen == l; };
    };
    const auto tls = [](bool on) { return [=](const auto& c) { return c.tls == on; }; };
    const GoodCase cases[] = {
        {"", {}, [](const auto& c) { return c.concurrency == 64 && c.motto == "none"; }},
        {"motto = \"a # b\"", {}, [](const auto& c) { return c.motto == "a # b"; }},
        {"motto = ''", {}, [](const auto& c) { return c.motto.empty(); }},
        {"", {{"SLUICE__MOTTO", "x"}}, [](const auto& c) { return c.motto == "x"; }},
        {"[server]\nlisten = [\"a\", \"b\"]", {}, listen({"a", "b"})},
        {"[server]\nlisten = []", {}, listen({})},
        {"server.listen = \"a, b\"", {}, listen({"a", "b"})},
        {"server = { listen = [\"a\"] }", {}, listen({"a"})},
        {"", {{"SLUICE__SERVER__LISTEN", "a,b , c"}}, listen({"a", "b", "c"})},
        {"server.max_body_bytes = 2048", {}, body(2048)},
        {"server.max_body_bytes = \"2048\"", {}, body(2048)},
        {"server.max_body_bytes = \"64KiB\"", {}, body(65536)},
        {"server.max_body_bytes = \"64 kib\"", {}, body(65536)},
        {"server.max_body_bytes = \"1GiB\"", {}, body(std::size_t{1} << 30)},
        {"server.max_body_bytes = \"1.5KiB\"", {}, body(1536)},
        {"server.max_body_bytes = \"3KB\"", {}, body(3000)},
        {"server.max_body_bytes = \"2MB\"", {}, body(2'000'000)},
        {"", {{"SLUICE__SERVER__MAX_BODY_BYTES", "8MiB"}}, body(8 << 20)},
        {"", {{"MAX_BODY", "8MiB"}}, body(8 << 20)},
        {"[server]\ntls = true", {}, tls(true)},
        {"", {{"SLUICE__SERVER__TLS", "true"}}, tls(true)},
        {"", {{"SLUICE__SERVER__TLS", "1"}}, tls(true)},
        {"", {{"SLUICE__SERVER__TLS", "Yes"}}, tls(true)},
        {"[server]\ntls = true", {{"SLUICE__SERVER__TLS", "off"}}, tls(false)},
        {"[lanes.fast]\nconcurrency = 1", {}, [](const auto& c) { return c.concurrency == 1; }},
        {"lanes.fast.concurrency = 0x1000",
         {},
         [](const auto& c) { return c.concurrency == 4096; }},
        {"", {{"CONCURRENCY", " 7 "}}, [](const auto& c) { return c.concurrency == 7; }},
        {"lanes.fast.ratio = 1", {}, [](const auto& c) { return c.ratio == 1; }},
        {"lanes.fast.ratio = 0.25", {}, [](const auto& c) { return c.ratio == 0.25; }},
        {"",
         {{"SLUICE__LANES__FAST__RATIO", "2.5e-1"}},
         [](const auto& c) { return c.ratio == 0.25; }},
        {"lanes.fast.deadline_s = 2", {}, deadline(2s)},
        {"lanes.fast.deadline_s = 0.1", {}, deadline(100ms)},
        {"lanes.fast.deadline_s = 2.5", {}, deadline(2500ms)},
        {"lanes.fast.deadline_s = \"2\"", {}, deadline(2s)},
        {"lanes.fast.deadline_s = \"250ms\"", {}, deadline(250ms)},
        {"lanes.fast.deadline_s = \"2s\"", {}, deadline(2s)},
        {"lanes.fast.deadline_s = \"1.5 m\"", {}, deadline(90s)},
        {"lanes.fast.deadline_s = \"10m\"", {}, deadline(10min)},
        {"lanes.fast.pause = \"1h\"", {}, [](const auto& c) { return c.pause == 1h; }},
        {"lanes.fast.pause = \"1d\"", {}, [](const auto& c) { return c.pause == 24h; }},
        {"lanes.fast.pause = 0", {}, [](const auto& c) { return c.pause == 0ms; }},
        {"", {{"DEADLINE", "0.25"}}, deadline(250ms)},
        {"keys.rotation = \"weighted\"",
         {},
         [](const auto& c) { return c.rotation == Rotation::kWeighted; }},
        {"",
         {{"SLUICE__KEYS__ROTATION", "round_robin"}},
         [](const auto& c) { return c.rotation == Rotation::kRoundRobin; }},
        {"redis.password = \"hush\"",
         {},
         [](const auto& c) { return c.password.reveal() == "hush"; }},
        {"",
         {{"REDIS_PASSWORD", "hush"}},
         [](const auto& c) { return c.password.reveal() == "hush"; }},
        {"",
         {{"SLUICE__MOTTO", ""}, {"SLUICE_CONFIG", "x"}, {"PATH", "y"}},
         [](const auto& c) { return c.motto == "none"; }},
    };
    for (const GoodCase& c : cases) {
        const Loaded loaded = load(c.toml, c.variables);
        EXPECT_EQ(loaded.all_errors(), "") << c.toml;
        EXPECT_TRUE(c.holds(loaded.config)) << c.toml << testing::PrintToString(c.variables);
    }
}

struct BadCase {
    std::string_view toml;
    Variables variables;
    std::string_view where;
    std::string_view key;
    std::string_view message;
};

// Every refusal names the place and the key and says what would have been right.
TEST(ConfigReader, RefusesWithPlaceKeyAndReason) {
    const BadCase cases[] = {
        // Wrong types.
        {"motto = 5", {}, "sluice.toml:1", "motto", "expected text in quotes, found 5"},
        {"motto = true", {}, "sluice.toml:1", "motto", "expected text in quotes, found true"},
        {"motto = []", {}, "sluice.toml:1", "motto", "found an array"},
        {"motto = 1979-05-27", {}, "sluice.toml:1", "motto", "found a date or time"},
        {"\n[motto]\n", {}, "sluice.toml:2", "motto", "expected text in quotes, found a table"},
        {"[motto]\nx = 1", {}, "sluice.toml:1", "motto", "found a table"},
        {"[[motto]]\nx = 1", {}, "sluice.toml:1", "motto", "found an array of tables"},
        {"server.tls = \"true\"",
         {},
         "sluice.toml:1",
         "server.tls",
         "expected true or false, found \"true\""},
        {"server.tls = 1", {}, "sluice.toml:1", "server.tls", "expected true or false, found 1"},
        {"",
         {{"SLUICE__SERVER__TLS", "maybe"}},
         "environment SLUICE__SERVER__TLS",
         "server.tls",
         "expected true or false, found \"maybe\""},
        {"[lanes.fast]\n\nconcurrency = 4.0",
         {},
         "sluice.toml:3",
         "lanes.fast.concurrency",
         "expected a whole number from 1 to 4096, found 4.0"},
        {"lanes.fast.concurrency = \"4\"",
         {},
         "sluice.toml:1",
         "lanes.fast.concurrency",
         "found \"4\""},
        {"",
         {{"CONCURRENCY", "4x"}},
         "environment CONCURRENCY",
         "lanes.fast.concurrency",
         "expected a whole number from 1 to 4096, found \"4x\""},
        {"",
         {{"CONCURRENCY", "0x10"}},
         "environment CONCURRENCY",
         "lanes.fast.concurrency",
         "found \"0x10\""},
        {"",
         {{"CONCURRENCY", "99999999999999999999"}},
         "environment CONCURRENCY",
         "lanes.fast.concurrency",
         "whole number"},
        {"lanes.fast.ratio = \"0.5\"",
         {},
         "sluice.toml:1",
         "lanes.fast.ratio",
         "expected a number from 0 to 1, found \"0.5\""},
        {"lanes.fast.ratio = nan", {}, "sluice.toml:1", "lanes.fast.ratio", "found nan"},
        {"",
         {{"SLUICE__LANES__FAST__RATIO", "inf"}},
         "environment SLUICE__LANES__FAST__RATIO",
         "lanes.fast.ratio",
         "found \"inf\""},
        {"server.listen = 8080",
         {},
         "sluice.toml:1",
         "server.listen",
         "expected an array of texts, or text with commas, found 8080"},
        {"server.listen = [\"a\", 1]",
         {},
         "sluice.toml:1",
         "server.listen",
         "found an array of something else than text"},
        {"keys.rotation = 1",
         {},
         "sluice.toml:1",
         "keys.rotation",
         "expected one of least_used, round_robin, weighted, found 1"},
        {"keys.rotation = \"Weighted\"",
         {},
         "sluice.toml:1",
         "keys.rotation",
         "found \"Weighted\""},
        // Out of range.
        {"lanes.fast.concurrency = 0",
         {},
         "sluice.toml:1",
         "lanes.fast.concurrency",
         "from 1 to 4096, found 0"},
        {"lanes.fast.concurrency = 4097",
         {},
         "sluice.toml:1",
         "lanes.fast.concurrency",
         "from 1 to 4096, found 4097"},
        {"lanes.fast.ratio = -0.1",
         {},
         "sluice.toml:1",
         "lanes.fast.ratio",
         "from 0 to 1, found -0.1"},
        {"lanes.fast.deadline_s = 0.009",
         {},
         "sluice.toml:1",
         "lanes.fast.deadline_s",
         "expected a duration from 10ms to 10m"},
        {"lanes.fast.deadline_s = \"11m\"",
         {},
         "sluice.toml:1",
         "lanes.fast.deadline_s",
         "from 10ms to 10m (seconds, or text such as \"250ms\" or \"15m\"), found \"11m\""},
        {"lanes.fast.deadline_s = -1", {}, "sluice.toml:1", "lanes.fast.deadline_s", "found -1"},
        {"lanes.fast.deadline_s = 1e300",
         {},
         "sluice.toml:1",
         "lanes.fast.deadline_s",
         "found 1e+300"},
        {"server.max_body_bytes = 1023",
         {},
         "sluice.toml:1",
         "server.max_body_bytes",
         "expected a size from 1KiB to 1GiB (bytes, or text such as \"64KiB\"), found 1023"},
        {"server.max_body_bytes = \"2GiB\"",
         {},
         "sluice.toml:1",
         "server.max_body_bytes",
         "found \"2GiB\""},
        {"server.most = -1", {}, "sluice.toml:1", "server.most", "expected a size of at least 0"},
        // Not a duration, not a size.
        {"lanes.fast.deadline_s = \"2 weeks\"",
         {},
         "sluice.toml:1",
         "lanes.fast.deadline_s",
         "found \"2 weeks\""},
        {"lanes.fast.deadline_s = \"s\"",
         {},
         "sluice.toml:1",
         "lanes.fast.deadline_s",
         "found \"s\""},
        {"lanes.fast.deadline_s = \"1.2.3\"",
         {},
         "sluice.toml:1",
         "lanes.fast.deadline_s",
         "found \"1.2.3\""},
        {"lanes.fast.deadline_s = \"15.5ms\"",
         {},
         "sluice.toml:1",
         "lanes.fast.deadline_s",
         "found \"15.5ms\""},
        {"lanes.fast.deadline_s = \"1m30s\"",
         {},
         "sluice.toml:1",
         "lanes.fast.deadline_s",
         "found \"1m30s\""},
        {"lanes.fast.deadline_s = []",
         {},
         "sluice.toml:1",
         "lanes.fast.deadline_s",
         "found an array"},
        {"server.max_body_bytes = \"1.3KiB\"",
         {},
         "sluice.toml:1",
         "server.max_body_bytes",
         "found \"1.3KiB\""},
        {"server.max_body_bytes = \"64k\"",
         {},
         "sluice.toml:1",
         "server.max_body_bytes",
         "found \"64k\""},
        {"server.max_body_bytes = 2048.0",
         {},
         "sluice.toml:1",
         "server.max_body_bytes",
         "found 2048.0"},
        {"server.max_body_bytes = \"-2KiB\"",
         {},
         "sluice.toml:1",
         "server.max_body_bytes",
         "found \"-2KiB\""},
        // Unknown names.
        {"[server]\nlisen = []",
         {},
         "sluice.toml:2",
         "server.lisen",
         "unknown setting; did you mean server.listen?"},
        {"[server]\nmax_body = 1",
         {},
         "sluice.toml:2",
         "server.max_body",
         "unknown setting; did you mean server.max_body_bytes?"},
        {"listen = []",
         {},
         "sluice.toml:1",
         "listen",
         "unknown setting; did you mean server.listen?"},
        // Names that people look for in the wrong place, wherever they are set.
        {"[server]\nmotto = \"x\"",
         {},
         "sluice.toml:2",
         "server.motto",
         "unknown setting; it stands at the top"},
        {"",
         {{"SLUICE__SERVER__MOTTO", "x"}},
         "environment SLUICE__SERVER__MOTTO",
         "server.motto",
         "unknown variable; it stands at the top"},
        {"[servr]\nlisten = []",
         {},
         "sluice.toml:1",
         "servr",
         "unknown section; did you mean server?"},
        {"[servr]", {}, "sluice.toml:1", "servr", "unknown section; did you mean server?"},
        {"[lanes.fats]\nconcurrency = 1",
         {},
         "sluice.toml:1",
         "lanes.fats",
         "unknown section; did you mean lanes.fast?"},
        {"[zzz]\na = 1\n[zzz.b]\nc = 2", {}, "sluice.toml:1", "zzz", "unknown section"},
        {"server.zzzzzz = 1", {}, "sluice.toml:1", "server.zzzzzz", "unknown setting"},
        {"server = 5", {}, "sluice.toml:1", "server", "expected a table, [server]"},
        {"lanes.fast = 5", {}, "sluice.toml:1", "lanes.fast", "expected a table, [lanes.fast]"},
        {"egress.endpoints.eu = \"http://x\"",
         {},
         "sluice.toml:1",
         "egress.endpoints.eu",
         "expected a table, [egress.endpoints.eu]"},
        {"[egress.endpoints.eu]\nurl = \"x\"\nwieght = 1",
         {},
         "sluice.toml:3",
         "egress.endpoints.eu.wieght",
         "did you mean egress.endpoints.eu.weight?"},
        {"",
         {{"SLUICE__SERVER__LISEN", "x"}},
         "environment SLUICE__SERVER__LISEN",
         "server.lisen",
         "unknown variable; did you mean SLUICE__SERVER__LISTEN?"},
        {"",
         {{"SLUICE__LISTEN", "x"}},
         "environment SLUICE__LISTEN",
         "listen",
         "did you mean SLUICE__SERVER__LISTEN?"},
        {"",
         {{"SLUICE__server__listen", "x"}},
         "environment SLUICE__server__listen",
         "server.listen",
         "did you mean SLUICE__SERVER__LISTEN?"},
        {"", {{"SLUICE__", "x"}}, "environment SLUICE__", "", "unknown variable"},
        {"",
         {{"SLUICE__QQQQQQQQ", "x"}},
         "environment SLUICE__QQQQQQQQ",
         "qqqqqqqq",
         "unknown variable"},
        {"",
         {{"SLUICE__EGRESS__ENDPOINTS__EU", "x"}},
         "environment SLUICE__EGRESS__ENDPOINTS__EU",
         "egress.endpoints.eu",
         "unknown variable"},
        // Not TOML.
        {"a = 1\nmotto = \"x", {}, "sluice.toml:2", "", "not valid TOML"},
        {"motto = \"a\"\nmotto = \"b\"",
         {},
         "sluice.toml:2",
         "",
         "cannot redefine existing string 'motto'"},
        {"[server]\n[server]", {}, "sluice.toml:2", "", "cannot redefine existing table 'server'"},
        {"[server\n", {}, "sluice.toml:1", "", "not valid TOML"},
        {"motto", {}, "sluice.toml:1", "", "not valid TOML"},
        {"motto = \"\xFF\"", {}, "sluice.toml:1", "", "not valid TOML"},
        // Keys that no variable could name.
        {"[server]\n\"a.b\" = 1", {}, "sluice.toml:2", "server", "not a name"},
        {"a__b = 1", {}, "sluice.toml:1", "", "not a name"},
        {"a_ = 1", {}, "sluice.toml:1", "", "not a name"},
        {"\"\" = 1", {}, "sluice.toml:1", "", "not a name"},
        {"[a.b.c.d.e.f.g.h.i.j]", {}, "sluice.toml:1", "a.b.c.d.e.f.g.h", "nested deeper"},
        // Judged by the owner of the setting.
        {"[egress.endpoints.eu]\nurl = \"\"",
         {},
         "sluice.toml:2",
         "egress.endpoints.eu.url",
         "expected a url"},
        {"[egress.endpoints.eu]", {}, "default", "egress.endpoints.eu.url", "expected a url"},
    };
    for (const BadCase& c : cases) {
        const Loaded loaded = load(c.toml, c.variables);
        ASSERT_FALSE(loaded.errors().empty()) << c.toml << testing::PrintToString(c.variables);
        const ConfigError& error = loaded.errors().front();
        EXPECT_EQ(error.where, c.where) << c.toml;
        EXPECT_EQ(error.key, c.key) << c.toml;
        EXPECT_THAT(error.message, HasSubstr(std::string(c.message))) << c.toml;
        EXPECT_EQ(std::string_view(c.message) == "unknown setting",
                  error.message == "unknown setting");
    }
}

// One table in the wrong place is one mistake, not one for each of its keys.
TEST(ConfigReader, ReportsTheOutermostMistakeOnly) {
    for (const std::string_view toml : {"[zzz]\na = 1\n[zzz.b]\nc = 2", "[motto]\na = 1\nb.c = 2",
                                        "[server.tls]\ncert = \"x\""}) {
        EXPECT_EQ(load(toml).errors().size(), 1u) << toml << load(toml).all_errors();
    }
}

// People fix a file in one go: all mistakes at once, in the order of its lines.
TEST(ConfigReader, CollectsEveryMistakeInOrder) {
    const Loaded loaded =
        load("zzz = 1\n[lanes.fast]\nconcurrency = 0\nratio = 5\n[server]\nfoo = 1\ntls = 3",
             {{"SLUICE__KEYS__ROTATION", "x"}, {"SLUICE__NONSENSE__X", "1"}},
             {{"server.max_body_bytes", "1"}, {"no.such", "1"}});
    std::vector<std::string> places;
    for (const ConfigError& error : loaded.errors()) {
        places.push_back(error.where);
    }
    EXPECT_THAT(
        places,
        ElementsAre("sluice.toml:1", "sluice.toml:3", "sluice.toml:4", "sluice.toml:6",
                    "sluice.toml:7", "environment SLUICE__KEYS__ROTATION",
                    "environment SLUICE__NONSENSE__X", "--no.such", "--server.max_body_bytes"));
}

// A bad value never half applies: the field keeps its default and the rest is read.
TEST(ConfigReader, ABadValueLeavesTheDefault) {
    const Loaded loaded = load("[lanes.fast]\nconcurrency = 0\nratio = 0.75");
    EXPECT_EQ(loaded.config.concurrency, 64);
    EXPECT_EQ(loaded.config.ratio, 0.75);
    EXPECT_EQ(loaded.setting("lanes.fast.concurrency").value, "64");
    EXPECT_EQ(loaded.setting("lanes.fast.concurrency").origin, "default");
}

}  // namespace
}  // namespace sluice::test
