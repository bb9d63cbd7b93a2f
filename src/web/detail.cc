#include "web/detail.h"

#include "base/text.h"
#include "web/plain_text.h"

#include <algorithm>
#include <array>

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

// So many bytes of a key or a query are recognised although the rest is missing.
constexpr std::size_t kMinKeyPart = 8;
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

struct Hidden {
    std::string_view what;
    std::string_view instead;
    std::size_t min_part;  // so much of its beginning is hidden too, when it is longer than that
    bool whole_words_only;
};

// Length of what has to be hidden at `at`, or 0.
std::size_t hidden_at(std::string_view text, std::size_t at, const Hidden& hidden) {
    const std::size_t same = common_prefix(text.substr(at), hidden.what);
    if (same == 0 || same < std::min(hidden.what.size(), hidden.min_part)) {
        return 0;
    }
    if (hidden.whole_words_only) {
        const bool joined_before = at > 0 && is_word_byte(text[at - 1]);
        const bool joined_after = at + same < text.size() && is_word_byte(text[at + same]);
        return joined_before || joined_after ? 0 : same;
    }
    return same;
}

std::string hide(std::string_view text, const Hidden& hidden) {
    std::string out;
    out.reserve(text.size());
    std::size_t at = 0;
    while (at < text.size()) {
        if (const std::size_t length = hidden_at(text, at, hidden); length > 0) {
            out += hidden.instead;
            at += length;
        } else {
            out += text[at++];
        }
    }
    return out;
}

// As a form or the query part of a URL has it: '+' for a space.
std::string form_encode(std::string_view text) {
    std::string out = percent_encode(text);
    for (auto at = out.find("%20"); at != std::string::npos; at = out.find("%20", at + 1)) {
        out.replace(at, 3, "+");
    }
    return out;
}

std::string hide_query(std::string text, std::string_view query) {
    const bool short_query = query.size() < kMinQueryInsideWord;
    const std::string encoded = percent_encode(query);
    text = hide(text, {query, "[query]", kMinQueryPart, short_query});
    if (encoded != query) {
        text = hide(text, {encoded, "[query]", kMinQueryPart, short_query});
        text = hide(text, {form_encode(query), "[query]", kMinQueryPart, short_query});
    }
    return text;
}

}  // namespace

std::string_view error_words(const JsonValue& body) {
    return words_in(body, 0);
}

std::string safe_detail(std::string_view words, const Secret& key, const QueryText& query) {
    // Both sides are made one line first, since a line break in the query would hide it otherwise.
    std::string text = one_line(words, kMaxWordsBytes);
    text = hide(text, {key.reveal(), "[key]", kMinKeyPart, false});
    const Secret encoded(percent_encode(key.reveal()));
    if (encoded.reveal() != key.reveal()) {
        text = hide(text, {encoded.reveal(), "[key]", kMinKeyPart, false});
    }
    const std::string asked = one_line(query.reveal(), query.reveal().size());
    text = hide_query(std::move(text), asked);
    // Hiding goes by bytes: what is left of a character that a part ended in is repaired here.
    return one_line(text, kMaxDetailBytes);
}

}  // namespace sluice::web
