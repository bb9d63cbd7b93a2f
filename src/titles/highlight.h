// Which characters of a title a search matched, so that a page can mark them.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace sluice::titles {

struct TextSpan {
    std::size_t begin = 0;  // bytes
    std::size_t end = 0;

    bool operator==(const TextSpan&) const = default;
};

// Of a title whose match copy is longer only the start is looked at.
inline constexpr std::size_t kMaxHighlightedCodePoints = 512;

// `match` is the match copy of a query (titles/match_copy.h). For each word of the query the word
// of the title that is most like it, and of that the characters that both have in the same order
// (their longest common subsequence); of a word that is like none, nothing. Spans are ordered, do
// not touch, and begin and end between characters: what one match-copy character was made of is
// marked as a whole, combining marks with their letter. This explains a score to a reader; it is
// not how the score was found. Takes time that grows with both lengths multiplied. Thread-safe.
std::vector<TextSpan> highlight(std::string_view title, std::string_view match);

}  // namespace sluice::titles
