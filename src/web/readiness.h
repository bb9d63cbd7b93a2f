// Who could be asked, as keys and settings stand: for the probe of readiness and for what is said
// at the start. Belongs to the control loop.
#pragma once

#include "web/config.h"
#include "web/keys.h"

#include <string>
#include <vector>

namespace sluice::web {

// Whether an enabled provider of a route has a key that may be used now, and an engine where it
// searches by one.
bool can_search(const WebConfig& config, KeyPool& keys);

// A lane whose searches all fail for want of a key, as long as nobody changes something.
struct IdleLane {
    std::string name;  // "fast"
    std::string
        unused;  // which keys are there all the same, and what keeps them from use; or empty
};
std::vector<IdleLane> idle_lanes(const WebConfig& config, KeyPool& keys);

}  // namespace sluice::web
