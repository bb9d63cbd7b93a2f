// Between which two figures a title's score lies, at a fraction of what scoring it costs. Most
// titles have nothing to do with a query, and most of the others come after the last one listed:
// neither need a score.
//
// Scores are those of rapidfuzz's CachedWRatio::similarity(title, cutoff), 0 to 100. Write q and t
// for query and title, S(x) for the words of x sorted and joined, U(x) for the same without
// repeated ones, |x| for lengths, lcs for the longest common subsequence. Then, with
//     ratio(a, b) = 200 * lcs(a, b) / (|a| + |b|)
//     partial(a, b) = the highest ratio of the shorter one and a piece of the longer one
//                     (titles/pattern.h)
// the score is the highest of
//     ratio(q, t), and
//     when the longer one of q and t is less than 1.5 times as long as the other:
//         0.95 * ratio(S(q), S(t)); and with I for the common words and D(x) for the other ones,
//         where there are common words:
//             0.95 * 100 where D(q) or D(t) is empty, else
//             0.95 * the ratio of I and I + D(q), and of I and I + D(t), which follow from lengths
//             0.95 * the ratio of I + D(q) and I + D(t) with I cut out of the alignment:
//                 100 - 100 * (|D(q)| + |D(t)| - 2 lcs(D(q), D(t))) / (|I + D(q)| + |I + D(t)|)
//         and where there are none: 0.95 * ratio(U(q), U(t)).
//     otherwise, with a factor of 0.9, or 0.6 when it is more than 8 times as long:
//         factor * partial(q, t), and
//         factor * 0.95 * 100 where there are common words, else
//         factor * 0.95 * partial(S(q), S(t)), and the same of U(q) and U(t)
// of which the library leaves out parts that do not reach the cutoff.
//
// All of it follows exactly from lcs of whole texts and pieces, which bits in a word compute, but
// for lcs(D(q), D(t)): that is at most lcs(U(q), U(t)), since D(x) is a subsequence of U(x). And
// texts beyond one block of 128 code points are compared in bytes that several code points may
// share; lcs of bytes is never less than lcs of code points, so only the upper bound holds then.
#pragma once

#include "titles/pattern.h"
#include "titles/title_forms.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::titles {

struct ScoreRange {
    double low = 0.0;
    double high = 100.0;
};

// Bounds are computed in another order than scores are, so they are wider by this much than what is
// computed, which is far more than rounding. Only where the score is one constant are they that.
inline constexpr double kBoundSlack = 1e-7;

// Which of the query's unique words, in the order of TitleForms::unique, a title has.
using SharedWords = std::uint32_t;
inline constexpr std::size_t kMostSharedWords = 32;

// One query. Thread-safe once it is built; `query` is read by the constructor only.
class QueryBounds {
 public:
    // Whether there are bounds for such a query: 1 to Pattern::kMaxSize code points, and a word.
    static bool can_bound(const TitleForms& query);

    // Scores below `cutoff` are told only to be that.
    QueryBounds(const TitleForms& query, double cutoff);

    // The score lies in the range; a high that is below the cutoff less kBoundSlack may be less
    // than the score would be without a cutoff. `shared` must be true of the code points, not only
    // of the bytes.
    ScoreRange of(const TitleForms& title, SharedWords shared) const;

 private:
    class Collected;
    // What a partial ratio counts.
    struct PartialWeight {
        double perfect;  // the score when it is 100
        double least;    // a score that is less need not be found
    };

    void add_word_ratios(const TitleForms& title, SharedWords shared, std::size_t common,
                         Collected& out) const;
    void add_common_words(const TitleForms& title, SharedWords shared, std::size_t unique_common,
                          Collected& out) const;
    void add_partial_ratios(const TitleForms& title, SharedWords shared, std::size_t common,
                            double factor, Collected& out) const;
    static void add_partial(const Pattern& pattern, Bytes text, std::size_t common,
                            const PartialWeight& weight, Collected& out);

    double cutoff_;
    Block block_;
    Pattern as_is_;
    Pattern sorted_;
    Pattern unique_;
    bool is_sorted_;  // the words are in order as they are
    bool is_unique_;  // none of them is repeated
    std::vector<std::uint32_t> word_sizes_;
};

}  // namespace sluice::titles
