#include "io/http_client_metrics.h"

namespace sluice::io {

const obs::MetricSpec kUpstreamTransfers{
    obs::MetricType::kGauge, "sluice_upstream_transfers", "Requests to upstreams under way.", {}};

const obs::MetricSpec kUpstreamConnections{
    obs::MetricType::kCounter,
    "sluice_upstream_connections_total",
    "Connections used for requests to upstreams: taken from the pool (reused true) or newly made.",
    {"reused"}};

const obs::MetricSpec kUpstreamErrors{obs::MetricType::kCounter,
                                      "sluice_upstream_errors_total",
                                      "Requests to upstreams that got no answer, by error code.",
                                      {"code"}};

std::vector<const obs::MetricSpec*> http_client_metrics() {
    return {&kUpstreamTransfers, &kUpstreamConnections, &kUpstreamErrors};
}

}  // namespace sluice::io
