#include "surface/pages/metrics.h"

namespace sluice::surface {

const obs::MetricSpec kPinTries = {
    obs::MetricType::kCounter,
    "sluice_pages_pin_tries_total",
    "PINs that were sent for a claimed page, by outcome: right, wrong, limited (too many tries a "
    "minute, or wrong ones an hour, from one client), page_limited (too many wrong ones from all "
    "of them, titles.pin_wrong_limit_hour), "
    "busy (no thread or no memory to verify it).",
    {"outcome"},
};

std::vector<const obs::MetricSpec*> pages_metrics() {
    return {&kPinTries};
}

}  // namespace sluice::surface
