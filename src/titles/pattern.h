// A short text that is compared with many others: how much of it they have in order. Bit-parallel,
// a few instructions for each byte of the other text.
#pragma once

#include "titles/title_forms.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::titles {

// Thread-safe once it is built.
class Pattern {
 public:
    static constexpr std::size_t kMaxSize = 64;

    // At most kMaxSize bytes.
    explicit Pattern(Bytes text);

    std::size_t size() const { return size_; }

    // Length of the longest common subsequence. The recurrence is that of Hyyrö, "Bit-parallel
    // LCS-length computation revisited" (2004): bit i of a row is clear when the first i + 1 bytes
    // of the pattern have one more in common with the text than the first i have.
    std::size_t common(Bytes text) const;

    // rapidfuzz's partial_ratio from 0 to 1 for texts of different sizes: the highest
    // 2 * common / (sizes together) of the shorter text and any piece of the longer one that is as
    // long, or shorter and at an end. 0 when that is less than `floor`, which must be above 0.
    // `all_common` is common(text). Two neighbouring pieces differ by one byte at each end, so what
    // they have in common differs by one at most: where a piece lacks d of what is needed, the next
    // d - 1 are passed over.
    double partial(Bytes text, std::size_t all_common, double floor) const;

 private:
    using Row = std::uint64_t;
    using Table = std::array<Row, 256>;  // the places of each byte

    static Row step(Row row, Row places) {
        const Row matches = row & places;
        return (row + matches) | (row - matches);
    }

    Row common_row(Bytes text, Row window) const;
    double pieces_of_text(Bytes text, double floor) const;
    double pieces_of_pattern(Bytes text, double floor) const;
    template <class Next>
    double ends_of_text(const Table& table, Next next, double floor) const;
    double ends_of_pattern(Row row, std::size_t piece, double floor) const;

    Table forward_{};
    Table backward_{};  // of the reversed pattern
    std::size_t size_ = 0;
};

}  // namespace sluice::titles
