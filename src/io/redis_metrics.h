// Metrics of the connection to Redis.
#pragma once

#include "obs/metrics.h"

#include <vector>

namespace sluice::io {

extern const obs::MetricSpec kRedisUp;
extern const obs::MetricSpec kRedisCommands;
extern const obs::MetricSpec kRedisCommandSeconds;
extern const obs::MetricSpec kRedisFaults;

std::vector<const obs::MetricSpec*> redis_metrics();

}  // namespace sluice::io
