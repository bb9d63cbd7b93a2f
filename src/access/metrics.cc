#include "access/metrics.h"

namespace sluice::access {

const obs::MetricSpec kRefused = {
    obs::MetricType::kCounter,
    "sluice_access_refused_total",
    "Requests that were refused because of who sent them, by reason.",
    {"reason"},
};

const obs::MetricSpec kTokens = {
    obs::MetricType::kGauge,
    "sluice_access_tokens",
    "API tokens that are not revoked.",
    {},
};

const obs::MetricSpec kTokenRefreshFailures = {
    obs::MetricType::kCounter,
    "sluice_access_token_refresh_failures_total",
    "Times that the token store could not be read; the tokens last known stay in force.",
    {},
};

std::vector<const obs::MetricSpec*> access_metrics() {
    return {&kRefused, &kTokens, &kTokenRefreshFailures};
}

}  // namespace sluice::access
