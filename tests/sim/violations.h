// Where broken invariants are reported.
#pragma once

#include "base/clock.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace sluice::sim {

class Violations {
 public:
    // More of one run are counted and not printed: the first ones tell.
    static constexpr std::size_t kMaxPrinted = 20;

    Violations(std::uint64_t seed, const Clock& clock)
        : seed_(seed), clock_(clock), started_(clock.now()) {}

    // `what` is the rule that was broken, `about` what it was broken by.
    void check(bool holds, std::string_view what, std::string_view about = {}) {
        if (holds) {
            return;
        }
        count_ += 1;
        if (count_ > kMaxPrinted) {
            return;
        }
        const auto at = std::chrono::duration<double>(clock_.now() - started_).count();
        const std::string line = std::string(what) + (about.empty() ? "" : ": ");
        std::fprintf(stderr, "web_sim: seed %llu at %.3f s: %s%.*s\n",
                     static_cast<unsigned long long>(seed_), at, line.c_str(),
                     static_cast<int>(about.size()), about.data());
    }

    std::size_t count() const { return count_; }

 private:
    std::uint64_t seed_;
    const Clock& clock_;
    Instant started_;
    std::size_t count_ = 0;
};

}  // namespace sluice::sim
