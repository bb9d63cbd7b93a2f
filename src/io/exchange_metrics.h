// Metrics of recording exchanges with upstreams and of playing them.
#pragma once

#include "obs/metrics.h"

#include <vector>

namespace sluice::io {

extern const obs::MetricSpec kRecordedExchanges;
extern const obs::MetricSpec kReplayedExchanges;
extern const obs::MetricSpec kInjectedFaults;

std::vector<const obs::MetricSpec*> exchange_metrics();

}  // namespace sluice::io
