// What a body of a page may be made of beside its size. Markdown nests, and what renders it takes
// time for each line times the depth, and for each link times the images that stand open before it;
// so both have a bound, which is found in one pass over the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice::titles {

// Lists and quotes within each other.
inline constexpr std::size_t kMaxBodyDepth = 64;
// Over all paragraphs: for each "]" the "![" before it in its paragraph. A paragraph of 5,000
// images comes to 12.5 million.
inline constexpr std::uint64_t kMaxImagePairs = 16'000'000;

enum class BodyExcess : std::uint8_t { kDepth, kImages };

struct BodyProblem {
    BodyExcess excess = BodyExcess::kDepth;
    std::size_t line = 0;  // from 1
};

// The first line with which `markdown` passes a bound; nothing when it passes none. Counts at least
// what CommonMark does, and little more: an indented marker counts for as many levels as its
// indentation has room for, of those that are open. Thread-safe; pure.
std::optional<BodyProblem> body_problem(std::string_view markdown);

}  // namespace sluice::titles
