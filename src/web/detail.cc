#include "web/detail.h"

#include "base/text.h"
#include "web/key_mask.h"
#include "web/plain_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace sluice::web {
namespace {

// Where the message may be, the most telling first. An object is searched with the same names.
constexpr std::array<std::string_view, 9> kMessageNames = {
    "message",           "error",  "detail", "msg",   "error_message",
    "error_description", "errors", "title",  "reason"};

// Deeper than any error body in use; the reader's own limit is wider.
constexpr int kMaxMessageDepth = 4;

// What is looked at of a message before it is cut. Long enough that a query of usual length in
// front does not hide the rest.
constexpr std::size_t kMaxWordsBytes = 4 * 1024;

// So many bytes of a query are recognised although the rest is missing.
constexpr std::size_t kMinQueryPart = 16;

// Shorter queries occur inside ordinary words, where they tell nothing.
constexpr std::size_t kMinQueryInsideWord = 4;

std::string_view words_in(const JsonValue& value, int depth) {
    if (const auto text = value.as_string()) {
        return trim(*text);
    }
    if (depth == kMaxMessageDepth) {
        return {};
    }
    if (value.is_array()) {
        const JsonElements elements = value.elements(1);
        return elements.empty() ? std::string_view() : words_in(elements.front(), depth + 1);
    }
    for (const std::string_view name : kMessageNames) {
        if (const auto member = value.find(name)) {
            if (const auto words = words_in(*member, depth + 1); !words.empty()) {
                return words;
            }
        }
    }
    return {};
}

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool is_word_byte(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x80 || (byte >= '0' && byte <= '9') || (lower(c) >= 'a' && lower(c) <= 'z');
}

std::size_t common_prefix(std::string_view a, std::string_view b) {
    const std::size_t size = std::min(a.size(), b.size());
    std::size_t same = 0;
    while (same < size && lower(a[same]) == lower(b[same])) {
        ++same;
    }
    return same;
}

// Length of what has to be hidden of `query` at `at`, or 0.
std::size_t hidden_at(std::string_view text, std::size_t at, std::string_view query,
                      bool whole_words_only) {
    const std::size_t same = common_prefix(text.substr(at), query);
    if (same == 0 || same < std::min(query.size(), kMinQueryPart)) {
        return 0;
    }
    if (whole_words_only) {
        const bool joined_before = at > 0 && is_word_byte(text[at - 1]);
        const bool joined_after = at + same < text.size() && is_word_byte(text[at + same]);
        return joined_before || joined_after ? 0 : same;
    }
    return same;
}

enum class Hidden : std::uint8_t { kNothing, kKey, kQuery };

void hide(std::vector<Hidden>& hidden, std::string_view text, std::string_view query) {
    const bool whole_words_only = query.size() < kMinQueryInsideWord;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const std::size_t length = hidden_at(text, at, query, whole_words_only);
        if (length > 0) {
            std::fill_n(hidden.begin() + static_cast<std::ptrdiff_t>(at), length, Hidden::kQuery);
            at += length - 1;
        }
    }
}

// As a form or the query part of a URL has it: '+' for a space.
std::string form_encode(std::string_view text) {
    std::string out = percent_encode(text);
    for (auto at = out.find("%20"); at != std::string::npos; at = out.find("%20", at + 1)) {
        out.replace(at, 3, "+");
    }
    return out;
}

std::string without_hidden(std::string_view text, const std::vector<Hidden>& hidden) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (hidden[at] == Hidden::kNothing) {
            out += text[at];
        } else if (at == 0 || hidden[at] != hidden[at - 1]) {
            out += hidden[at] == Hidden::kKey ? "[key]" : "[query]";
        }
    }
    return out;
}

}  // namespace

std::string_view error_words(const JsonValue& body) {
    return words_in(body, 0);
}

std::string safe_detail(std::string_view words, const Secret& key, const QueryText& query) {
    // Both sides are made one line first, since a line break in the query would hide it otherwise.
    const std::string text = one_line(words, kMaxWordsBytes);
    const std::string asked = one_line(query.reveal(), query.reveal().size());
    const std::vector<bool> of_key = key_bytes(text, key);
    std::vector<Hidden> hidden(text.size(), Hidden::kNothing);
    std::ranges::transform(of_key, hidden.begin(),
                           [](bool is_key) { return is_key ? Hidden::kKey : Hidden::kNothing; });
    hide(hidden, text, asked);
    if (const std::string encoded = percent_encode(asked); encoded != asked) {
        hide(hidden, text, encoded);
        hide(hidden, text, form_encode(asked));
    }
    // Hiding goes by bytes: what is left of a character that a part ended in is repaired here.
    return one_line(without_hidden(text, hidden), kMaxDetailBytes);
}

}  // namespace sluice::web
