#include "web/price.h"

#include <algorithm>
#include <string>

namespace sluice::web {

namespace {

constexpr std::int64_t kPer = 1'000;      // units that a price is of
constexpr double kMaxUsdPer1000 = 1'000;  // a dollar a unit

// `amount` * `price` / `per`, rounded up. An amount is bounded first, so that the product fits.
std::int64_t scaled_up(std::int64_t amount, std::int64_t price, std::int64_t per) {
    const std::int64_t product =
        std::clamp<std::int64_t>(amount, 0, access::kMaxCallMicroUsd) * price;
    return product / per + (product % per > 0 ? 1 : 0);
}

}  // namespace

PriceConfig PriceConfig::read(ConfigReader in, const ProviderSpec& spec) {
    PriceConfig c;
    double usd = static_cast<double>(spec.micro_usd_per_unit * kPer) /
                 static_cast<double>(access::kMicroUsd);
    const std::string help = "US dollars for 1,000 " + std::string(spec.unit) + " in your plan";
    in.number({"usd_per_1000", help, {}, false}, usd, 0, kMaxUsdPer1000);
    c.micro_usd_per_1000 = access::to_micro_usd(usd);
    return c;
}

Cost at_price(const ProviderSpec& spec, const PriceConfig& price, Cost listed) {
    const std::int64_t list_per_1000 = spec.micro_usd_per_unit * kPer;
    if (price.micro_usd_per_1000 == list_per_1000) {
        return listed;
    }
    Cost cost = listed;
    cost.micro_usd = list_per_1000 == 0
                         ? scaled_up(listed.units, price.micro_usd_per_1000, kPer)
                         : scaled_up(listed.micro_usd, price.micro_usd_per_1000, list_per_1000);
    return cost;
}

access::Spent one_call(const Cost& cost) {
    return {1, cost.units, cost.micro_usd};
}

}  // namespace sluice::web
