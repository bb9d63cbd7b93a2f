#include "access/budget_config.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::access {
namespace {

struct Loaded {
    BudgetConfig config;
    std::vector<ConfigError> errors;
    std::vector<EffectiveSetting> settings;
};

Loaded load(std::string_view toml) {
    constexpr std::array<std::string_view, 2> kProviders = {"serper", "exa"};
    ConfigLayers layers;
    layers.add_file("sluice.toml", toml);
    ConfigReader reader(layers);
    Loaded loaded;
    loaded.config = BudgetConfig::read(reader, kProviders);
    layers.finish();
    loaded.errors = layers.errors();
    loaded.settings = layers.settings();
    return loaded;
}

// Nothing said: nothing is limited, and all of it may change while the gateway runs.
TEST(BudgetConfig, NothingIsLimitedByDefault) {
    const Loaded loaded = load("");
    EXPECT_TRUE(loaded.errors.empty());
    EXPECT_FALSE(loaded.config.gateway.any());
    EXPECT_FALSE(loaded.config.anonymous.any());
    EXPECT_FALSE(loaded.config.token_default.any());
    EXPECT_FALSE(loaded.config.key_default.any());
    EXPECT_EQ(loaded.config.providers, std::vector<Limits>(2));
    EXPECT_EQ(loaded.config.on_store_loss, OnStoreLoss::kRefuse);
    for (const EffectiveSetting& setting : loaded.settings) {
        EXPECT_FALSE(setting.needs_restart) << setting.path;
    }
}

// Every key under its documented name, in its own place.
TEST(BudgetConfig, EveryKeyIsRead) {
    const Loaded loaded = load(R"(
        [budgets]
        on_store_loss = "allow"
        [budgets.gateway]
        usd_day = 12.5
        calls_total = 7
        [budgets.anonymous]
        calls_month = 6
        [budgets.token_default]
        usd_month = 3
        [budgets.key_default]
        usd_total = 0.000001
        [budgets.providers.exa]
        calls_day = 100
    )");
    EXPECT_TRUE(loaded.errors.empty());
    const BudgetConfig& config = loaded.config;
    EXPECT_EQ(config.on_store_loss, OnStoreLoss::kAllow);
    EXPECT_EQ(config.gateway.micro_usd[index_of(Period::kDay)], 12'500'000);
    EXPECT_EQ(config.gateway.calls[index_of(Period::kTotal)], 7);
    EXPECT_EQ(config.anonymous.calls[index_of(Period::kMonth)], 6);
    EXPECT_EQ(config.token_default.micro_usd[index_of(Period::kMonth)], 3'000'000);
    EXPECT_EQ(config.key_default.micro_usd[index_of(Period::kTotal)], 1);
    EXPECT_FALSE(config.providers[0].any());
    EXPECT_EQ(config.providers[1].calls[index_of(Period::kDay)], 100);
}

// What can't be a budget stops the start; so does one that would round to no limit at all.
TEST(BudgetConfig, BadValuesAreRefused) {
    for (const std::string_view line :
         {"usd_day = -1", "usd_day = 1e12", "calls_day = -5", "calls_day = 1.5", "usd_day = \"x\"",
          "usd_total = 0.0000001", "usd_week = 1"}) {
        const Loaded loaded = load("[budgets.gateway]\n" + std::string(line) + "\n");
        EXPECT_EQ(loaded.errors.size(), 1U) << line;
    }
    EXPECT_EQ(load("[budgets.providers.serperr]\nusd_day = 1\n").errors.size(), 1U);
    EXPECT_EQ(load("[budgets]\non_store_loss = \"ignore\"\n").errors.size(), 1U);
}

}  // namespace
}  // namespace sluice::access
