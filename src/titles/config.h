// Settings of the section "titles".
#pragma once

#include "base/config_reader.h"
#include "titles/budget.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace sluice::titles {

struct TitlesConfig {
    bool enabled = true;
    BudgetLimits limits;          // of the page
    BudgetLimits api_limits;      // of /v1/pages/search
    std::size_t concurrency = 2;  // titles are scored for so many searches at once
    std::size_t cache_entries = 256;
    double score_cutoff = 60;  // 0 to 100
    std::size_t result_limit = 50;
    unsigned ipv6_prefix = 64;                // of an address, what counts as one client
    std::int64_t pin_wrong_limit_hour = 100;  // of one page, from all clients together
    std::string budget_file = {};             // empty: search-budget.db in the data directory

    static TitlesConfig read(ConfigReader in);
};

}  // namespace sluice::titles
