#include "io/sqlite_metrics.h"

namespace sluice::io {

const obs::MetricSpec kSqliteJobs = {
    obs::MetricType::kCounter,
    "sluice_sqlite_jobs_total",
    "Jobs given to the thread of a SQLite database, by how they ended.",
    {"database", "outcome"},
};

const obs::MetricSpec kSqliteQueued = {
    obs::MetricType::kGauge,
    "sluice_sqlite_queued_jobs",
    "Jobs that wait for the thread of a SQLite database.",
    {"database"},
};

std::vector<const obs::MetricSpec*> sqlite_metrics() {
    return {&kSqliteJobs, &kSqliteQueued};
}

}  // namespace sluice::io
