// What a gateway of that configuration would decide about a request, found out as it finds it out
// itself (web::Search), in memory: without a network, a data directory and keys of anybody. Belongs
// to the calling thread.
#pragma once

#include "app/config.h"
#include "app/policy_file.h"
#include "base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::app {

// One name of the route.
struct PolicyOutlook {
    std::string provider;
    std::string skip;            // the word of why it is passed over; empty: it is asked
    std::string detail;          // the same in words
    std::int64_t micro_usd = 0;  // of one call
};

struct PolicyDecision {
    // What the caller is answered when nobody is asked.
    std::optional<Error> refused;
    // Whether that was so before anybody looked at a route; then there is nothing below.
    bool is_turned_away = false;
    std::string lane;
    std::string strategy;
    std::vector<PolicyOutlook> route;  // in order

    std::vector<std::string> asks() const;  // in order
    // What one call to each of them costs together.
    std::int64_t micro_usd() const;
};

PolicyDecision decide(const Config& config, const Policy& policy);

}  // namespace sluice::app
