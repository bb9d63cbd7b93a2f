// The titles that a query matches, best first.
#pragma once

#include "base/secret.h"
#include "titles/corpus.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

namespace sluice::titles {

struct ScoreLimits {
    double cutoff = 60.0;           // 0 to 100: what scores less is no match
    std::size_t result_limit = 50;  // so many matches are listed
};

struct ScoredPage {
    std::int64_t id = 0;
    double score = 0.0;
    bool operator==(const ScoredPage&) const = default;
};

// What a cache keeps: nothing that changes unless a title does.
struct Ranking {
    std::vector<ScoredPage> pages;  // by score descending, match copy by code point, id ascending
    std::size_t total_matched = 0;  // listed or not

    bool is_truncated() const { return total_matched > pages.size(); }
    bool operator==(const Ranking&) const = default;
};

// Scores are rapidfuzz's WRatio of the two match copies, in double precision, to the last bit what
// scoring every title would give; but titles whose bounds (titles/bounds.h) keep them out of the
// list are not scored. `match` is a match copy (titles/match_copy.h) of any length; past 64 code
// points there are no bounds, and every title is scored.
//
// Computes on the calling thread: a hundredth of a second for 100,000 titles, up to a second
// without bounds. Nothing when `stop` was requested, which is looked at every few hundred titles.
// Thread-safe.
std::optional<Ranking> score_titles(const Corpus& corpus, const QueryText& match,
                                    const ScoreLimits& limits, const std::stop_token& stop = {});

}  // namespace sluice::titles
