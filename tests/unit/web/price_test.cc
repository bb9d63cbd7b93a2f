#include "web/price.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace sluice::web {
namespace {

ProviderSpec spec_of(std::int64_t micro_usd_per_unit) {
    ProviderSpec spec;
    spec.name = "p";
    spec.unit = "credits";
    spec.micro_usd_per_unit = micro_usd_per_unit;
    return spec;
}

struct Loaded {
    PriceConfig price;
    std::size_t errors;
    std::vector<EffectiveSetting> settings;
};

Loaded load(std::string_view toml, const ProviderSpec& spec) {
    ConfigLayers layers;
    layers.add_file("sluice.toml", toml);
    ConfigReader reader(layers);
    Loaded loaded;
    loaded.price = PriceConfig::read(reader.section("price"), spec);
    layers.finish();
    loaded.errors = layers.errors().size();
    loaded.settings = layers.settings();
    return loaded;
}

// Unless a price is set the vendor's list price applies, and the settings page shows it.
TEST(Price, TheListPriceIsTheDefault) {
    const ProviderSpec spec = spec_of(8'000);
    const Loaded loaded = load("", spec);
    EXPECT_EQ(loaded.settings.at(0).default_value, "8");
    EXPECT_EQ(at_price(spec, loaded.price, {2, 16'000}), (Cost{2, 16'000}));
}

// A plan's own price scales what a call costs, surcharges included, and is never rounded down.
TEST(Price, APlanHasItsOwnPrice) {
    const ProviderSpec spec = spec_of(8'000);
    const PriceConfig price = load("[price]\nusd_per_1000 = 5\n", spec).price;
    EXPECT_EQ(at_price(spec, price, {2, 16'000}), (Cost{2, 10'000}));
    EXPECT_EQ(at_price(spec, price, {1, 8'001}), (Cost{1, 5'001}));
    const PriceConfig free = load("[price]\nusd_per_1000 = 0\n", spec).price;
    EXPECT_EQ(at_price(spec, free, {2, 16'000}), (Cost{2, 0}));
}

// Where the list says that something is free a price is one of units.
TEST(Price, AFreeProviderMayBeGivenAPrice) {
    const ProviderSpec spec = spec_of(0);
    const PriceConfig price = load("[price]\nusd_per_1000 = 0.3\n", spec).price;
    EXPECT_EQ(at_price(spec, price, {3, 0}), (Cost{3, 900}));
}

// The dearest price of the dearest call still fits.
TEST(Price, NothingOverflows) {
    const ProviderSpec spec = spec_of(1);
    const PriceConfig price = load("[price]\nusd_per_1000 = 1000\n", spec).price;
    EXPECT_EQ(at_price(spec, price, {1, access::kMaxCallMicroUsd}).micro_usd,
              access::kMaxCallMicroUsd * 1'000'000);
    EXPECT_EQ(at_price(spec, price, {1, -5}).micro_usd, 0);
}

// A price that can't be one stops the start.
TEST(Price, BadPricesAreRefused) {
    for (const std::string_view value : {"-1", "1001", "\"cheap\""}) {
        EXPECT_EQ(load("[price]\nusd_per_1000 = " + std::string(value) + "\n", spec_of(1)).errors,
                  1U)
            << value;
    }
}

}  // namespace
}  // namespace sluice::web
