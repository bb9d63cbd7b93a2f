#include "web/plain_text.h"

#include "base/text.h"
#include "web/host.h"

#include <algorithm>
#include <utility>

namespace sluice::web {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool is_control(std::string_view piece) {
    const auto first = static_cast<unsigned char>(piece[0]);
    if (first == 0xC2) {  // U+0080 to U+009F, the second set of control characters
        return static_cast<unsigned char>(piece[1]) < 0xA0;
    }
    return first < 0x20 || first == 0x7F;
}

// Takes the next character off `rest`: one code point, or U+FFFD for bytes that are none.
std::string_view next_character(std::string_view& rest) {
    const Utf8Piece piece = first_utf8(rest);
    const std::string_view taken = rest.substr(0, piece.bytes);
    rest.remove_prefix(piece.bytes);
    return piece.valid ? taken : kReplacement;
}

// Puts a line together: words, and one space for every gap between two.
class LineWriter {
 public:
    LineWriter(std::size_t max_bytes, std::size_t expected_bytes) : max_bytes_(max_bytes) {
        out_.reserve(std::min(expected_bytes, max_bytes));
    }

    bool is_full() const { return full_; }

    void add_gap() { gap_ = !out_.empty(); }

    // One character, or several in ASCII, of which as many are taken as there is room for.
    void add(std::string_view text) {
        const std::size_t taken = out_.size() + (gap_ ? 1 : 0);
        const std::size_t room = max_bytes_ - std::min(taken, max_bytes_);
        if (text.size() > room) {
            full_ = true;
            text = is_printable_ascii(text[0]) ? text.substr(0, room) : std::string_view();
            text = text.substr(0, text.find_last_not_of(' ') + 1);
        }
        if (text.empty()) {
            return;
        }
        if (gap_) {
            out_ += ' ';
            gap_ = false;
        }
        out_ += text;
    }

    void add_printable(std::string_view text) {
        while (!text.empty() && !full_) {
            if (text[0] == ' ') {
                add_gap();
                text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
                continue;
            }
            const std::string_view words = text.substr(0, text.find("  "));
            text.remove_prefix(words.size());
            const bool ends_in_gap = words.ends_with(' ');
            add(ends_in_gap ? words.substr(0, words.size() - 1) : words);
            if (ends_in_gap) {
                add_gap();
            }
        }
    }

    std::string take() && { return std::move(out_); }

 private:
    const std::size_t max_bytes_;
    std::string out_;
    bool gap_ = false;  // before whatever comes next
    bool full_ = false;
};

bool can_be_in_url(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte > 0x20) & (byte != 0x7F) & (byte != '"') & (byte != '<') & (byte != '>');
}

// What stands behind a backslash or an '@' of an authority is its host to some readers only.
bool leads_to_one_host(std::string_view url) {
    const auto parts = split_url(url);
    return parts && parts->user.empty() && !parts->tail.starts_with('\\') &&
           port_number(parts->port) && is_host(parts->host);
}

}  // namespace

std::string_view looked_at(std::string_view text, std::size_t max_bytes) {
    constexpr std::size_t kAtLeast = 4096;
    constexpr std::size_t kTimes = 4;
    if (text.size() <= kAtLeast || text.size() / kTimes < max_bytes) {
        return text;
    }
    return text.substr(0, std::max(kAtLeast, kTimes * max_bytes));
}

std::string one_line(std::string_view text, std::size_t max_bytes) {
    text = looked_at(text, max_bytes);
    LineWriter line(max_bytes, text.size());
    while (!text.empty() && !line.is_full()) {
        const std::string_view plain = text.substr(0, plain_prefix(text, is_printable_ascii));
        if (!plain.empty()) {
            line.add_printable(plain);
            text.remove_prefix(plain.size());
            continue;
        }
        const std::string_view character = next_character(text);
        if (is_control(character)) {
            line.add_gap();
        } else {
            line.add(character);
        }
    }
    return std::move(line).take();
}

std::string many_lines(std::string_view text, std::size_t max_bytes) {
    text = trim(looked_at(text, max_bytes));
    std::string out;
    out.reserve(std::min(text.size(), max_bytes));
    while (!text.empty()) {
        std::string_view character = next_character(text);
        if (character == "\r") {
            if (text.starts_with('\n')) {
                continue;
            }
            character = "\n";
        } else if (is_control(character) && character != "\n" && character != "\t") {
            character = " ";
        }
        if (out.size() + character.size() > max_bytes) {
            break;
        }
        out += character;
    }
    return std::string(trim(out));
}

std::optional<std::string> answer_text(std::string_view text) {
    std::string lines = many_lines(text, kMaxAnswerBytes);
    return lines.empty() ? std::nullopt : std::optional(std::move(lines));
}

std::optional<std::string> usable_url(std::string_view text) {
    const std::string_view url = trim(text);
    if (url.size() > kMaxUrlBytes || !is_valid_utf8(url) ||
        plain_prefix(url, can_be_in_url) != url.size()) {
        return std::nullopt;
    }
    const auto scheme_end = url.find("://");
    if (scheme_end == std::string_view::npos) {
        return std::nullopt;
    }
    const std::string_view scheme = url.substr(0, scheme_end);
    if (!equals_ignoring_case(scheme, "https") && !equals_ignoring_case(scheme, "http")) {
        return std::nullopt;
    }
    if (!leads_to_one_host(url)) {
        return std::nullopt;
    }
    return std::string(url);
}

}  // namespace sluice::web
