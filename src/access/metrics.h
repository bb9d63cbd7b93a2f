// Metrics of the access side.
#pragma once

#include "obs/metrics.h"

#include <vector>

namespace sluice::access {

extern const obs::MetricSpec kRefused;
extern const obs::MetricSpec kTokens;
extern const obs::MetricSpec kTokenRefreshFailures;

std::vector<const obs::MetricSpec*> access_metrics();

}  // namespace sluice::access
