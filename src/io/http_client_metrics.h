// Metrics of the connections to upstreams.
#pragma once

#include "obs/metrics.h"

#include <vector>

namespace sluice::io {

extern const obs::MetricSpec kUpstreamTransfers;
extern const obs::MetricSpec kUpstreamConnections;
extern const obs::MetricSpec kUpstreamErrors;

std::vector<const obs::MetricSpec*> http_client_metrics();

}  // namespace sluice::io
