#include "titles/metrics.h"

namespace sluice::titles {

const obs::MetricSpec kSearches = {
    obs::MetricType::kCounter,
    "sluice_titles_searches_total",
    "Searches of titles, by who asked (page, api) and how they ended: rejected, limited, "
    "unavailable, busy, failed, found, left (the caller was gone).",
    {"kind", "outcome"},
};

const obs::MetricSpec kCacheEvents = {
    obs::MetricType::kCounter,
    "sluice_titles_cache_events_total",
    "Searches of titles that needed results: hit when they were there, miss when titles had to be "
    "scored.",
    {"event"},
};

const obs::MetricSpec kScoringSeconds = {
    obs::MetricType::kHistogram,
    "sluice_titles_scoring_seconds",
    "How long the scoring of all titles for one search took.",
    {},
    {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5},
};

const obs::MetricSpec kScoring = {
    obs::MetricType::kGauge,
    "sluice_titles_scoring",
    "Searches whose titles are being scored, at most titles.concurrency.",
    {},
};

const obs::MetricSpec kCandidates = {
    obs::MetricType::kGauge,
    "sluice_titles_candidates",
    "Pages that searches look through.",
    {},
};

std::vector<const obs::MetricSpec*> titles_metrics() {
    return {&kSearches, &kCacheEvents, &kScoringSeconds, &kScoring, &kCandidates};
}

}  // namespace sluice::titles
