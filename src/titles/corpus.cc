#include "titles/corpus.h"

#include "titles/match_copy.h"

#include <algorithm>
#include <string>
#include <utility>

namespace sluice::titles {

namespace {

struct Matched {
    std::string match;
    Candidate candidate;
};

std::vector<Matched> in_order(std::vector<Candidate> candidates) {
    std::vector<Matched> all;
    all.reserve(candidates.size());
    for (Candidate& candidate : candidates) {
        std::string match = match_copy(candidate.title);
        all.push_back({std::move(match), std::move(candidate)});
    }
    // The order of bytes in UTF-8 is that of code points.
    std::sort(all.begin(), all.end(), [](const Matched& a, const Matched& b) {
        const int order = a.match.compare(b.match);
        return order != 0 ? order < 0 : a.candidate.id < b.candidate.id;
    });
    return all;
}

}  // namespace

Result<std::shared_ptr<const Corpus>> Corpus::build(std::vector<Candidate> candidates) {
    std::vector<Matched> all = in_order(std::move(candidates));
    std::size_t total_bytes = 0;  // at least as many as code points
    for (const Matched& one : all) {
        total_bytes += one.match.size();
    }
    if (total_bytes > kMaxCorpusBytes) {
        return Error{Code::kOverloaded,
                     Blame::kGateway,
                     "the titles of all pages are too long together",
                     {}};
    }
    auto corpus = std::shared_ptr<Corpus>(new Corpus());
    corpus->candidates_.reserve(all.size());
    for (Matched& one : all) {
        const auto words = sorted_words(one.match);
        corpus->forms_.add(one.match, words);
        corpus->tokens_.add(words);
        corpus->candidates_.push_back(std::move(one.candidate));
    }
    corpus->forms_.shrink_to_fit();
    corpus->tokens_.finish();
    return std::shared_ptr<const Corpus>(std::move(corpus));
}

}  // namespace sluice::titles
