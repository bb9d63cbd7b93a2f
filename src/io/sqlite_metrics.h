// Metrics of the SQLite stores. The label "database" is the store's name.
#pragma once

#include "obs/metrics.h"

#include <vector>

namespace sluice::io {

extern const obs::MetricSpec kSqliteJobs;
extern const obs::MetricSpec kSqliteQueued;

std::vector<const obs::MetricSpec*> sqlite_metrics();

}  // namespace sluice::io
