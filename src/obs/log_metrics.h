// The metrics that observing itself has.
#pragma once

#include "obs/metrics.h"

#include <vector>

namespace sluice::obs {

// Sampled from LogSink::dropped().
extern const MetricSpec kLogLinesDropped;

std::vector<const MetricSpec*> obs_metrics();

}  // namespace sluice::obs
