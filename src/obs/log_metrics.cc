#include "obs/log_metrics.h"

namespace sluice::obs {

const MetricSpec kLogLinesDropped{
    MetricType::kCounter,
    "sluice_log_lines_dropped_total",
    "Log lines given up because stderr did not take them fast enough.",
    {}};

std::vector<const MetricSpec*> obs_metrics() {
    return {&kLogLinesDropped};
}

}  // namespace sluice::obs
