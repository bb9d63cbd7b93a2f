// Metrics of title search.
#pragma once

#include "obs/metrics.h"

#include <vector>

namespace sluice::titles {

extern const obs::MetricSpec kSearches;        // sluice_titles_searches_total{kind,outcome}
extern const obs::MetricSpec kCacheEvents;     // sluice_titles_cache_events_total{event}
extern const obs::MetricSpec kScoringSeconds;  // sluice_titles_scoring_seconds
extern const obs::MetricSpec kScoring;         // sluice_titles_scoring
extern const obs::MetricSpec kCandidates;      // sluice_titles_candidates

std::vector<const obs::MetricSpec*> titles_metrics();

}  // namespace sluice::titles
