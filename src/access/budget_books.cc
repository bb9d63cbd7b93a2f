#include "access/budget_books.h"

#include "base/result.h"

#include <algorithm>
#include <utility>

namespace sluice::access {

namespace {

// Tokens and keys past kMaxAccounts share one account of each kind.
constexpr std::string_view kOthers = "_other";

std::unique_ptr<BudgetAccount> new_account(Purse purse, std::string_view id,
                                           std::string_view provider, UtcDay today) {
    AccountName name;
    name.purse = purse;
    name.id = id;
    name.provider = provider;
    return std::make_unique<BudgetAccount>(std::move(name), std::array<Spent, kPeriods>(), today);
}

}  // namespace

BudgetBooks::BudgetBooks(BudgetConfig config, std::vector<std::string> providers, UtcDay today)
    : config_(std::move(config)),
      providers_(std::move(providers)),
      nothing_spent_(AccountName(), {}, today) {
    SLUICE_ASSERT(config_.providers.size() == providers_.size());
    open({}, today);
}

void BudgetBooks::open(std::vector<Balance> balances, UtcDay today) {
    gateway_ = new_account(Purse::kGateway, "", "", today);
    by_provider_.clear();
    for (const std::string& name : providers_) {
        by_provider_.push_back(new_account(Purse::kProvider, name, "", today));
    }
    tokens_.clear();
    keys_.clear();
    for (Balance& balance : balances) {
        put(std::move(balance), today);
    }
    apply_limits();
}

void BudgetBooks::put(Balance balance, UtcDay today) {
    const Purse purse = balance.account.purse;
    const std::string id = balance.account.id;
    auto account =
        std::make_unique<BudgetAccount>(std::move(balance.account), balance.spent, today);
    switch (purse) {
        case Purse::kGateway:
            gateway_ = std::move(account);
            return;
        case Purse::kProvider: {
            // One that this binary does not have keeps its figures in the store.
            const auto place = std::find(providers_.begin(), providers_.end(), id);
            if (place != providers_.end()) {
                by_provider_[static_cast<std::size_t>(place - providers_.begin())] =
                    std::move(account);
            }
            return;
        }
        case Purse::kToken:
            tokens_.insert_or_assign(id, std::move(account));
            return;
        case Purse::kKey:
            keys_.insert_or_assign(id, std::move(account));
            return;
    }
}

void BudgetBooks::reconfigure(BudgetConfig config) {
    SLUICE_ASSERT(config.providers.size() == providers_.size());
    config_ = std::move(config);
    apply_limits();
}

// Those of tokens and keys are set with each call.
void BudgetBooks::apply_limits() {
    gateway_->set_limits(config_.gateway);
    for (std::size_t i = 0; i < providers_.size(); ++i) {
        by_provider_[i]->set_limits(config_.providers[i]);
    }
}

Limits BudgetBooks::limits_of(const Payer& payer) const {
    return payer.token_id.empty() ? config_.anonymous : payer.limits.over(config_.token_default);
}

std::optional<Refused> BudgetBooks::refusal(const Purchase& purchase, UtcDay today) const {
    const std::int64_t micro_usd = bounded(purchase.cost).micro_usd;
    if (const auto no = gateway_->shortage(config_.gateway, micro_usd, today)) {
        return Refused{Purse::kGateway, *no};
    }
    const std::size_t provider = purchase.provider;
    if (const auto no =
            by_provider_[provider]->shortage(config_.providers[provider], micro_usd, today)) {
        return Refused{Purse::kProvider, *no};
    }
    const Limits limits = limits_of(purchase.payer);
    if (limits.any()) {
        const BudgetAccount& account = find(tokens_, purchase.payer.token_id);
        if (const auto no = account.shortage(limits, micro_usd, today)) {
            return Refused{Purse::kToken, *no};
        }
    }
    if (config_.key_default.any() && !purchase.key_id.empty()) {
        const BudgetAccount& account = find(keys_, purchase.key_id);
        if (const auto no = account.shortage(config_.key_default, micro_usd, today)) {
            return Refused{Purse::kKey, *no};
        }
    }
    return std::nullopt;
}

std::array<BudgetAccount*, kPurseKinds> BudgetBooks::accounts(const Purchase& purchase,
                                                              UtcDay today) {
    BudgetAccount& token = find_or_add(tokens_, Purse::kToken, purchase.payer.token_id, "", today);
    token.set_limits(limits_of(purchase.payer));
    BudgetAccount* key = nullptr;
    if (!purchase.key_id.empty()) {
        key =
            &find_or_add(keys_, Purse::kKey, purchase.key_id, providers_[purchase.provider], today);
        key->set_limits(config_.key_default);
    }
    return {gateway_.get(), by_provider_[purchase.provider].get(), &token, key};
}

const BudgetAccount& BudgetBooks::find(const ById& accounts, std::string_view id) const {
    auto found = accounts.find(id);
    if (found == accounts.end() && accounts.size() > kMaxAccounts) {
        found = accounts.find(kOthers);
    }
    return found == accounts.end() ? nothing_spent_ : *found->second;
}

BudgetAccount& BudgetBooks::find_or_add(ById& accounts, Purse purse, std::string_view id,
                                        std::string_view provider, UtcDay today) {
    auto found = accounts.find(id);
    if (found == accounts.end()) {
        const bool full = accounts.size() >= kMaxAccounts;
        const std::string_view name = full ? kOthers : id;
        found = accounts.try_emplace(std::string(name)).first;
        if (!found->second) {
            found->second = new_account(purse, name, full ? "" : provider, today);
        }
    }
    return *found->second;
}

}  // namespace sluice::access
