#include "io/http_server_metrics.h"

namespace sluice::io {

using obs::MetricType;

const obs::MetricSpec kHttpRequests{MetricType::kCounter,
                                    "sluice_http_requests_total",
                                    "Requests answered, by method and class of status.",
                                    {"method", "status_class"}};
const obs::MetricSpec kHttpRequestSeconds{
    MetricType::kHistogram,
    "sluice_http_request_seconds",
    "Time from a request's last byte to its finished answer.",
    {},
    {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}};
const obs::MetricSpec kHttpRefused{MetricType::kCounter,
                                   "sluice_http_refused_total",
                                   "What never became a request, by the reason of the refusal.",
                                   {"reason"}};
const obs::MetricSpec kHttpCancelled{MetricType::kCounter,
                                     "sluice_http_cancelled_total",
                                     "Requests whose client left before the answer.",
                                     {}};
const obs::MetricSpec kHttpFailed{MetricType::kCounter,
                                  "sluice_http_failed_total",
                                  "Requests whose handler threw an exception.",
                                  {}};
const obs::MetricSpec kHttpConnections{
    MetricType::kGauge, "sluice_http_connections", "Connections that are open.", {}};
const obs::MetricSpec kHttpAccepted{
    MetricType::kCounter, "sluice_http_accepted_total", "Connections accepted.", {}};
const obs::MetricSpec kHttpAcceptFailed{
    MetricType::kCounter,
    "sluice_http_accept_failed_total",
    "Times that a connection could not be accepted, for want of descriptors or memory; it waits.",
    {}};
const obs::MetricSpec kHttpUnread{
    MetricType::kCounter,
    "sluice_http_unread_total",
    "What became of answers because of server.max_waiting_answer_bytes: dropped (their client had "
    "read nothing, or least, for longest and was cut off), refused (a large one, answered 503).",
    {"outcome"}};
const obs::MetricSpec kHttpWaitingBytes{
    MetricType::kGauge,
    "sluice_http_waiting_bytes",
    "Memory that answers hold whose clients do not read, at most about "
    "server.max_waiting_answer_bytes.",
    {}};
const obs::MetricSpec kHttpTurnedAway{
    MetricType::kCounter,
    "sluice_http_turned_away_total",
    "Connections closed at once because of server.max_connections.",
    {}};

std::vector<const obs::MetricSpec*> http_server_metrics() {
    return {&kHttpRequests,   &kHttpRequestSeconds, &kHttpRefused,     &kHttpCancelled,
            &kHttpFailed,     &kHttpConnections,    &kHttpAccepted,    &kHttpAcceptFailed,
            &kHttpTurnedAway, &kHttpUnread,         &kHttpWaitingBytes};
}

}  // namespace sluice::io
