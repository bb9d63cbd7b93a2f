#include "titles/score.h"

#include "titles/bounds.h"

#include <algorithm>
#include <bit>
#include <rapidfuzz/fuzz.hpp>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

namespace sluice::titles {

namespace {

constexpr std::size_t kTitlesPerStopCheck = 256;

// The library's scorer of one query, in the two widths that queries have here.
class WRatio {
 public:
    explicit WRatio(const CodeUnits& query)
        : scorer_(std::visit([](auto units) { return scorer_of(units); }, query)) {}

    double similarity(const CodeUnits& title, double cutoff) const {
        return std::visit(
            [cutoff](const auto& scorer, auto units) {
                return scorer->similarity(units.data(), units.data() + units.size(), cutoff);
            },
            scorer_, title);
    }

 private:
    // It points into itself, so it stays where it was made.
    template <class Unit>
    using Scorer = std::unique_ptr<const rapidfuzz::fuzz::CachedWRatio<Unit>>;
    using AnyScorer = std::variant<Scorer<std::uint8_t>, Scorer<std::uint32_t>>;

    template <class Unit>
    static AnyScorer scorer_of(std::span<const Unit> query) {
        using Kept = std::conditional_t<sizeof(Unit) == 1, std::uint8_t, std::uint32_t>;
        const std::vector<Kept> units(query.begin(), query.end());
        return std::make_unique<const rapidfuzz::fuzz::CachedWRatio<Kept>>(units);
    }

    AnyScorer scorer_;
};

// One pass over all titles in order: which words each shares with the query.
class SharedWordsInOrder {
 public:
    SharedWordsInOrder(const TokenIndex& tokens, const std::vector<std::string_view>& words) {
        // Words past the bits of SharedWords are left out: there are no bounds for such a query.
        for (std::size_t i = 0; i < std::min<std::size_t>(words.size(), kMostSharedWords); ++i) {
            const auto titles = tokens.titles_with(words[i]);
            if (!titles.empty()) {
                rest_.push_back({titles, SharedWords{1} << i});
            }
        }
    }

    // Called with 0, 1, 2 and so on.
    SharedWords of(std::size_t number) {
        SharedWords shared = 0;
        for (auto& [titles, word] : rest_) {
            if (!titles.empty() && titles.front() == number) {
                shared |= word;
                titles = titles.subspan(1);
            }
        }
        return shared;
    }

 private:
    std::vector<std::pair<std::span<const std::uint32_t>, SharedWords>> rest_;
};

struct Numbered {
    double score = 0.0;
    std::uint32_t number = 0;
};

constexpr bool comes_before(const Numbered& a, const Numbered& b) {
    return a.score != b.score ? a.score > b.score : a.number < b.number;
}

// The best of what it was given, up to a limit.
class Best {
 public:
    explicit Best(std::size_t limit) : limit_(limit) {}

    // Whether a title with this score, or less, and this number or a higher one could be listed.
    bool may_enter(const Numbered& title) const {
        return heap_.size() < limit_ || (limit_ > 0 && comes_before(title, heap_.front()));
    }

    void add(const Numbered& title) {
        if (!may_enter(title)) {
            return;
        }
        if (heap_.size() == limit_) {
            std::pop_heap(heap_.begin(), heap_.end(), comes_before);
            heap_.pop_back();
        }
        heap_.push_back(title);
        std::push_heap(heap_.begin(), heap_.end(), comes_before);
    }

    std::vector<Numbered> take() && {
        std::sort(heap_.begin(), heap_.end(), comes_before);
        return std::move(heap_);
    }

 private:
    std::size_t limit_;
    std::vector<Numbered> heap_;  // the last of them is in front
};

// One search.
class Scoring {
 public:
    Scoring(const Corpus& corpus, std::string_view match, const ScoreLimits& limits)
        : corpus_(corpus),
          limits_(limits),
          words_(sorted_words(match)),
          best_(limits.result_limit) {
        forms_.add(match, words_);
        words_.erase(std::unique(words_.begin(), words_.end()), words_.end());
        wratio_.emplace(forms_.of(0).text);
        if (QueryBounds::can_bound(forms_.of(0))) {
            bounds_.emplace(forms_.of(0), limits.cutoff);
        }
    }

    std::optional<Ranking> run(const std::stop_token& stop) {
        if (!look_at_all(stop) || !score_promising(stop)) {
            return std::nullopt;
        }
        Ranking ranking;
        ranking.total_matched = matched_;
        for (const Numbered& title : std::move(best_).take()) {
            ranking.pages.push_back({corpus_.candidate(title.number).id, title.score});
        }
        return ranking;
    }

 private:
    // Leaves out what can't match, scores what may, and counts what is sure to: that is scored
    // later if it may be listed.
    bool look_at_all(const std::stop_token& stop) {
        SharedWordsInOrder shared(corpus_.tokens(), words_);
        for (std::size_t number = 0; number < corpus_.size(); ++number) {
            if (number % kTitlesPerStopCheck == 0 && stop.stop_requested()) {
                return false;
            }
            const TitleForms title = corpus_.forms(number);
            const ScoreRange range = bounds_ ? bounds_->of(title, shared.of(number)) : ScoreRange{};
            if (range.high < limits_.cutoff) {
                continue;
            }
            const Numbered numbered{range.high, static_cast<std::uint32_t>(number)};
            if (range.low >= limits_.cutoff) {
                matched_ += 1;
                promising_.push_back(numbered);
            } else {
                score(numbered.number);
            }
        }
        return true;
    }

    // By descending upper bound, so that the first one that can't enter the list is the last one
    // to be looked at.
    bool score_promising(const std::stop_token& stop) {
        const auto comes_after = [](const Numbered& a, const Numbered& b) {
            return comes_before(b, a);
        };
        std::make_heap(promising_.begin(), promising_.end(), comes_after);
        for (auto end = promising_.end(); end != promising_.begin(); --end) {
            if (!best_.may_enter(promising_.front())) {
                break;
            }
            if (stop.stop_requested()) {
                return false;
            }
            const std::uint32_t number = promising_.front().number;
            best_.add({similarity(number), number});
            std::pop_heap(promising_.begin(), end, comes_after);
        }
        return true;
    }

    void score(std::uint32_t number) {
        const double found = similarity(number);
        if (found >= limits_.cutoff) {
            matched_ += 1;
            best_.add({found, number});
        }
    }

    double similarity(std::uint32_t number) const {
        return wratio_->similarity(corpus_.forms(number).text, limits_.cutoff);
    }

    const Corpus& corpus_;
    const ScoreLimits& limits_;
    std::vector<std::string_view> words_;  // without repeated ones
    FormsOfTitles forms_;                  // of the query alone
    std::optional<WRatio> wratio_;
    std::optional<QueryBounds> bounds_;
    std::vector<Numbered> promising_;  // matches, with their upper bounds
    std::size_t matched_ = 0;
    Best best_;
};

}  // namespace

std::optional<Ranking> score_titles(const Corpus& corpus, const QueryText& match,
                                    const ScoreLimits& limits, const std::stop_token& stop) {
    return Scoring(corpus, match.reveal(), limits).run(stop);
}

}  // namespace sluice::titles
