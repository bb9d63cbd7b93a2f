// What single characters do to the text around them: which can't be shown, and which turn it round
// or hide in it. Pure; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::web {

enum class CharacterKind : std::uint8_t {
    kShown,
    kControl,    // U+0000 to U+001F, U+007F to U+009F
    kLineBreak,  // U+2028, U+2029
    kJoiner,     // U+200C, U+200D: part of the spelling in some scripts and of emoji, else hidden
    kHidden,     // other format characters that nobody sees: for direction, tags, soft hyphens
};

// The code point of one character in valid UTF-8.
char32_t code_point_of(std::string_view character);

CharacterKind kind_of(char32_t c);

// Whether a joiner beside `c` may change how it is written: letters of cursive and Indic scripts,
// and emoji.
bool takes_joiners(char32_t c);

}  // namespace sluice::web
