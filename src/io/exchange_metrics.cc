#include "io/exchange_metrics.h"

namespace sluice::io {

const obs::MetricSpec kRecordedExchanges{
    obs::MetricType::kCounter,
    "sluice_recorded_exchanges_total",
    "Requests to upstreams while --record is on, by what became of their recording: written; "
    "dropped (the disk is too slow), full (record.max_files or record.max_bytes is reached), "
    "failed "
    "(the file could not be written), cancelled (given up before an answer, so there is none).",
    {"outcome"}};

const obs::MetricSpec kReplayedExchanges{
    obs::MetricType::kCounter,
    "sluice_replayed_exchanges_total",
    "Requests to upstreams while --replay is on: answered from a recording, or unmatched, since no "
    "recording asks the same.",
    {"outcome"}};

const obs::MetricSpec kInjectedFaults{
    obs::MetricType::kCounter,
    "sluice_injected_faults_total",
    "Requests to upstreams, and scorings of title searches, that went wrong since --replay-faults "
    "says so, by the fault.",
    {"fault"}};

std::vector<const obs::MetricSpec*> exchange_metrics() {
    return {&kRecordedExchanges, &kReplayedExchanges, &kInjectedFaults};
}

}  // namespace sluice::io
