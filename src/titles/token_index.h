// Which titles have a word. A word that query and title share decides much of a score.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sluice::titles {

class TokenIndex {
 public:
    // The words of the title with the next number, equal ones side by side.
    void add(const std::vector<std::string_view>& sorted_words);
    // Once, after the last add(); until then nothing is found.
    void finish();

    // Numbers of the titles that have exactly this word, ascending.
    std::span<const std::uint32_t> titles_with(std::string_view word) const;
    std::size_t bytes() const;

 private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view word) const {
            return std::hash<std::string_view>()(word);
        }
    };
    struct Entry {
        std::uint32_t word = 0;
        std::uint32_t title = 0;
    };

    std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> words_;
    std::vector<Entry> entries_;         // empty after finish()
    std::vector<std::uint32_t> starts_;  // of each word in titles_, and one past the last
    std::vector<std::uint32_t> titles_;
    std::uint32_t next_title_ = 0;
};

}  // namespace sluice::titles
