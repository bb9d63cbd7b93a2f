// Looking once, without a gateway, whether the declared egress endpoints work.
#pragma once

#include "app/config.h"
#include "base/clock.h"
#include "base/result.h"

#include <string>
#include <vector>

namespace sluice::app {

struct ProbedEndpoint {
    std::string name;
    std::string address;  // scheme://host:port
    Status end;           // as io::probe_egress() has it
    Millis elapsed{};
};

// All at once, each as the gateway would probe it. In order of name; empty when
// egress.health_check_url is.
std::vector<ProbedEndpoint> probe_endpoints(const Config& config);

}  // namespace sluice::app
