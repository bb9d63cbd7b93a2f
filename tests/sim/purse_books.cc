#include "sim/purse_books.h"

#include <array>

namespace sluice::sim {

using access::Limits;
using access::Period;
using access::Purse;

void PurseBooks::set(access::BudgetConfig config) {
    config_ = std::move(config);
    spending_.clear();
    limits_ += 1;
    set_at_ = clock_.now();
}

std::optional<std::uint64_t> PurseBooks::start_call() const {
    if (clock_.now() - set_at_ <= wait_ && wait_ > Millis(0)) {
        return std::nullopt;
    }
    return limits_;
}

void PurseBooks::paid(web::ProviderIndex provider, const std::string& key_id,
                      std::optional<std::uint64_t> limits_at_start) {
    calls_ += 1;
    if (limits_at_start != limits_) {
        return;
    }
    spend(Purse::kGateway, "", config_.gateway);
    spend(Purse::kToken, "", config_.anonymous);
    spend(Purse::kKey, key_id, config_.key_default);
    const Limits& limits =
        provider < config_.providers.size() ? config_.providers[provider] : Limits();
    spend(Purse::kProvider, std::to_string(provider), limits);
}

void PurseBooks::spend(Purse purse, const std::string& id, const Limits& limits) {
    if (!limits.any()) {
        return;
    }
    Spending& spending = spending_[Name(purse, id)];
    const UtcDay today = utc_day(clock_.wall_now());
    if (first_of_month(today) != first_of_month(spending.day)) {
        spending.this_month = 0;
    }
    if (today != spending.day) {
        spending.today = 0;
        spending.day = today;
    }
    const std::array<std::pair<Period, std::int64_t*>, access::kPeriods> counts = {{
        {Period::kDay, &spending.today},
        {Period::kMonth, &spending.this_month},
        {Period::kTotal, &spending.in_all},
    }};
    for (const auto& [period, count] : counts) {
        *count += 1;
        const std::int64_t limit = limits.calls[index_of(period)];
        violations_.check(limit == 0 || *count <= limit, "a budget was overrun",
                          std::string(to_string(purse)) + " " + std::string(to_string(period)));
    }
}

}  // namespace sluice::sim
