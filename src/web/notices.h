// What an operator should know about a configuration that takes effect: which providers of its
// routes are skipped, and what is special about those that are switched on.
#pragma once

#include "obs/log.h"
#include "web/config.h"

namespace sluice::web {

// To be called whenever a configuration takes effect. A line for every provider that a route
// names and that no search will ask (route_skips_provider), and a warning for every enabled
// provider whose declaration has a notice, such as the day on which its service ends
// (provider_notice).
void log_notices(const WebConfig& config, const obs::Log& log);

}  // namespace sluice::web
