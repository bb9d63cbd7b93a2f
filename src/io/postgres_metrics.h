// Metrics of the connections to PostgreSQL.
#pragma once

#include "obs/metrics.h"

#include <vector>

namespace sluice::io {

extern const obs::MetricSpec kPostgresUp;
extern const obs::MetricSpec kPostgresJobs;
extern const obs::MetricSpec kPostgresJobSeconds;
extern const obs::MetricSpec kPostgresQueued;
extern const obs::MetricSpec kPostgresFaults;

std::vector<const obs::MetricSpec*> postgres_metrics();

}  // namespace sluice::io
