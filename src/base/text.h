// Small operations on text that several layers need. ASCII unless it says otherwise.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

// Without leading and trailing ASCII white space.
std::string_view trim(std::string_view text);
std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);
bool equals_ignoring_case(std::string_view a, std::string_view b);
bool contains_ignoring_case(std::string_view text, std::string_view part);

// Pieces between separators, trimmed, empty ones dropped.
std::vector<std::string_view> split_list(std::string_view text, char separator = ',');

// How many bytes at the start of `text` are `plain`, a branchless test of one char. Block by block
// without a branch per byte, which compilers turn into vector comparisons.
template <class IsPlain>
std::size_t plain_prefix(std::string_view text, IsPlain plain) {
    constexpr std::size_t kBlock = 8;
    std::size_t at = 0;
    while (text.size() - at >= kBlock) {
        const char* const block = text.data() + at;
        bool all = true;
        for (std::size_t i = 0; i < kBlock; ++i) {
            all &= plain(block[i]);
        }
        if (!all) {
            break;
        }
        at += kBlock;
    }
    while (at < text.size() && plain(text[at])) {
        at += 1;
    }
    return at;
}

constexpr bool is_printable_ascii(char c) {
    return (c >= 0x20) & (c < 0x7F);
}

// Well-formed UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing past U+10FFFF.
bool is_valid_utf8(std::string_view bytes);

// Whether valid UTF-8 has characters that could steer a terminal: U+0000 to U+001F, U+007F to
// U+009F.
bool has_control_characters(std::string_view utf8);

// What stands at the start of `bytes`, which must not be empty: one well-formed sequence, or the
// longest piece of an ill-formed one that is to be replaced by a single U+FFFD.
struct Utf8Piece {
    std::size_t bytes = 1;
    bool valid = false;
};
Utf8Piece first_utf8(std::string_view bytes);

// Code points of valid UTF-8.
std::size_t count_code_points(std::string_view utf8);

// Undoes %XX and, if asked, '+' for a space. Nothing when an escape is cut or not hexadecimal.
enum class PlusIsSpace : bool { kNo, kYes };
std::optional<std::string> percent_decode(std::string_view text, PlusIsSpace plus);
// Everything but unreserved characters (RFC 3986 section 2.3) as %XX.
std::string percent_encode(std::string_view text);

// The candidate that is the fewest edits away from `word` (a letter added, lost, changed, or two
// neighbours swapped), if it is near enough to be a typing mistake: at most a third of the word's
// length, at least one. Of equally near ones the first. Words past 128 bytes have none.
std::optional<std::string_view> nearest(std::string_view word,
                                        const std::vector<std::string_view>& candidates);

}  // namespace sluice
