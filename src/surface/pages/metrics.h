// Metrics of the pages for people.
#pragma once

#include "obs/metrics.h"

#include <vector>

namespace sluice::surface {

extern const obs::MetricSpec kPinTries;  // sluice_pages_pin_tries_total{outcome}

std::vector<const obs::MetricSpec*> pages_metrics();

}  // namespace sluice::surface
