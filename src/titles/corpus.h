// The titles of all candidates, prepared once for many searches. Immutable, so it is shared between
// threads without locks; whoever searches holds a reference for as long as that takes.
#pragma once

#include "base/result.h"
#include "titles/candidate.h"
#include "titles/title_forms.h"
#include "titles/token_index.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sluice::titles {

// Of all match copies together, so that 32 bits say where a form of one begins.
inline constexpr std::size_t kMaxCorpusBytes = std::size_t{1} << 30;

// Candidates are numbered from 0 by their match copies (by code point), then by id: among equal
// scores the lower number comes first.
class Corpus {
 public:
    // Ids must differ. 100,000 titles take about a quarter of a second of one thread: not for an
    // event loop. kOverloaded when the match copies are longer than kMaxCorpusBytes.
    static Result<std::shared_ptr<const Corpus>> build(std::vector<Candidate> candidates);

    std::size_t size() const { return candidates_.size(); }
    const Candidate& candidate(std::size_t number) const { return candidates_[number]; }

    // What the scorer reads of a candidate. The views live as long as the corpus.
    TitleForms forms(std::size_t number) const { return forms_.of(number); }
    const TokenIndex& tokens() const { return tokens_; }

    // Of everything that is prepared, without the candidates themselves.
    std::size_t prepared_bytes() const { return forms_.bytes() + tokens_.bytes(); }

 private:
    Corpus() = default;

    std::vector<Candidate> candidates_;
    FormsOfTitles forms_;
    TokenIndex tokens_;
};

}  // namespace sluice::titles
