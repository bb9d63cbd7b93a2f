#include "surface/pages/metrics.h"

namespace sluice::surface {

const obs::MetricSpec kPinTries = {
    obs::MetricType::kCounter,
    "sluice_pages_pin_tries_total",
    "PINs that were sent for a claimed page, by outcome: right, wrong, limited (too many from one "
    "client), busy (no thread to verify it on).",
    {"outcome"},
};

std::vector<const obs::MetricSpec*> pages_metrics() {
    return {&kPinTries};
}

}  // namespace sluice::surface
