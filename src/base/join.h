// Texts as one text.
#pragma once

#include <initializer_list>
#include <ranges>
#include <string>
#include <string_view>

namespace sluice {

// "a, b": with `separator` between each two of them.
template <std::ranges::input_range Texts>
std::string join(const Texts& texts, std::string_view separator = {}) {
    std::string all;
    bool is_first = true;
    for (const std::string_view text : texts) {
        all.append(is_first ? std::string_view() : separator).append(text);
        is_first = false;
    }
    return all;
}

inline std::string join(std::initializer_list<std::string_view> texts,
                        std::string_view separator = {}) {
    return join(std::ranges::subrange(texts.begin(), texts.end()), separator);
}

}  // namespace sluice
