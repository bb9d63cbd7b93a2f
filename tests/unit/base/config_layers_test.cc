#include "base/config_reader.h"
#include "config_loaded.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Operators override a file by a variable and both by a flag; `sluice check` tells which one won.
TEST(ConfigLayers, LayersOverrideInOrderAndAreNamed) {
    const std::string_view toml = "\n\nlanes.fast.concurrency = 1";
    struct Case {
        Variables variables;
        Variables overrides;
        int expected;
        std::string_view origin;
    };
    const Case cases[] = {
        {{}, {}, 1, "sluice.toml:3"},
        {{{"CONCURRENCY", "2"}}, {}, 2, "environment CONCURRENCY"},
        {{{"CONCURRENCY", "2"}, {"SLUICE__LANES__FAST__CONCURRENCY", "3"}},
         {},
         3,
         "environment SLUICE__LANES__FAST__CONCURRENCY"},
        {{{"CONCURRENCY", ""}, {"SLUICE__LANES__FAST__CONCURRENCY", ""}}, {}, 1, "sluice.toml:3"},
        {{{"SLUICE__LANES__FAST__CONCURRENCY", "3"}},
         {{"lanes.fast.concurrency", "4"}},
         4,
         "--lanes.fast.concurrency"},
    };
    for (const Case& c : cases) {
        const Loaded loaded = load(toml, c.variables, c.overrides);
        EXPECT_EQ(loaded.all_errors(), "");
        EXPECT_EQ(loaded.config.concurrency, c.expected);
        EXPECT_EQ(loaded.setting("lanes.fast.concurrency").origin, c.origin);
        EXPECT_EQ(loaded.setting("lanes.fast.concurrency").value, std::to_string(c.expected));
    }
    EXPECT_EQ(load("motto = \"x\"", {}, {{"motto", ""}}).config.motto, "");
    EXPECT_EQ(load("", {}, {{"server.listen", ""}}).config.listen.size(), 0u);
}

TEST(ConfigLayers, ALaterFileOverridesAnEarlierOne) {
    ConfigLayers layers;
    layers.add_file("a.toml", "[server]\ntls = true\nbad = 1\n[lanes.fast]\nconcurrency = 5");
    layers.add_file("b.toml", "[lanes.fast]\nconcurrency = 6\nworse = 1");
    const SampleConfig config = SampleConfig::read(ConfigReader(layers));
    layers.finish();
    EXPECT_TRUE(config.tls);
    EXPECT_EQ(config.concurrency, 6);
    ASSERT_EQ(layers.errors().size(), 2u);
    EXPECT_EQ(layers.errors()[0].where, "a.toml:3");
    EXPECT_EQ(layers.errors()[1].where, "b.toml:3");
}

// Endpoints may be named by a file, a variable or a flag alike.
TEST(ConfigLayers, FreeNamesComeFromEveryLayer) {
    const Loaded loaded =
        load("[egress.endpoints.eu-west]\nurl = \"file\"\n[egress.endpoints.b]\nurl = \"b\"",
             {{"SLUICE__EGRESS__ENDPOINTS__EU_WEST__WEIGHT", "5"},
              {"SLUICE__EGRESS__ENDPOINTS__ASIA_1__URL", "env"}},
             {{"egress.endpoints.z.url", "flag"}});
    EXPECT_EQ(loaded.all_errors(), "");
    std::string seen;
    for (const auto& [name, endpoint] : loaded.config.endpoints) {
        seen += name + "=" + endpoint.url + "/" + std::to_string(endpoint.weight) + " ";
    }
    EXPECT_EQ(seen, "asia_1=env/1 b=b/1 eu-west=file/5 z=flag/1 ");
    EXPECT_TRUE(loaded.setting("egress.endpoints.b.url").under_free_name);
    EXPECT_FALSE(loaded.setting("egress.endpoints.<name>.url").under_free_name);
    EXPECT_FALSE(loaded.setting("motto").under_free_name);
}

// The pages must know a setting that nobody has configured, without its being in force.
TEST(ConfigLayers, TemplatesAreDeclaredButReadNothing) {
    const Loaded loaded = load("");
    EXPECT_THAT(loaded.config.endpoints, IsEmpty());
    const EffectiveSetting& weight = loaded.setting("egress.endpoints.<name>.weight");
    EXPECT_EQ(weight.default_value, "1");
    EXPECT_EQ(weight.range, "0..10");
    EXPECT_EQ(loaded.all_errors(), "");  // the template's own fail() does not count
}

// Secrets are set in files and variables that people paste into tickets; messages are too.
TEST(ConfigLayers, SecretsAreNeverRepeated) {
    const Loaded set = load("redis.password = \"hunter2hunter2\"");
    EXPECT_EQ(set.setting("redis.password").value, "\"********\"");
    EXPECT_EQ(set.setting("redis.password").default_value, "\"\"");
    for (const std::string_view toml :
         {"redis.password = 77777777", "redis.password = [\"77777777\"]",
          "redis.password = 77777777.5", "redis.password = 77777777777777777777777",
          "redis.password = 77777777x"}) {
        const Loaded wrong = load(toml);
        EXPECT_EQ(wrong.errors().size(), 1u) << toml;
        EXPECT_THAT(wrong.all_errors(), Not(HasSubstr("7777"))) << toml;
    }
    const Loaded unknown =
        load("[redis]\npasword = \"hunter2\"", {{"SLUICE__REDIS__PASWORD", "hunter2"}});
    EXPECT_EQ(unknown.errors().size(), 2u);
    EXPECT_THAT(unknown.all_errors(), Not(HasSubstr("hunter2")));
}

