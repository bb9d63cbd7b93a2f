#include "titles/token_index.h"

namespace sluice::titles {

void TokenIndex::add(const std::vector<std::string_view>& sorted_words) {
    std::string_view before;
    for (const std::string_view word : sorted_words) {
        if (word == before) {
            continue;
        }
        before = word;
        auto found = words_.find(word);
        if (found == words_.end()) {
            found = words_.emplace(word, static_cast<std::uint32_t>(words_.size())).first;
        }
        entries_.push_back({found->second, next_title_});
    }
    next_title_ += 1;
}

void TokenIndex::finish() {
    // A counting sort, which keeps the order of titles.
    starts_.assign(words_.size() + 1, 0);
    for (const Entry& entry : entries_) {
        starts_[entry.word + 1] += 1;
    }
    for (std::size_t word = 1; word < starts_.size(); ++word) {
        starts_[word] += starts_[word - 1];
    }
    titles_.resize(entries_.size());
    std::vector<std::uint32_t> next = starts_;
    for (const Entry& entry : entries_) {
        titles_[next[entry.word]++] = entry.title;
    }
    entries_ = {};
}

std::span<const std::uint32_t> TokenIndex::titles_with(std::string_view word) const {
    const auto found = words_.find(word);
    if (found == words_.end() || starts_.empty()) {
        return {};
    }
    const std::uint32_t start = starts_[found->second];
    return std::span(titles_).subspan(start, starts_[found->second + 1] - start);
}

std::size_t TokenIndex::bytes() const {
    constexpr std::size_t kPerWord = 64;  // a node of the map, roughly
    return words_.size() * kPerWord + starts_.capacity() * sizeof(std::uint32_t) +
           titles_.capacity() * sizeof(std::uint32_t);
}

}  // namespace sluice::titles
