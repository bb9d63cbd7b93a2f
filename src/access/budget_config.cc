#include "access/budget_config.h"

namespace sluice::access {

namespace {

struct LimitKeys {
    Period period;
    std::string_view usd;
    std::string_view usd_help;
    std::string_view calls;
    std::string_view calls_help;
};

constexpr std::array kLimitKeys = {
    LimitKeys{Period::kDay, "usd_day", "US dollars in one UTC day; 0: no limit", "calls_day",
              "paid calls in one UTC day; 0: no limit"},
    LimitKeys{Period::kMonth, "usd_month", "US dollars in one UTC month; 0: no limit",
              "calls_month", "paid calls in one UTC month; 0: no limit"},
    LimitKeys{Period::kTotal, "usd_total", "US dollars in all; 0: no limit", "calls_total",
              "paid calls in all; 0: no limit"},
};

Limits read_limits(ConfigReader in) {
    Limits limits;
    for (const LimitKeys& keys : kLimitKeys) {
        double usd = 0;
        in.number({keys.usd, keys.usd_help, {}, false}, usd, 0, static_cast<double>(kMaxBudgetUsd));
        const std::optional<std::int64_t> budget = to_budget(usd);
        if (!budget) {
            in.fail(keys.usd, std::string(kSmallestBudget));
        }
        limits.micro_usd[index_of(keys.period)] = budget.value_or(0);
        in.integer({keys.calls, keys.calls_help, {}, false}, limits.calls[index_of(keys.period)],
                   std::int64_t{0}, kMaxBudgetCalls);
    }
    return limits;
}

}  // namespace

BudgetConfig BudgetConfig::read(ConfigReader& in, std::span<const std::string_view> providers) {
    BudgetConfig c;
    ConfigReader budgets = in.section("budgets");
    budgets.choice(
        {"on_store_loss",
         "what becomes of calls that have a budget, or whose key has a quota, while what they use "
         "up can't be written down",
         {},
         false},
        c.on_store_loss, {{"refuse", OnStoreLoss::kRefuse}, {"allow", OnStoreLoss::kAllow}});
    c.gateway = read_limits(budgets.section("gateway"));
    c.anonymous = read_limits(budgets.section("anonymous"));
    c.token_default = read_limits(budgets.section("token_default"));
    c.key_default = read_limits(budgets.section("key_default"));
    ConfigReader by_provider = budgets.section("providers");
    for (const std::string_view name : providers) {
        c.providers.push_back(read_limits(by_provider.section(name)));
    }
    return c;
}

}  // namespace sluice::access
