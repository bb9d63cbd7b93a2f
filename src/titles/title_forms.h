// A title in the forms that scoring compares: its match copy in the narrowest code units, and for
// the bounds of scores (titles/bounds.h) one byte a code point, as it is and with its words sorted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

namespace sluice::titles {

using Bytes = std::span<const std::uint8_t>;

// A match copy, a code unit for each code point: the narrowest that holds all of them.
using CodeUnits = std::variant<std::span<const std::uint8_t>, std::span<const std::uint16_t>,
                               std::span<const std::uint32_t>>;

// One byte for a code point: itself in ASCII, else its place in its block of 128. Equal code points
// have equal bytes, so two texts are at least as alike in bytes as they are in code points.
constexpr std::uint8_t byte_of(char32_t code_point) {
    return static_cast<std::uint8_t>(code_point < 0x80 ? code_point : 0x80 | (code_point & 0x7F));
}

// Which block of 128 the code points of a text beyond ASCII are from.
using Block = std::uint32_t;
inline constexpr Block kAsciiOnly = 0;
inline constexpr Block kManyBlocks = ~Block{0};

// Whether equal bytes of the two texts are equal code points, too.
constexpr bool bytes_are_exact(Block a, Block b) {
    return a != kManyBlocks && b != kManyBlocks && (a == b || a == kAsciiOnly || b == kAsciiOnly);
}

// The words of a match copy as rapidfuzz splits it (at spaces, and at U+001C to U+001F), by code
// point. They are views into it.
std::vector<std::string_view> sorted_words(std::string_view match_copy);

struct TitleForms {
    CodeUnits text;
    Block block = kAsciiOnly;
    Bytes as_is;
    Bytes sorted;  // the words by code point, joined with single spaces
    Bytes unique;  // the same without repeated words
    std::size_t unique_words = 0;
};

// The forms of many titles, in few allocations.
class FormsOfTitles {
 public:
    // Of one more title, valid UTF-8. All of them together must stay below 2^30 code points.
    void add(std::string_view match_copy, const std::vector<std::string_view>& sorted);
    void shrink_to_fit();

    // The views are valid until the next add().
    TitleForms of(std::size_t number) const;
    std::size_t bytes() const;

 private:
    struct Row {
        std::uint32_t text = 0;  // where it begins in the array of its width
        std::uint32_t length = 0;
        std::uint32_t as_is = 0;  // where it begins in bytes_
        std::uint32_t sorted = 0;
        std::uint32_t sorted_length = 0;
        std::uint32_t unique = 0;
        std::uint32_t unique_length = 0;
        std::uint32_t unique_words = 0;
        Block block = kAsciiOnly;
        std::uint8_t width = 1;  // bytes of a code unit
    };

    void add_text(Row& row, std::string_view match_copy);
    // Where the words stand when they are joined. What equals the bytes before it is not written
    // again.
    std::uint32_t add_joined(const std::vector<std::string_view>& words, std::uint32_t before,
                             std::uint32_t before_length, std::uint32_t& length);

    std::vector<Row> rows_;
    std::vector<std::uint8_t> bytes_;  // text of width 1, too
    std::vector<std::uint16_t> units16_;
    std::vector<std::uint32_t> units32_;
};

}  // namespace sluice::titles
