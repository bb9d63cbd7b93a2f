#include "web/plain_text.h"

#include "base/text.h"

#include <algorithm>

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

bool can_be_in_url(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte > 0x20 && byte != 0x7F && byte != '"' && byte != '<' && byte != '>';
}

}  // namespace

std::string one_line(std::string_view text, std::size_t max_bytes) {
    std::string out;
    out.reserve(std::min(text.size(), max_bytes));
    bool gap = false;
    while (!text.empty()) {
        const std::string_view character = next_character(text);
        if (character == " " || is_control(character)) {
            gap = !out.empty();
            continue;
        }
        if (out.size() + character.size() + (gap ? 1 : 0) > max_bytes) {
            break;
        }
        if (gap) {
            out += ' ';
            gap = false;
        }
        out += character;
    }
    return out;
}

std::string many_lines(std::string_view text, std::size_t max_bytes) {
    text = trim(text);
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
        !std::all_of(url.begin(), url.end(), can_be_in_url)) {
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
    const std::string_view rest = url.substr(scheme_end + 3);
    const std::string_view authority = rest.substr(0, rest.find_first_of("/?#\\"));
    const std::string_view host_and_port = authority.substr(authority.rfind('@') + 1);
    if (host_and_port.empty() || host_and_port.starts_with(':')) {
        return std::nullopt;
    }
    return std::string(url);
}

}  // namespace sluice::web
