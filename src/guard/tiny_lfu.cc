#include "guard/tiny_lfu.h"

#include <algorithm>
#include <bit>

namespace sluice::guard {

namespace {

constexpr std::uint64_t kLowBitsOfHalves = 0x7777777777777777ULL;

// The finaliser of SplitMix64: every bit of the hash reaches every bit of the result.
std::uint64_t mix(std::uint64_t h) {
    h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9ULL;
    h = (h ^ (h >> 27)) * 0x94D049BB133111EBULL;
    return h ^ (h >> 31);
}

// One of the 32 counters of a row: its word of the line, and its first bit there.
struct Counter {
    std::size_t word;
    unsigned shift;
};

Counter counter_of(std::uint32_t selectors, std::size_t row) {
    const std::uint32_t selector = selectors >> (5 * row) & 31;
    return {2 * row + (selector & 1), (selector >> 1) * 4};
}

}  // namespace

FrequencySketch::FrequencySketch(std::size_t bytes)
    : lines_(std::bit_floor(std::max(bytes / sizeof(Line), std::size_t{1}))) {}

FrequencySketch::Place FrequencySketch::place_of(std::uint64_t hash) const {
    const std::uint64_t mixed = mix(hash);
    return {static_cast<std::size_t>(mixed >> 20) & (lines_.size() - 1),
            static_cast<std::uint32_t>(mixed)};
}

void FrequencySketch::record(std::uint64_t hash) {
    const std::uint32_t least = frequency(hash);
    if (least == kMaxFrequency) {
        return;
    }
    // Only the counters that hold the estimate go up: the higher ones count other keys too.
    const Place place = place_of(hash);
    auto& words = lines_[place.line].words;
    for (std::size_t row = 0; row < kRows; ++row) {
        const Counter counter = counter_of(place.selectors, row);
        if ((words[counter.word] >> counter.shift & kMaxFrequency) == least) {
            words[counter.word] += std::uint64_t{1} << counter.shift;
        }
    }
    recorded_ += 1;
}

std::uint32_t FrequencySketch::frequency(std::uint64_t hash) const {
    const Place place = place_of(hash);
    const auto& words = lines_[place.line].words;
    std::uint64_t least = kMaxFrequency;
    for (std::size_t row = 0; row < kRows; ++row) {
        const Counter counter = counter_of(place.selectors, row);
        least = std::min(least, words[counter.word] >> counter.shift & kMaxFrequency);
    }
    return static_cast<std::uint32_t>(least);
}

void FrequencySketch::age(std::size_t entries) {
    if (recorded_ <= kSampleFactor * entries) {
        return;
    }
    for (Line& line : lines_) {
        for (std::uint64_t& word : line.words) {
            word = word >> 1 & kLowBitsOfHalves;
        }
    }
    recorded_ /= 2;
}

}  // namespace sluice::guard
