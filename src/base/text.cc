#include "base/text.h"

#include "base/percent.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace sluice {

namespace {

constexpr std::size_t kLongestWord = 128;  // bytes that `nearest` looks at

constexpr bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

constexpr char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

constexpr char upper(char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
}

// The lengths and the range of the second byte per first byte, Unicode's table 3-7. Later bytes are
// always 80..BF.
struct Utf8Lead {
    std::size_t length;
    std::uint8_t second_low;
    std::uint8_t second_high;
};

constexpr Utf8Lead utf8_lead(std::uint8_t first) {
    if (first < 0x80) {
        return {1, 0, 0};
    }
    if (first >= 0xC2 && first <= 0xDF) {
        return {2, 0x80, 0xBF};
    }
    if (first >= 0xE0 && first <= 0xEF) {
        return {3, static_cast<std::uint8_t>(first == 0xE0 ? 0xA0 : 0x80),
                static_cast<std::uint8_t>(first == 0xED ? 0x9F : 0xBF)};
    }
    if (first >= 0xF0 && first <= 0xF4) {
        return {4, static_cast<std::uint8_t>(first == 0xF0 ? 0x90 : 0x80),
                static_cast<std::uint8_t>(first == 0xF4 ? 0x8F : 0xBF)};
    }
    return {0, 0, 0};
}

using Row = std::array<std::size_t, kLongestWord + 1>;

// Optimal string alignment distance. Both words are at most kLongestWord long.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    Row two_back{};
    Row previous{};
    Row current{};
    for (std::size_t j = 0; j <= b.size(); ++j) {
        previous[j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        current[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t changed = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            std::size_t best = std::min({previous[j] + 1, current[j - 1] + 1, changed});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                best = std::min(best, two_back[j - 2] + 1);
            }
            current[j] = best;
        }
        two_back = previous;
        previous = current;
    }
    return previous[b.size()];
}

}  // namespace

std::string_view trim(std::string_view text) {
    while (!text.empty() && is_space(text.front())) {
        text.remove_prefix(1);
    }
    while (!text.empty() && is_space(text.back())) {
        text.remove_suffix(1);
    }
    return text;
}

std::string to_lower(std::string_view text) {
    std::string lowered(text);
    std::transform(lowered.begin(), lowered.end(), lowered.begin(), lower);
    return lowered;
}

std::string to_upper(std::string_view text) {
    std::string raised(text);
    std::transform(raised.begin(), raised.end(), raised.begin(), upper);
    return raised;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return lower(x) == lower(y); });
}

bool contains_ignoring_case(std::string_view text, std::string_view part) {
    return std::search(text.begin(), text.end(), part.begin(), part.end(),
                       [](char x, char y) { return lower(x) == lower(y); }) != text.end() ||
           part.empty();
}

std::vector<std::string_view> split_list(std::string_view text, char separator) {
    std::vector<std::string_view> pieces;
    while (true) {
        const std::size_t end = text.find(separator);
        const std::string_view piece = trim(text.substr(0, end));
        if (!piece.empty()) {
            pieces.push_back(piece);
        }
        if (end == std::string_view::npos) {
            return pieces;
        }
        text.remove_prefix(end + 1);
    }
}

bool is_valid_utf8(std::string_view bytes) {
    return simdjson::validate_utf8(bytes.data(), bytes.size());
}

bool has_control_characters(std::string_view utf8) {
    for (std::size_t i = 0; i < utf8.size(); ++i) {
        const auto byte = static_cast<std::uint8_t>(utf8[i]);
        const bool second_set =
            byte == 0xC2 && i + 1 < utf8.size() && static_cast<std::uint8_t>(utf8[i + 1]) < 0xA0;
        if (byte < 0x20 || byte == 0x7F || second_set) {
            return true;
        }
    }
    return false;
}

Utf8Piece first_utf8(std::string_view bytes) {
    const Utf8Lead lead = utf8_lead(static_cast<std::uint8_t>(bytes[0]));
    if (lead.length <= 1) {
        return {1, lead.length == 1};
    }
    std::size_t good = 1;
    while (good < lead.length && good < bytes.size()) {
        const auto byte = static_cast<std::uint8_t>(bytes[good]);
        const std::uint8_t low = good == 1 ? lead.second_low : 0x80;
        const std::uint8_t high = good == 1 ? lead.second_high : 0xBF;
        if (byte < low || byte > high) {
            break;
        }
        good += 1;
    }
    return {good, good == lead.length};
}

std::size_t count_code_points(std::string_view utf8) {
    // Every byte but the continuation bytes starts one.
    return static_cast<std::size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) {
        return (static_cast<std::uint8_t>(c) & 0xC0) != 0x80;
    }));
}

std::optional<std::string> percent_decode(std::string_view text, PlusIsSpace plus) {
    std::string decoded;
    decoded.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '+' && plus == PlusIsSpace::kYes) {
            decoded.push_back(' ');
            continue;
        }
        if (text[i] != '%') {
            decoded.push_back(text[i]);
            continue;
        }
        if (text.size() - i < 3) {
            return std::nullopt;
        }
        const int high = hex_value(text[i + 1]);
        const int low = hex_value(text[i + 2]);
        if (high < 0 || low < 0) {
            return std::nullopt;
        }
        decoded.push_back(static_cast<char>(high * 16 + low));
        i += 2;
    }
    return decoded;
}

std::string percent_encode(std::string_view text) {
    std::string encoded;
    encoded.reserve(text.size());
    for (const char c : text) {
        if (is_unreserved(c)) {
            encoded.push_back(c);
        } else {
            append_escape(encoded, c);
        }
    }
    return encoded;
}

std::optional<std::string_view> nearest(std::string_view word,
                                        const std::vector<std::string_view>& candidates) {
    if (word.size() > kLongestWord) {
        return std::nullopt;
    }
    std::size_t best = std::max<std::size_t>(1, word.size() / 3) + 1;
    std::optional<std::string_view> found;
    for (const std::string_view candidate : candidates) {
        if (candidate.size() > kLongestWord) {
            continue;
        }
        const std::size_t distance = edit_distance(word, candidate);
        if (distance < best) {
            best = distance;
            found = candidate;
        }
    }
    return found;
}

}  // namespace sluice
