// How often keys were asked for lately, in half a byte per counter: what decides whether a new
// cache entry is worth more than the one it would push out.
//
// After G. Einziger, R. Friedman and B. Manes, "TinyLFU: A Highly Efficient Cache Admission
// Policy", ACM Transactions on Storage 13(4), 2017. The counters of one key are in one cache line,
// so a look costs one miss at most.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::guard {

// A count-min sketch of 4-bit counters with conservative update. Counts are never too low except by
// ageing: every so often all of them are halved, so that what was popular yesterday makes room.
// Takes hashes, which need not be well mixed. Not thread-safe.
class FrequencySketch {
 public:
    static constexpr std::uint32_t kMaxFrequency = 15;

    // Takes `bytes` of memory, rounded down to a power of two and at least one line of 64 bytes.
    explicit FrequencySketch(std::size_t bytes);

    // One more request for the key of `hash`. A key that has reached kMaxFrequency writes nothing.
    void record(std::uint64_t hash);
    // At least how often it was recorded lately, and rarely more; at most kMaxFrequency.
    std::uint32_t frequency(std::uint64_t hash) const;

    // Halves all counts if, since the last time, more than `kSampleFactor` times `entries` requests
    // were recorded.
    void age(std::size_t entries);

    std::size_t bytes() const { return lines_.size() * sizeof(Line); }

    static constexpr std::size_t kSampleFactor = 10;

 private:
    static constexpr std::size_t kRows = 4;
    // Each row of a key has two words of its line: 32 counters.
    struct alignas(64) Line {
        std::array<std::uint64_t, 2 * kRows> words{};
    };
    // Where the counters of one key are.
    struct Place {
        std::size_t line;
        std::uint32_t selectors;  // five bits for each row
    };

    Place place_of(std::uint64_t hash) const;

    std::vector<Line> lines_;   // a power of two
    std::size_t recorded_ = 0;  // counts that went up since the last ageing
};

}  // namespace sluice::guard
