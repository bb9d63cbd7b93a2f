// Metrics of the egress endpoints.
#pragma once

#include "obs/metrics.h"

#include <vector>

namespace sluice::io {

extern const obs::MetricSpec kEgressCalls;
extern const obs::MetricSpec kEgressFailures;
extern const obs::MetricSpec kEgressUp;

std::vector<const obs::MetricSpec*> egress_metrics();

}  // namespace sluice::io