// A wrong value can be long or binary; the message is one readable line all the same.
TEST(ConfigLayers, WrongValuesAreQuotedShortAndEscaped) {
    const std::string e_acute = "\xC3\xA9";
    std::string lengthy = "a";
    for (int i = 0; i < 1000; ++i) {
        lengthy += e_acute;
    }
    const Loaded loaded = load("", {{"CONCURRENCY", lengthy}, {"DEADLINE", "1\n\x1b[31m\xFF"}});
    ASSERT_EQ(loaded.errors().size(), 2u);
    EXPECT_LT(loaded.errors()[0].message.size(), 150u);
    EXPECT_THAT(loaded.errors()[0].message, HasSubstr(e_acute + "\"..."));
    EXPECT_THAT(loaded.errors()[1].message, HasSubstr("\"1\\n\\u001b[31m\xEF\xBF\xBD\""));
}

TEST(ConfigLayers, ErrorsAreBounded) {
    std::string toml;
    for (int i = 0; i < 5000; ++i) {
        toml += "key" + std::to_string(i) + " = 1\n";
    }
    EXPECT_EQ(load(toml).errors().size(), ConfigLayers::kMaxErrors);
}

TEST(ConfigLayers, FileIsBounded) {
    const Loaded large = load(std::string(1024 * 1024 + 1, '\n'));
    ASSERT_EQ(large.errors().size(), 1u);
    EXPECT_EQ(large.errors()[0].where, "sluice.toml");
    std::string dots = "a";
    for (int i = 0; i < 300'000; ++i) {
        dots += ".a";
    }
    const Loaded deep = load(dots + " = 1");
    ASSERT_EQ(deep.errors().size(), 1u);
    EXPECT_THAT(deep.errors()[0].message, HasSubstr("dots"));
}

// `sluice check` prints each setting once, in the order in which the code declares them.
TEST(ConfigLayers, SettingsAreCollectedOnceInOrder) {
    ConfigLayers layers;
    SampleConfig::read(ConfigReader(layers));
    const std::size_t count = layers.settings().size();
    SampleConfig::read(ConfigReader(layers));
    EXPECT_EQ(layers.settings().size(), count);
    std::string paths;
    for (const EffectiveSetting& setting : layers.settings()) {
        paths += setting.path + " ";
    }
    EXPECT_EQ(paths,
              "motto server.listen server.max_body_bytes server.tls server.most "
              "lanes.fast.concurrency lanes.fast.ratio lanes.fast.deadline_s lanes.fast.pause "
              "keys.rotation redis.password egress.endpoints.<name>.url "
              "egress.endpoints.<name>.weight ");
}

struct DescribedCase {
    std::string_view path;
    std::string_view type;
    std::string_view range;
    std::string_view default_value;
};

TEST(ConfigLayers, DescribesEachType) {
    const Loaded loaded = load("");
    const DescribedCase cases[] = {
        {"motto", "text", "", "\"none\""},
        {"server.listen", "list", "", "[\"127.0.0.1:8080\"]"},
        {"server.max_body_bytes", "size", "1KiB..1GiB", "\"1MiB\""},
        {"server.most", "size", "0..", "0"},
        {"server.tls", "boolean", "", "false"},
        {"lanes.fast.concurrency", "integer", "1..4096", "64"},
        {"lanes.fast.ratio", "number", "0..1", "0.5"},
        {"lanes.fast.deadline_s", "duration", "10ms..10m", "10"},
        {"lanes.fast.pause", "duration", "0s..1d", "\"250ms\""},
        {"keys.rotation", "one of least_used, round_robin, weighted", "", "\"least_used\""},
        {"redis.password", "secret", "", "\"\""},
    };
    for (const DescribedCase& c : cases) {
        const EffectiveSetting& setting = loaded.setting(c.path);
        EXPECT_EQ(setting.type, c.type) << c.path;
        EXPECT_EQ(setting.range, c.range) << c.path;
        EXPECT_EQ(setting.default_value, c.default_value) << c.path;
        EXPECT_EQ(setting.value, c.default_value) << c.path;
        EXPECT_EQ(setting.origin, "default") << c.path;
    }
    EXPECT_EQ(loaded.setting("server.max_body_bytes").env_alias, "MAX_BODY");
    EXPECT_FALSE(loaded.setting("server.max_body_bytes").needs_restart);
    EXPECT_TRUE(loaded.setting("server.listen").needs_restart);
    EXPECT_EQ(loaded.setting("server.tls").help, "whether to speak TLS");
}

}  // namespace
}  // namespace sluice::test
