// What happened in all runs together, so that one can see what was covered, and a simulation that
// covers less than it says fails.
#pragma once

#include "web/search.h"
#include "web/types.h"
#include "web/verdict.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sluice::sim {

inline constexpr std::size_t kEffectCount = static_cast<std::size_t>(web::Effect::kEmpty) + 1;

struct Totals {
    std::uint64_t requests = 0;
    std::uint64_t calls = 0;
    std::uint64_t left = 0;     // clients that did not wait
    std::uint64_t changes = 0;  // by the operator, while searches were under way
    std::uint64_t trips = 0;    // circuits that opened
    std::uint64_t retries = 0;  // calls that were made again after a wait
    std::uint64_t explained = 0;
    std::array<std::uint64_t, web::kOutcomeCount> outcomes{};  // of attempts in trails
    std::array<std::uint64_t, kEffectCount> effects{};         // of what providers said
    std::map<std::string, std::uint64_t> replies;              // "live", "fresh", codes of errors

    void print() const;
    // Words that never occurred although they should.
    std::vector<std::string> missing() const;
};

}  // namespace sluice::sim
