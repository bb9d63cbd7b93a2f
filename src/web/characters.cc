#include "web/characters.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace sluice::web {
namespace {

struct Range {
    char32_t first;
    char32_t last;
};

template <std::size_t N>
bool is_in(const std::array<Range, N>& ranges, char32_t c) {
    const auto after = std::ranges::upper_bound(ranges, c, {}, &Range::first);
    return after != ranges.begin() && c <= std::prev(after)->last;
}

// Category Cf without the joiners, and without the marks of Arabic, Syriac and Kaithi that stand
// around numbers and are seen. Sorted.
constexpr auto kHidden = std::to_array<Range>({{0xAD, 0xAD},
                                               {0x61C, 0x61C},
                                               {0x180E, 0x180E},
                                               {0x200B, 0x200B},
                                               {0x200E, 0x200F},
                                               {0x202A, 0x202E},
                                               {0x2060, 0x206F},
                                               {0xFEFF, 0xFEFF},
                                               {0xFFF9, 0xFFFB},
                                               {0x13430, 0x1343F},
                                               {0x1BCA0, 0x1BCA3},
                                               {0x1D173, 0x1D17A},
                                               {0xE0000, 0xE007F}});

// Arabic to Myanmar, Khmer and Mongolian, Balinese and its neighbours, symbols that are emoji,
// Indic and cursive scripts further on, variation selectors, emoji. Sorted.
constexpr auto kJoined = std::to_array<Range>({{0xA9, 0xA9},
                                               {0xAE, 0xAE},
                                               {0x600, 0x109F},
                                               {0x1780, 0x18AF},
                                               {0x1A20, 0x1CFF},
                                               {0x2190, 0x2BFF},
                                               {0xA800, 0xABFF},
                                               {0xFB50, 0xFE0F},
                                               {0x10A00, 0x11FFF},
                                               {0x1E900, 0x1E95F},
                                               {0x1F000, 0x1FAFF}});

}  // namespace

char32_t code_point_of(std::string_view character) {
    constexpr std::array<unsigned char, 5> kLeadMask = {0, 0x7F, 0x1F, 0x0F, 0x07};
    char32_t c = static_cast<unsigned char>(character[0]) & kLeadMask[character.size()];
    for (const char next : character.substr(1)) {
        c = (c << 6) | (static_cast<unsigned char>(next) & 0x3F);
    }
    return c;
}

CharacterKind kind_of(char32_t c) {
    if (c < 0x20 || (c >= 0x7F && c < 0xA0)) {
        return CharacterKind::kControl;
    }
    if (c < 0xA0) {
        return CharacterKind::kShown;
    }
    if (c == 0x2028 || c == 0x2029) {
        return CharacterKind::kLineBreak;
    }
    if (c == 0x200C || c == 0x200D) {
        return CharacterKind::kJoiner;
    }
    return is_in(kHidden, c) ? CharacterKind::kHidden : CharacterKind::kShown;
}

bool takes_joiners(char32_t c) {
    return is_in(kJoined, c);
}

}  // namespace sluice::web
