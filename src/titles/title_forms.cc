#include "titles/title_forms.h"

#include <algorithm>

namespace sluice::titles {

namespace {

constexpr bool is_separator(char c) {
    return c == ' ' || (c >= 0x1C && c <= 0x1F) || (c >= '\t' && c <= '\r');
}

// The code point at the start of valid UTF-8, which it takes away.
char32_t take_code_point(std::string_view& utf8) {
    const auto at = [&utf8](std::size_t i) {
        return static_cast<char32_t>(static_cast<unsigned char>(utf8[i]));
    };
    char32_t code_point = at(0);
    std::size_t length = 1;
    if (code_point >= 0xF0) {
        code_point = (code_point & 7) << 18 | (at(1) & 63) << 12 | (at(2) & 63) << 6 | (at(3) & 63);
        length = 4;
    } else if (code_point >= 0xE0) {
        code_point = (code_point & 15) << 12 | (at(1) & 63) << 6 | (at(2) & 63);
        length = 3;
    } else if (code_point >= 0xC0) {
        code_point = (code_point & 31) << 6 | (at(1) & 63);
        length = 2;
    }
    utf8.remove_prefix(length);
    return code_point;
}

Block with(Block block, char32_t code_point) {
    if (code_point < 0x80) {
        return block;
    }
    const Block other = code_point >> 7;
    return block == kAsciiOnly || block == other ? other : kManyBlocks;
}

std::uint8_t width_of(char32_t highest) {
    return highest <= 0xFF ? 1 : highest <= 0xFFFF ? 2 : 4;
}

template <class Unit>
std::uint32_t append_units(std::vector<Unit>& units, std::string_view utf8) {
    const auto start = static_cast<std::uint32_t>(units.size());
    while (!utf8.empty()) {
        units.push_back(static_cast<Unit>(take_code_point(utf8)));
    }
    return start;
}

void append_bytes(std::vector<std::uint8_t>& bytes, std::string_view utf8) {
    while (!utf8.empty()) {
        bytes.push_back(byte_of(take_code_point(utf8)));
    }
}

}  // namespace

std::vector<std::string_view> sorted_words(std::string_view match_copy) {
    std::vector<std::string_view> words;
    while (!match_copy.empty()) {
        const auto end = std::find_if(match_copy.begin(), match_copy.end(), is_separator);
        const auto length = static_cast<std::size_t>(end - match_copy.begin());
        if (length > 0) {
            words.push_back(match_copy.substr(0, length));
        }
        match_copy.remove_prefix(std::min(length + 1, match_copy.size()));
    }
    // The order of bytes in UTF-8 is that of code points.
    std::sort(words.begin(), words.end());
    return words;
}

void FormsOfTitles::add(std::string_view match_copy, const std::vector<std::string_view>& sorted) {
    Row row;
    add_text(row, match_copy);
    row.sorted = add_joined(sorted, row.as_is, row.length, row.sorted_length);
    std::vector<std::string_view> unique = sorted;
    unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
    row.unique_words = static_cast<std::uint32_t>(unique.size());
    row.unique = add_joined(unique, row.sorted, row.sorted_length, row.unique_length);
    rows_.push_back(row);
}

void FormsOfTitles::add_text(Row& row, std::string_view match_copy) {
    char32_t highest = 0;
    for (std::string_view rest = match_copy; !rest.empty();) {
        const char32_t code_point = take_code_point(rest);
        highest = std::max(highest, code_point);
        row.block = with(row.block, code_point);
        row.length += 1;
    }
    row.width = width_of(highest);
    row.as_is = static_cast<std::uint32_t>(bytes_.size());
    append_bytes(bytes_, match_copy);
    row.text = row.width == 1   ? row.as_is  // up to U+00FF a code point is its byte
               : row.width == 2 ? append_units(units16_, match_copy)
                                : append_units(units32_, match_copy);
}

std::uint32_t FormsOfTitles::add_joined(const std::vector<std::string_view>& words,
                                        std::uint32_t before, std::uint32_t before_length,
                                        std::uint32_t& length) {
    const auto start = static_cast<std::uint32_t>(bytes_.size());
    for (const std::string_view word : words) {
        if (bytes_.size() > start) {
            bytes_.push_back(' ');
        }
        append_bytes(bytes_, word);
    }
    length = static_cast<std::uint32_t>(bytes_.size()) - start;
    const auto first = bytes_.begin();
    if (length == before_length && std::equal(first + start, bytes_.end(), first + before)) {
        bytes_.resize(start);
        return before;
    }
    return start;
}

void FormsOfTitles::shrink_to_fit() {
    rows_.shrink_to_fit();
    bytes_.shrink_to_fit();
    units16_.shrink_to_fit();
    units32_.shrink_to_fit();
}

TitleForms FormsOfTitles::of(std::size_t number) const {
    const Row& row = rows_[number];
    const Bytes bytes(bytes_);
    TitleForms forms;
    forms.block = row.block;
    forms.as_is = bytes.subspan(row.as_is, row.length);
    forms.sorted = bytes.subspan(row.sorted, row.sorted_length);
    forms.unique = bytes.subspan(row.unique, row.unique_length);
    forms.unique_words = row.unique_words;
    if (row.width == 1) {
        forms.text = bytes.subspan(row.text, row.length);
    } else if (row.width == 2) {
        forms.text = std::span(units16_).subspan(row.text, row.length);
    } else {
        forms.text = std::span(units32_).subspan(row.text, row.length);
    }
    return forms;
}

std::size_t FormsOfTitles::bytes() const {
    return rows_.capacity() * sizeof(Row) + bytes_.capacity() +
           units16_.capacity() * sizeof(std::uint16_t) +
           units32_.capacity() * sizeof(std::uint32_t);
}

}  // namespace sluice::titles
