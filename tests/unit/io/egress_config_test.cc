#include "io/egress_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace sluice::io {
namespace {

using testing::HasSubstr;

struct Read {
    EgressConfig config;
    std::vector<ConfigError> errors;
};

Read read(std::string_view toml) {
    ConfigLayers layers;
    layers.add_file("test.toml", toml);
    ConfigReader reader(layers);
    Read result{EgressConfig::read(reader.section("egress")), {}};
    layers.finish();
    result.errors = layers.errors();
    return result;
}

// What may be shown of an endpoint has neither its user nor its password.
TEST(EgressConfig, ReadsEndpoints) {
    const Read result = read(R"(
[egress]
policy = "geo"
health_check_url = "https://status.example.org/"
[egress.endpoints.frankfurt]
url = "http://me:s%2Fecret@10.0.0.1:8888/"
country = "DE"
[egress.endpoints.spare]
url = "SOCKS5H://[::1]:1080"
)");
    ASSERT_TRUE(result.errors.empty()) << result.errors[0].message;
    const EgressConfig& config = result.config;
    EXPECT_EQ(config.policy, EgressPolicy::kGeo);
    ASSERT_EQ(config.endpoints.size(), 2U);
    const EgressEndpointConfig& frankfurt = config.endpoints.at("frankfurt");
    EXPECT_EQ(frankfurt.address, "http://10.0.0.1:8888");
    EXPECT_EQ(frankfurt.url.reveal(), "http://me:s%2Fecret@10.0.0.1:8888/");
    EXPECT_EQ(frankfurt.country, "de");
    EXPECT_EQ(config.endpoints.at("spare").address, "socks5h://[::1]:1080");
}

// Every mistake is told at its key, says what was expected, and repeats no password.
TEST(EgressConfig, SaysWhatIsWrong) {
    struct Case {
        std::string_view toml;
        std::string_view key;
        std::string_view message;
    };
    constexpr std::string_view kEndpoint = "[egress.endpoints.a]\nurl = ";
    const Case cases[] = {
        {"[egress]\npolicy = \"rotating\"", "egress.policy", "expected at least one endpoint"},
        {"[egress]\npolicy = \"geo\"\n[egress.endpoints.a]\nurl = \"http://h:1\"", "egress.policy",
         "expected an endpoint with a country"},
        {"[egress]\npolicy = \"tor\"", "egress.policy", "expected one of"},
        {"[egress]\nhealth_check_url = \"ftp://x\"", "egress.health_check_url", "expected a URL"},
        {"[egress.endpoints.a]\ncountry = \"de\"", "egress.endpoints.a.url", "expected the URL"},
        {"[egress.endpoints.a]\nurl = \"http://h:1\"\ncountry = \"germany\"",
         "egress.endpoints.a.country", "expected two letters"},
        {"[egress.endpoints.direct]\nurl = \"http://h:1\"", "egress.endpoints.direct.url",
         "the name of a policy"},
    };
    for (const Case& each : cases) {
        const Read result = read(each.toml);
        ASSERT_EQ(result.errors.size(), 1U) << each.toml;
        EXPECT_EQ(result.errors[0].key, each.key) << each.toml;
        EXPECT_THAT(result.errors[0].message, HasSubstr(each.message)) << each.toml;
    }
    for (const std::string_view url :
         {"ftp://u:hush@h:1", "http://u:hush@h", "http://u:hush@h:0", "http://u:hush@h:70000",
          "http://u:hush@:1", "u:hush@h:1", "http://u:hush@h:1/path", "http://u:hu/sh@h:1",
          "http://u:hush@h h:1", "socks4://u:hush@h:1", "http://u:hush@h:1?x"}) {
        const Read result = read(std::string(kEndpoint) + "\"" + std::string(url) + "\"");
        ASSERT_EQ(result.errors.size(), 1U) << url;
        EXPECT_EQ(result.errors[0].key, "egress.endpoints.a.url");
        EXPECT_THAT(result.errors[0].message, HasSubstr("expected the URL of a proxy")) << url;
        EXPECT_THAT(result.errors[0].message, Not(HasSubstr("hush")));
    }
}

// More endpoints than anybody has is a mistake of whoever wrote the file.
TEST(EgressConfig, BoundsEndpoints) {
    std::string toml;
    for (std::size_t i = 0; i <= EgressConfig::kMaxEndpoints; ++i) {
        toml += "[egress.endpoints.e" + std::to_string(i) + "]\nurl = \"http://h:1\"\n";
    }
    const Read result = read(toml);
    ASSERT_EQ(result.errors.size(), 1U);
    EXPECT_THAT(result.errors[0].message, HasSubstr("at most 64"));
}

// A provider's own choice is a policy or an endpoint, and a word that is neither is helped.
TEST(EgressConfig, ParsesAChoice) {
    const EgressConfig config = read("[egress.endpoints.london]\nurl = \"http://h:1\"").config;
    EXPECT_EQ(*parse_egress_choice("", config), EgressChoice{});
    EXPECT_EQ(*parse_egress_choice("sticky", config), (EgressChoice{EgressPolicy::kSticky, ""}));
    EXPECT_EQ(*parse_egress_choice("london", config), (EgressChoice{{}, "london"}));
    EXPECT_EQ(*parse_egress_choice("direct", EgressConfig{}),
              (EgressChoice{EgressPolicy::kDirect, ""}));
    const auto message = [](std::string_view word, const EgressConfig& in) {
        const auto choice = parse_egress_choice(word, in);
        return choice.ok() ? std::string("good") : choice.error().message;
    };
    EXPECT_THAT(message("lundon", config), HasSubstr("did you mean 'london'?"));
    EXPECT_THAT(message("static", EgressConfig{}), HasSubstr("expected at least one endpoint"));
    EXPECT_THAT(message("geo", config), HasSubstr("expected an endpoint with a country"));
}

}  // namespace
}  // namespace sluice::io
