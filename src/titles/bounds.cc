#include "titles/bounds.h"

#include "base/result.h"

#include <algorithm>
#include <bit>

namespace sluice::titles {

namespace {

// The weights of WRatio, which the library has from FuzzyWuzzy.
constexpr double kWordsFactor = 0.95;
constexpr double kPartialFactor = 0.9;
constexpr double kFarPartialFactor = 0.6;
constexpr double kPartialFrom = 1.5;
constexpr double kFarPartialPast = 8.0;

double percent_in_common(std::size_t common, std::size_t sizes) {
    return sizes == 0 ? 100.0 : 200.0 * static_cast<double>(common) / static_cast<double>(sizes);
}

double percent_without(std::size_t distance, std::size_t sizes) {
    return 100.0 - 100.0 * static_cast<double>(distance) / static_cast<double>(sizes);
}

// Words joined with single spaces.
struct Joined {
    std::size_t letters = 0;
    std::size_t words = 0;

    std::size_t size() const { return words == 0 ? 0 : letters + words - 1; }
    Joined without(const Joined& other) const {
        return {letters - other.letters, words - other.words};
    }
};

Joined joined(std::size_t size, std::size_t words) {
    return words == 0 ? Joined{} : Joined{size - (words - 1), words};
}

bool is_same(Bytes a, Bytes b) {
    return a.data() == b.data() && a.size() == b.size();
}

}  // namespace

// The highest of what was added.
class QueryBounds::Collected {
 public:
    explicit Collected(bool is_exact) : is_exact_(is_exact) {}

    // A part of the score that is exactly this.
    void add_constant(double score) {
        range_.low = std::max(range_.low, score);
        range_.high = std::max(range_.high, score);
    }
    // A part that was computed from bytes.
    void add(double score) {
        add_upper(score);
        if (is_exact_) {
            range_.low = std::max(range_.low, score - kBoundSlack);
        }
    }
    // A part that is exactly this, if bytes are.
    void add_perfect(double score) {
        if (is_exact_) {
            add_constant(score);
        } else {
            add_upper(score);
        }
    }
    // A part of which no more is known than that it is not higher.
    void add_upper(double score) { range_.high = std::max(range_.high, score + kBoundSlack); }

    const ScoreRange& range() const { return range_; }

