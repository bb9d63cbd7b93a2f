// One run of the simulation: a gateway, its clients, its operator and its providers, from a seed.
#pragma once

#include "sim/repertoire.h"
#include "sim/totals.h"

#include <cstddef>
#include <cstdint>

namespace sluice::sim {

inline constexpr std::size_t kRequestsPerRun = 600;

// Returns whether every invariant held; what did not is printed with the seed. Adds to `totals`.
bool run(std::uint64_t seed, const Repertoire& repertoire, Totals& totals);

}  // namespace sluice::sim
