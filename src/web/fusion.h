// Several ranked lists made one. Pure; any thread.
#pragma once

#include "base/hit.h"

#include <cstddef>
#include <vector>

namespace sluice::web {

// The constant of reciprocal-rank fusion. A hit's score is the sum of 1 / (kFusionConstant + rank)
// over the lists that have it: G. V. Cormack, C. L. A. Clarke, S. Buettcher, "Reciprocal Rank
// Fusion outperforms Condorcet and individual Rank Learning Methods", SIGIR 2009, where 60 was
// found to do well. It needs ranks only; scores of different providers can't be compared.
inline constexpr int kFusionConstant = 60;

// The hits of all lists, each page once (web/canonical_url.h), best first, at most `max_hits`. A
// page that several lists have is shown as the list that ranks it highest gave it, so its URL is
// one that a provider returned; what that one lacks comes from the others. Equal scores keep the
// order of the better rank, then of the lists. `origins` says who had it where. The hits come with
// their rank and provider filled; the new ones are ranked from 1.
std::vector<Hit> fuse(std::vector<std::vector<Hit>> lists, std::size_t max_hits);

}  // namespace sluice::web
