#include "app/terminal_text.h"

#include "base/text.h"
#include "web/characters.h"
#include "web/plain_text.h"

namespace sluice::app {

namespace {

void append_escape(std::string& out, char16_t unit) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    out += "\\u";
    for (const int shift : {12, 8, 4, 0}) {
        out += kDigits[(unit >> shift) & 15];
    }
}

}  // namespace

std::string plain(std::string_view text) {
    return web::one_line(text, text.size());
}

std::string plain_lines(std::string_view text) {
    return web::many_lines(text, text.size());
}

std::string plain_json(std::string_view json) {
    std::string out;
    out.reserve(json.size());
    while (!json.empty()) {
        const std::string_view character = json.substr(0, first_utf8(json).bytes);
        json.remove_prefix(character.size());
        const char32_t code = web::code_point_of(character);
        if (code < 0x20) {  // white space between values
            out += code == '\n' ? '\n' : ' ';
        } else if (web::kind_of(code) == web::CharacterKind::kShown) {
            out += character;
        } else if (code < 0x10000) {
            append_escape(out, static_cast<char16_t>(code));
        } else {
            append_escape(out, static_cast<char16_t>(0xD800 + ((code - 0x10000) >> 10)));
            append_escape(out, static_cast<char16_t>(0xDC00 + ((code - 0x10000) & 0x3FF)));
        }
    }
    return out;
}

}  // namespace sluice::app
