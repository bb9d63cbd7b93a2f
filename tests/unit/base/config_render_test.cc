#include "base/config_render.h"

#include "config_sample.h"
#include "support/fake_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace sluice::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ConfigLayers load(std::string_view toml) {
    ConfigLayers layers;
    layers.add_file("example.toml", toml);
    SampleConfig::read(ConfigReader(layers));
    layers.finish();
    return layers;
}

std::string first_error(const ConfigLayers& layers) {
    if (layers.errors().empty()) {
        return "";
    }
    const ConfigError& e = layers.errors().front();
    return e.where + " " + e.key + " " + e.message;
}

// Drops the comment sign of each commented setting and section.
std::string uncomment(const std::string& example) {
    std::istringstream lines(example);
    std::string line;
    std::string out;
    while (std::getline(lines, line)) {
        const bool setting = line.starts_with("# ") && line.find(" = ") != std::string::npos;
        const bool section = line.starts_with("# [");
        out += (setting || section ? line.substr(2) : line) + "\n";
    }
    return out;
}

// People start from the example: it must load as it is, and with everything uncommented it must
// mean exactly the defaults.
TEST(ConfigRender, TheExampleLoadsAndMeansTheDefaults) {
    const ConfigLayers defaults = load("");
    const std::string example = render_example(defaults.settings());
    EXPECT_EQ(first_error(load(example)), "");

    std::string all = uncomment(example);
    const std::size_t name = all.find("<name>");
    ASSERT_NE(name, std::string::npos) << all;
    all.replace(name, 6, "eu");
    const std::size_t url = all.find("url = \"\"");
    ASSERT_NE(url, std::string::npos) << all;
    all.replace(url, 8, "url = \"x\"");
    const ConfigLayers loaded = load(all);
    EXPECT_EQ(first_error(loaded), "") << all;
    std::size_t from_file = 0;
    for (const EffectiveSetting& setting : loaded.settings()) {
        if (setting.path.find("<name>") != std::string::npos || setting.path.ends_with(".url") ||
            setting.path == "redis.password") {
            continue;
        }
        EXPECT_EQ(setting.value, setting.default_value) << setting.path;
        EXPECT_THAT(setting.origin, HasSubstr("example.toml:")) << setting.path;
        from_file += 1;
    }
    EXPECT_EQ(from_file, 11u);
}

TEST(ConfigRender, TheExampleDescribesEachSetting) {
    const std::string example = render_example(load("").settings());
    EXPECT_THAT(example, HasSubstr("\n[server]\n\n# addresses to listen on.\n"
                                   "# list; SLUICE__SERVER__LISTEN\n"
                                   "# listen = [\"127.0.0.1:8080\"]\n"));
    EXPECT_THAT(
        example,
        HasSubstr("# size 1KiB..1GiB; SLUICE__SERVER__MAX_BODY_BYTES or MAX_BODY; applied by "
                  "SIGHUP\n# max_body_bytes = \"1MiB\"\n"));
    EXPECT_THAT(example, HasSubstr("\n# [egress.endpoints.<name>]\n"));
}

// Generating the pages on a machine with a configuration gives the same pages.
TEST(ConfigRender, PagesDoNotDependOnWhatIsConfigured) {
    const ConfigLayers plain = load("");
    const ConfigLayers set = load(
        "motto = \"y\"\n[lanes.fast]\nconcurrency = 3\n[egress.endpoints.eu]\nurl = "
        "\"secret-host\"");
    EXPECT_EQ(first_error(set), "");
    EXPECT_EQ(render_example(set.settings()), render_example(plain.settings()));
    EXPECT_EQ(render_reference(set.settings()), render_reference(plain.settings()));
}

// In TOML a key after a table's heading belongs to that table, and a table has one heading only.
TEST(ConfigRender, SectionsAreGroupedWhateverTheOrderOfDeclaration) {
    ConfigLayers layers;
    ConfigReader in(layers);
    int n = 1;
    in.section("a").section("x").integer({"one", "h"}, n, 0, 9);
    in.section("b").integer({"two", "h"}, n, 0, 9);
    in.section("a").integer({"three", "h"}, n, 0, 9);
    in.section("a").section("x").integer({"four", "h"}, n, 0, 9);
    in.integer({"five", "h"}, n, 0, 9);
    const std::string example = render_example(layers.settings());
    std::string order;
    for (std::istringstream lines(example); lines;) {
        std::string line;
        std::getline(lines, line);
        if (line.starts_with("[") || line.ends_with(" = 1")) {
            order += line + " ";
        }
    }
    EXPECT_EQ(order, "# five = 1 [a] # three = 1 [a.x] # one = 1 # four = 1 [b] # two = 1 ");
}

TEST(ConfigRender, TheReferenceHasATablePerSection) {
    const std::string page = render_reference(load("").settings());
    EXPECT_THAT(page, HasSubstr("\n## Top level\n"));
    EXPECT_THAT(page, HasSubstr("| `motto` | text | `\"none\"` | a line \\| shown to people |\n"));
    EXPECT_THAT(page, HasSubstr("\n## `lanes.fast`\n"));
    EXPECT_THAT(page, HasSubstr("| `deadline_s` | duration 10ms..10m | `10` | whole request; also "
                                "`DEADLINE`; *live* |\n"));
    EXPECT_THAT(page, HasSubstr("\n## `egress.endpoints.<name>`\n"));
}

TEST(ConfigRender, TheEffectiveValuesAreAlignedAndMasked) {
    ConfigLayers layers;
    layers.add_file("sluice.toml", "redis.password = \"hunter2\"\n[lanes.fast]\nconcurrency = 3\n");
    SampleConfig::read(ConfigReader(layers));
    layers.finish();
    const std::string page = render_effective(layers.settings());
    EXPECT_THAT(page, Not(HasSubstr("hunter2")));
    EXPECT_THAT(page, Not(HasSubstr("<name>")));
    EXPECT_THAT(page, HasSubstr("lanes.fast.concurrency = 3                   # sluice.toml:3\n"
                                "lanes.fast.ratio       = 0.5                 # default\n"));
    EXPECT_THAT(page,
                HasSubstr("redis.password         = \"********\"          # sluice.toml:1\n"));
}

}  // namespace
}  // namespace sluice::test
