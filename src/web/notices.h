// What an operator should know about the providers that are switched on.
#pragma once

#include "obs/log.h"
#include "web/config.h"

namespace sluice::web {

// A warning for every enabled provider whose declaration has a notice, such as the day on which its
// service ends. To be called whenever a configuration takes effect.
void log_notices(const WebConfig& config, const obs::Log& log);

}  // namespace sluice::web
