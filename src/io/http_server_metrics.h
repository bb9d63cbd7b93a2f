// The metrics of the HTTP server.
#pragma once

#include "obs/metrics.h"

#include <vector>

namespace sluice::io {

extern const obs::MetricSpec kHttpRequests;
extern const obs::MetricSpec kHttpRequestSeconds;
extern const obs::MetricSpec kHttpRefused;
extern const obs::MetricSpec kHttpCancelled;
extern const obs::MetricSpec kHttpFailed;
extern const obs::MetricSpec kHttpConnections;
extern const obs::MetricSpec kHttpAccepted;
extern const obs::MetricSpec kHttpAcceptFailed;
extern const obs::MetricSpec kHttpUnread;        // sluice_http_unread_total{outcome}
extern const obs::MetricSpec kHttpWaitingBytes;  // sluice_http_waiting_bytes
extern const obs::MetricSpec kHttpTurnedAway;

std::vector<const obs::MetricSpec*> http_server_metrics();

}  // namespace sluice::io
