// The settings of budgets: how much may be spent, by whom. Values; any thread.
#pragma once

#include "access/spending.h"
#include "base/config_reader.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::access {

// What happens to a call that has a budget while spending can't be written down.
enum class OnStoreLoss : std::uint8_t {
    kRefuse,  // it is not made
    kAllow,   // it is made and counted in memory, so a crash may forget it
};

struct BudgetConfig {
    Limits gateway;                 // everything together
    Limits anonymous;               // callers without a token together
    Limits token_default;           // each token, unless it has limits of its own
    Limits key_default;             // each key of a provider
    std::vector<Limits> providers;  // in the order of the names given to read()
    OnStoreLoss on_store_loss = OnStoreLoss::kRefuse;

    // Reads "budgets" from the top of the file.
    static BudgetConfig read(ConfigReader& in, std::span<const std::string_view> providers);
};

}  // namespace sluice::access