 private:
    bool is_exact_;
    ScoreRange range_{0.0, 0.0};
};

bool QueryBounds::can_bound(const TitleForms& query) {
    return !query.as_is.empty() && query.as_is.size() <= Pattern::kMaxSize &&
           query.unique_words > 0;
}

QueryBounds::QueryBounds(const TitleForms& query, double cutoff)
    : cutoff_(cutoff),
      block_(query.block),
      as_is_(query.as_is),
      sorted_(query.sorted),
      unique_(query.unique),
      is_sorted_(is_same(query.as_is, query.sorted)),
      is_unique_(is_same(query.sorted, query.unique)) {
    SLUICE_ASSERT(can_bound(query));
    // No word has a space, and no other code point has the byte of one.
    word_sizes_.push_back(0);
    for (const std::uint8_t byte : query.unique) {
        if (byte == ' ') {
            word_sizes_.push_back(0);
        } else {
            word_sizes_.back() += 1;
        }
    }
    SLUICE_ASSERT(word_sizes_.size() == query.unique_words);
}

ScoreRange QueryBounds::of(const TitleForms& title, SharedWords shared) const {
    const std::size_t q = as_is_.size();
    const std::size_t t = title.as_is.size();
    if (t == 0) {
        return {0.0, 0.0};
    }
    Collected out(bytes_are_exact(block_, title.block));
    const std::size_t common = as_is_.common(title.as_is);
    out.add(percent_in_common(common, q + t));
    const double lengths =
        static_cast<double>(std::max(q, t)) / static_cast<double>(std::min(q, t));
    if (lengths < kPartialFrom) {
        add_word_ratios(title, shared, common, out);
    } else {
        add_partial_ratios(title, shared, common,
                           lengths <= kFarPartialPast ? kPartialFactor : kFarPartialFactor, out);
    }
    return out.range();
}

void QueryBounds::add_word_ratios(const TitleForms& title, SharedWords shared, std::size_t common,
                                  Collected& out) const {
    const bool is_title_sorted = is_same(title.as_is, title.sorted);
    const bool is_title_unique = is_same(title.sorted, title.unique);
    const std::size_t sorted_common =
        is_sorted_ && is_title_sorted ? common : sorted_.common(title.sorted);
    out.add(kWordsFactor * percent_in_common(sorted_common, sorted_.size() + title.sorted.size()));
    const std::size_t unique_common =
        is_unique_ && is_title_unique ? sorted_common : unique_.common(title.unique);
    if (shared != 0) {
        add_common_words(title, shared, unique_common, out);
        return;
    }
    out.add(kWordsFactor * percent_in_common(unique_common, unique_.size() + title.unique.size()));
}

void QueryBounds::add_common_words(const TitleForms& title, SharedWords shared,
                                   std::size_t unique_common, Collected& out) const {
    Joined both;
    for (SharedWords rest = shared; rest != 0; rest &= rest - 1) {
        both.letters += word_sizes_[static_cast<std::size_t>(std::countr_zero(rest))];
        both.words += 1;
    }
    const Joined query = joined(unique_.size(), word_sizes_.size());
    const Joined only_query = query.without(both);
    const Joined only_title = joined(title.unique.size(), title.unique_words).without(both);
    if (only_query.words == 0 || only_title.words == 0) {
        out.add_constant(100.0 * kWordsFactor);
        return;
    }
    const std::size_t with_query = both.size() + 1 + only_query.size();
    const std::size_t with_title = both.size() + 1 + only_title.size();
    const std::size_t most = std::min({unique_common, only_query.size(), only_title.size()});
    out.add_upper(kWordsFactor * percent_without(only_query.size() + only_title.size() - 2 * most,
                                                 with_query + with_title));
    out.add(kWordsFactor * percent_without(1 + only_query.size(), both.size() + with_query));
    out.add(kWordsFactor * percent_without(1 + only_title.size(), both.size() + with_title));
}

void QueryBounds::add_partial_ratios(const TitleForms& title, SharedWords shared,
                                     std::size_t common, double factor, Collected& out) const {
    if (shared != 0) {
        out.add_constant(100.0 * kWordsFactor * factor);
    }
    // What is less than that decides nothing.
    const double least = std::max({cutoff_ - kBoundSlack, out.range().low, kBoundSlack});
    add_partial(as_is_, title.as_is, common, {.perfect = 100.0 * factor, .least = least}, out);
    const PartialWeight by_words{.perfect = 100.0 * kWordsFactor * factor, .least = least};
    if (shared != 0 || least > by_words.perfect) {
        return;
    }
    const bool is_title_sorted = is_same(title.as_is, title.sorted);
    const bool is_title_unique = is_same(title.sorted, title.unique);
    if (!is_sorted_ || !is_title_sorted) {
        add_partial(sorted_, title.sorted, sorted_.common(title.sorted), by_words, out);
    }
    if (!is_unique_ || !is_title_unique) {
        add_partial(unique_, title.unique, unique_.common(title.unique), by_words, out);
    }
}

void QueryBounds::add_partial(const Pattern& pattern, Bytes text, std::size_t common,
                              const PartialWeight& weight, Collected& out) {
    if (weight.least > weight.perfect || text.empty()) {
        return;
    }
    if (pattern.size() == text.size()) {  // the library looks at pieces of either one
        out.add_upper(weight.perfect);
        return;
    }
    const double found = pattern.partial(text, common, weight.least / weight.perfect);
    if (found == 1.0) {
        out.add_perfect(weight.perfect);
    } else {
        out.add(found * weight.perfect);
    }
}

}  // namespace sluice::titles
