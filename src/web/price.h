// What a call costs with this installation's prices. A vendor's list price is the adapter's
// (Provider::price); plans differ, so an operator may set the price of a unit, and everything is
// scaled by it, what a provider says that it charged too. Pure; any thread.
#pragma once

#include "access/spending.h"
#include "base/config_reader.h"
#include "web/provider.h"
#include "web/types.h"

#include <cstdint>

namespace sluice::web {

struct PriceConfig {
    std::int64_t micro_usd_per_1000 = 0;  // units: ProviderSpec::unit

    // The section providers.<name>.price; the default is the vendor's list price.
    static PriceConfig read(ConfigReader in, const ProviderSpec& spec);
};

// `listed`, an amount at the list price, at the price that is configured. Rounded up: an estimate
// is not less than what is charged.
Cost at_price(const ProviderSpec& spec, const PriceConfig& price, Cost listed);

// One call of that cost, as budgets count it.
access::Spent one_call(const Cost& cost);

}  // namespace sluice::web
