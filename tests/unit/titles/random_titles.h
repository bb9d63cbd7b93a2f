// Titles and queries for tests of the scorer, and what scoring every title gives.
#pragma once

#include "base/random.h"
#include "titles/corpus.h"
#include "titles/score.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::titles {

// Match copies, drawn so that what is rare elsewhere is common: words shared and repeated, texts of
// few letters, of several scripts, with separators that are no spaces, shorter and longer than a
// query may be.
class RandomTitles {
 public:
    explicit RandomTitles(Random& random);

    std::string title();
    // Often of the words of `titles`, with mistakes, shuffled, cut.
    std::string query(const std::vector<std::string>& titles);

 private:
    std::u32string word();
    std::u32string joined(std::size_t words);
    void spoil(std::u32string& text);
    static std::string match_copy_of(const std::u32string& text);

    Random& random_;
    std::u32string alphabet_;
    std::vector<std::u32string> known_;
    std::size_t longest_;  // words of a title
};

std::vector<Candidate> candidates_of(const std::vector<std::string>& titles);

// Of the code points of two match copies; what scores are defined by.
double wratio(std::string_view query, std::string_view title, double cutoff);

// By scoring every title.
Ranking plain_ranking(const std::vector<Candidate>& candidates, std::string_view query,
                      const ScoreLimits& limits);

}  // namespace sluice::titles
