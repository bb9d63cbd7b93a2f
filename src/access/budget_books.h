// Every account that calls are written in: the gateway's, one a provider, one a token, one a key.
// Belongs to the control loop; holds no clock.
#pragma once

#include "access/budget_account.h"
#include "access/budget_config.h"
#include "access/spend_store.h"
#include "access/spending.h"

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice::access {

// A call that is about to be made. Views and references live as long as the call they are for.
struct Purchase {
    const Payer& payer;
    std::size_t provider = 0;  // its place in the names that the books were opened with
    std::string_view key_id;   // empty: no key is known
    Spent cost;                // calls is 1; what is past kMaxCallUnits or kMaxCallMicroUsd is cut
};

// Which purse has no room.
struct Refused {
    Purse purse = Purse::kGateway;
    Shortage shortage;
};

class BudgetBooks {
 public:
    // `config.providers` belong to `providers`.
    BudgetBooks(BudgetConfig config, std::vector<std::string> providers, UtcDay today);

    // Replaces every account by what a store says. Nothing may be held.
    void open(std::vector<Balance> balances, UtcDay today);
    void reconfigure(BudgetConfig config);

    const BudgetConfig& config() const { return config_; }
    const std::vector<std::string>& providers() const { return providers_; }
    const BudgetAccount& gateway() const { return *gateway_; }
    const BudgetAccount& provider(std::size_t provider) const { return *by_provider_[provider]; }

    // The first purse without room for the call; nothing when every one has.
    std::optional<Refused> refusal(const Purchase& purchase, UtcDay today) const;

    // The accounts of a call, with the limits that apply to it; null where there is no key. They
    // live as long as these books, until open().
    std::array<BudgetAccount*, kPurseKinds> accounts(const Purchase& purchase, UtcDay today);

 private:
    struct TextHash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const {
            return std::hash<std::string_view>{}(text);
        }
    };
    using AccountPtr = std::unique_ptr<BudgetAccount>;
    using ById = std::unordered_map<std::string, AccountPtr, TextHash, std::equal_to<>>;

    Limits limits_of(const Payer& payer) const;
    void apply_limits();
    void put(Balance balance, UtcDay today);
    const BudgetAccount& find(const ById& accounts, std::string_view id) const;
    static BudgetAccount& find_or_add(ById& accounts, Purse purse, std::string_view id,
                                      std::string_view provider, UtcDay today);

    BudgetConfig config_;
    const std::vector<std::string> providers_;
    AccountPtr gateway_;
    std::vector<AccountPtr> by_provider_;
    ById tokens_;
    ById keys_;
    // Of whoever has no account yet: a single call may be too much for it.
    const BudgetAccount nothing_spent_;
};

}  // namespace sluice::access
