#include "access/access.h"
#include "support/fake_environment.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::access {
namespace {

struct Loaded {
    AccessConfig config;
    std::vector<ConfigError> errors;
    std::vector<EffectiveSetting> settings;
};

Loaded load(std::string_view toml, const test::FakeEnvironment& environment = {}) {
    ConfigLayers layers;
    layers.add_file("sluice.toml", toml);
    layers.add_environment(environment);
    ConfigReader reader(layers);
    Loaded loaded;
    loaded.config = AccessConfig::read(reader);
    layers.finish();
    loaded.errors = layers.errors();
    loaded.settings = layers.settings();
    return loaded;
}

// Nothing said: open on loopback (the Access decides), no list, no limit.
TEST(AccessConfig, Defaults) {
    const Loaded loaded = load("");
    EXPECT_TRUE(loaded.errors.empty());
    EXPECT_EQ(loaded.config.anonymous, std::nullopt);
    EXPECT_TRUE(loaded.config.allowed_hosts.empty());
    EXPECT_TRUE(loaded.config.cors_origins.empty());
    EXPECT_EQ(loaded.config.client_requests_per_minute, 0);
    EXPECT_EQ(loaded.config.token_requests_per_minute, 0);
    for (const EffectiveSetting& setting : loaded.settings) {
        EXPECT_FALSE(setting.needs_restart) << setting.path;  // SIGHUP applies them all
    }
}

// Every key under its documented name.
TEST(AccessConfig, EveryKeyIsRead) {
    const Loaded loaded = load(R"(
        [auth]
        anonymous = "search"
        [server]
        allowed_hosts = ["search.example", "10.0.0.7"]
        cors_origins = ["https://app.example", "http://localhost:3000"]
        trusted_proxy_cidrs = ["10.0.0.0/8"]
        [limits]
        client_requests_per_minute = 60
        token_requests_per_minute = 600
    )");
    EXPECT_TRUE(loaded.errors.empty());
    EXPECT_EQ(loaded.config.anonymous, Anonymous::kSearch);
    EXPECT_EQ(loaded.config.allowed_hosts,
              (std::vector<std::string>{"search.example", "10.0.0.7"}));
    EXPECT_EQ(loaded.config.cors_origins,
              (std::vector<std::string>{"https://app.example", "http://localhost:3000"}));
    EXPECT_TRUE(loaded.config.trusted_proxies.trusts(io::Address::parse("10.1.2.3").value()));
    EXPECT_EQ(loaded.config.client_requests_per_minute, 60);
    EXPECT_EQ(loaded.config.token_requests_per_minute, 600);
}

// The words of auth.anonymous.
TEST(AccessConfig, AnonymousWords) {
    struct Row {
        std::string_view word;
        std::optional<Anonymous> anonymous;
    };
    constexpr Row kRows[] = {
        {"auto", std::nullopt},
        {"none", Anonymous::kNone},
        {"search", Anonymous::kSearch},
        {"all", Anonymous::kAll},
    };
    for (const Row& row : kRows) {
        test::FakeEnvironment environment;
        environment.variables["SLUICE__AUTH__ANONYMOUS"] = row.word;
        const Loaded loaded = load("", environment);
        EXPECT_TRUE(loaded.errors.empty()) << row.word;
        EXPECT_TRUE(loaded.config.anonymous == row.anonymous) << row.word;
    }
}

// What cannot work is an error at the key, and names the entry.
TEST(AccessConfig, BadEntriesAreErrors) {
    struct Row {
        std::string_view toml;
        std::string_view key;
        std::string_view message_part;
    };
    constexpr Row kRows[] = {
        {"auth.anonymous = 'yes'", "auth.anonymous", "yes"},
        {"server.allowed_hosts = ['a.example:80']", "server.allowed_hosts", "a.example:80"},
        {"server.allowed_hosts = ['https://a.example']", "server.allowed_hosts", "without a port"},
        {"server.allowed_hosts = ['*']", "server.allowed_hosts", "*"},
        {"server.cors_origins = ['*']", "server.cors_origins", "*"},
        {"server.cors_origins = ['app.example']", "server.cors_origins", "https://app.example"},
        {"server.cors_origins = ['https://app.example/x']", "server.cors_origins",
         "without a path"},
        {"server.trusted_proxy_cidrs = ['10.0.0.1/8']", "server.trusted_proxy_cidrs", "10.0.0.1/8"},
        {"limits.client_requests_per_minute = -1", "limits.client_requests_per_minute", "0"},
        {"limits.token_requests_per_minute = 1000001", "limits.token_requests_per_minute",
         "1000000"},
    };
    for (const Row& row : kRows) {
        SCOPED_TRACE(row.toml);
        const Loaded loaded = load(row.toml);
        ASSERT_EQ(loaded.errors.size(), 1U);
        EXPECT_EQ(loaded.errors[0].key, row.key);
        EXPECT_NE(loaded.errors[0].message.find(row.message_part), std::string::npos)
            << loaded.errors[0].message;
    }
}

// The lists are bounded.
TEST(AccessConfig, ListsAreBounded) {
    std::string toml = "server.allowed_hosts = [";
    for (int i = 0; i < 257; ++i) {
        toml += "'h" + std::to_string(i) + "',";
    }
    const Loaded loaded = load(toml + "]");
    ASSERT_EQ(loaded.errors.size(), 1U);
    EXPECT_NE(loaded.errors[0].message.find("256"), std::string::npos);
}

}  // namespace
}  // namespace sluice::access
