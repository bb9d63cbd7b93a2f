#include "io/redis_metrics.h"

namespace sluice::io {

const obs::MetricSpec kRedisUp{obs::MetricType::kGauge,
                               "sluice_redis_up",
                               "1 while there is a working connection to Redis; else 0.",
                               {}};

const obs::MetricSpec kRedisCommands{
    obs::MetricType::kCounter,
    "sluice_redis_commands_total",
    "Commands for Redis by how they ended: succeeded, refused (an error of Redis), timed_out, "
    "unavailable (there was no connection, or it was lost), overloaded (too many under way), "
    "cancelled.",
    {"outcome"}};

const obs::MetricSpec kRedisCommandSeconds{
    obs::MetricType::kHistogram,
    "sluice_redis_command_seconds",
    "Seconds from sending a command to its reply.",
    {},
    {0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1}};

const obs::MetricSpec kRedisFaults{obs::MetricType::kCounter,
                                   "sluice_redis_faults_total",
                                   "Connections to Redis that failed or were lost, by reason.",
                                   {"reason"}};

std::vector<const obs::MetricSpec*> redis_metrics() {
    return {&kRedisUp, &kRedisCommands, &kRedisCommandSeconds, &kRedisFaults};
}

}  // namespace sluice::io
