// For tests that run a long random sequence of operations beside a simple model. The seed is fixed,
// so a run repeats; every failure prints it and the step.
#pragma once

#include "base/random.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace sluice::guard {

inline constexpr std::size_t kSteps = 100'000;

// Calls step(random) kSteps times for each seed and stops at the first failure: then
// false, and the failure is told.
template <class MakeStep>
bool run_property(MakeStep&& make_step) {
    for (const std::uint64_t seed : {1ULL, 20'260'101ULL, 0xC0FFEEULL}) {
        SeededRandom random(seed);
        auto step = make_step();
        for (std::size_t i = 0; i < kSteps; ++i) {
            step(random);
            if (::testing::Test::HasFailure()) {
                ADD_FAILURE() << "seed " << seed << ", step " << i;
                return false;
            }
        }
    }
    return true;
}

}  // namespace sluice::guard
