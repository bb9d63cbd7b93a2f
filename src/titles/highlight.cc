#include "titles/highlight.h"

#include "base/result.h"
#include "base/text.h"
#include "titles/match_copy.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>
#include <utility>

namespace sluice::titles {

namespace {

// Words that share less are not shown as a match. Twice the common characters by all characters.
constexpr double kLeastLikeness = 0.6;

// A code point of a match copy, and the place in the title that it was made from.
struct Folded {
    char32_t code_point = 0;
    TextSpan source;
};
using Word = std::span<const Folded>;

const icu::Normalizer2& casefold() {
    static const icu::Normalizer2& normalizer = []() -> const icu::Normalizer2& {
        UErrorCode status = U_ZERO_ERROR;
        const icu::Normalizer2* const found = icu::Normalizer2::getNFKCCasefoldInstance(status);
        SLUICE_ASSERT(U_SUCCESS(status) && found != nullptr);
        return *found;
    }();
    return normalizer;
}

UChar32 next_code_point(std::string_view utf8, std::size_t& at) {
    auto index = static_cast<std::int32_t>(at);
    UChar32 code_point = 0;
    U8_NEXT_OR_FFFD(utf8.data(), index, static_cast<std::int32_t>(utf8.size()), code_point);
    at = static_cast<std::size_t>(index);
    return code_point;
}

// Where the piece ends that begins at `begin` and is normalised as a whole: a letter and the marks
// that follow it. Nothing before it changes what becomes of it.
std::size_t end_of_piece(std::string_view title, std::size_t begin) {
    std::size_t end = begin;
    next_code_point(title, end);
    while (end < title.size()) {
        std::size_t after = end;
        if (casefold().hasBoundaryBefore(next_code_point(title, after))) {
            break;
        }
        end = after;
    }
    return end;
}

bool is_white_space(std::string_view piece) {
    std::size_t at = 0;
    return u_isUWhiteSpace(next_code_point(piece, at)) && at == piece.size();
}

// The match copy of `title` with where it came from; a run of white space is one U+0020.
std::vector<Folded> folded_title(std::string_view title) {
    std::vector<Folded> out;
    std::size_t at = 0;
    while (at < title.size() && out.size() < kMaxHighlightedCodePoints) {
        const TextSpan source{at, end_of_piece(title, at)};
        const std::string_view piece = title.substr(at, source.end - at);
        at = source.end;
        if (is_white_space(piece)) {
            out.push_back({U' ', source});
            continue;
        }
        const std::string copy = match_copy(piece);
        for (std::size_t i = 0; i < copy.size();) {
            const UChar32 code_point = next_code_point(copy, i);
            out.push_back({static_cast<char32_t>(code_point), source});
        }
    }
    return out;
}

std::vector<Folded> folded_query(std::string_view match) {
    std::vector<Folded> out;
    for (std::size_t at = 0; at < match.size() && out.size() < kMaxHighlightedCodePoints;) {
        const UChar32 code_point = next_code_point(match, at);
        out.push_back({static_cast<char32_t>(code_point), {}});
    }
    return out;
}

std::vector<Word> words_of(std::span<const Folded> text) {
    std::vector<Word> words;
    auto is_space = [](const Folded& each) { return each.code_point == U' '; };
    for (auto at = text.begin(); at != text.end();) {
        at = std::find_if_not(at, text.end(), is_space);
        const auto end = std::find_if(at, text.end(), is_space);
        if (at != end) {
            words.emplace_back(at, end);
        }
        at = end;
    }
    return words;
}

// Lengths of the longest common subsequences of all ends of `a` and `b`, row by row.
class CommonLengths {
 public:
    CommonLengths(Word a, Word b) : width_(b.size() + 1), cells_((a.size() + 1) * width_) {
        for (std::size_t i = a.size(); i-- > 0;) {
            for (std::size_t j = b.size(); j-- > 0;) {
                cell(i, j) = a[i].code_point == b[j].code_point
                                 ? static_cast<std::uint16_t>(cell(i + 1, j + 1) + 1)
                                 : std::max(cell(i + 1, j), cell(i, j + 1));
            }
        }
    }
    std::uint16_t at(std::size_t i, std::size_t j) const { return cells_[i * width_ + j]; }

 private:
    std::uint16_t& cell(std::size_t i, std::size_t j) { return cells_[i * width_ + j]; }

    std::size_t width_;
    std::vector<std::uint16_t> cells_;
};
static_assert(kMaxHighlightedCodePoints <= UINT16_MAX);

std::optional<std::size_t> place_of(Word part, Word whole) {
    const auto found =
        std::ranges::search(whole, part, {}, &Folded::code_point, &Folded::code_point);
    return found.empty() ? std::nullopt : std::optional<std::size_t>(found.begin() - whole.begin());
}

struct Likeness {
    double value = 0;
    std::vector<TextSpan> marked = {};  // in the title, in order
};

// A word that stands whole in the other is like it, whatever follows: people type beginnings.
Likeness likeness(Word query, Word title) {
    Likeness out;
    if (const auto place = place_of(query, title)) {
        out.value = 1 + static_cast<double>(query.size()) / static_cast<double>(title.size());
        for (const Folded& each : title.subspan(*place, query.size())) {
            out.marked.push_back(each.source);
        }
        return out;
    }
    const CommonLengths common(query, title);
    out.value = 2.0 * common.at(0, 0) / static_cast<double>(query.size() + title.size());
    if (out.value < kLeastLikeness) {
        return {};
    }
    for (std::size_t i = 0, j = 0; i < query.size() && j < title.size();) {
        if (query[i].code_point == title[j].code_point) {
            out.marked.push_back(title[j].source);
            i += 1;
            j += 1;
        } else if (common.at(i + 1, j) >= common.at(i, j + 1)) {
            i += 1;
        } else {
            j += 1;
        }
    }
    return out;
}

// Sorted, and what touches made one.
std::vector<TextSpan> merged(std::vector<TextSpan> spans) {
    std::ranges::sort(spans, {}, &TextSpan::begin);
    std::vector<TextSpan> out;
    for (const TextSpan& span : spans) {
        if (!out.empty() && span.begin <= out.back().end) {
            out.back().end = std::max(out.back().end, span.end);
        } else {
            out.push_back(span);
        }
    }
    return out;
}

}  // namespace

std::vector<TextSpan> highlight(std::string_view title, std::string_view match) {
    const std::vector<Folded> folded = folded_title(title);
    const std::vector<Folded> query = folded_query(match);
    const std::vector<Word> title_words = words_of(folded);
    std::vector<TextSpan> spans;
    for (const Word word : words_of(query)) {
        Likeness best;
        for (const Word candidate : title_words) {
            Likeness found = likeness(word, candidate);
            if (found.value > best.value) {
                best = std::move(found);
            }
        }
        spans.insert(spans.end(), best.marked.begin(), best.marked.end());
    }
    return merged(std::move(spans));
}

}  // namespace sluice::titles
