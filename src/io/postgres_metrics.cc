#include "io/postgres_metrics.h"

namespace sluice::io {

const obs::MetricSpec kPostgresUp{obs::MetricType::kGauge,
                                  "sluice_postgres_up",
                                  "1 while there is a working connection to PostgreSQL; else 0.",
                                  {}};

const obs::MetricSpec kPostgresJobs{
    obs::MetricType::kCounter,
    "sluice_postgres_jobs_total",
    "Jobs for PostgreSQL (one or more statements that belong together) by how they ended: "
    "succeeded, failed (refused by the database or by what is in it), timed_out (no connection was "
    "free in time), unavailable (there was no connection, or it was lost), overloaded (too many "
    "wait), cancelled.",
    {"outcome"}};

const obs::MetricSpec kPostgresJobSeconds{
    obs::MetricType::kHistogram,
    "sluice_postgres_job_seconds",
    "Seconds that a job took, without its wait for a connection.",
    {},
    {0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5}};

const obs::MetricSpec kPostgresQueued{obs::MetricType::kGauge,
                                      "sluice_postgres_queued",
                                      "Jobs that wait for a connection to PostgreSQL.",
                                      {}};

const obs::MetricSpec kPostgresFaults{
    obs::MetricType::kCounter,
    "sluice_postgres_faults_total",
    "Connections to PostgreSQL that failed or were lost, by reason.",
    {"reason"}};

std::vector<const obs::MetricSpec*> postgres_metrics() {
    return {&kPostgresUp, &kPostgresJobs, &kPostgresJobSeconds, &kPostgresQueued, &kPostgresFaults};
}

}  // namespace sluice::io
