#include "io/egress_metrics.h"

namespace sluice::io {

const obs::MetricSpec kEgressCalls{obs::MetricType::kCounter,
                                   "sluice_egress_calls_total",
                                   "Calls to providers that went out through an egress endpoint.",
                                   {"endpoint"}};

const obs::MetricSpec kEgressFailures{
    obs::MetricType::kCounter,
    "sluice_egress_failures_total",
    "Failures that an egress endpoint is to blame for, of calls and of probes.",
    {"endpoint", "source"}};

const obs::MetricSpec kEgressUp{obs::MetricType::kGauge,
                                "sluice_egress_up",
                                "Whether an egress endpoint is in use (1) or failed too often (0); "
                                "with all of them at 0 every one is used. NaN: no longer declared.",
                                {"endpoint"}};

std::vector<const obs::MetricSpec*> egress_metrics() {
    return {&kEgressCalls, &kEgressFailures, &kEgressUp};
}

}  // namespace sluice::io
