#include "web/html.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

namespace sluice::web {
namespace {

// A tag or a reference that is longer is taken for text.
constexpr std::size_t kMaxTagBytes = 512;
constexpr std::size_t kMaxReferenceBytes = 10;

struct Named {
    std::string_view name;
    std::string_view text;
};
constexpr auto kNamed = std::to_array<Named>({
    {"amp", "&"},
    {"lt", "<"},
    {"gt", ">"},
    {"quot", "\""},
    {"apos", "'"},
    {"nbsp", " "},
    {"hellip", "…"},
    {"mdash", "—"},
    {"ndash", "–"},
    {"lsquo", "‘"},
    {"rsquo", "’"},
    {"ldquo", "“"},
    {"rdquo", "”"},
});

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// How many bytes the tag at the start of `rest` has; 0: it is none.
std::size_t tag_at(std::string_view rest) {
    const bool begins =
        rest.size() > 1 && (is_letter(rest[1]) || rest[1] == '!' ||
                            (rest[1] == '/' && rest.size() > 2 && is_letter(rest[2])));
    const std::size_t end = begins ? rest.substr(0, kMaxTagBytes).find('>') : rest.npos;
    return end == rest.npos ? 0 : end + 1;
}

void append_utf8(std::string& out, std::uint32_t c) {
    if (c < 0x80) {
        out += static_cast<char>(c);
    } else if (c < 0x800) {
        out += static_cast<char>(0xC0 | (c >> 6));
        out += static_cast<char>(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        out += static_cast<char>(0xE0 | (c >> 12));
        out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
        out += static_cast<char>(0x80 | (c & 0x3F));
    } else {
        out += static_cast<char>(0xF0 | (c >> 18));
        out += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
        out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
        out += static_cast<char>(0x80 | (c & 0x3F));
    }
}

// "#39" or "#x27"; nothing for what is no character.
std::optional<std::uint32_t> code_point(std::string_view number) {
    const bool hex = number.starts_with('x') || number.starts_with('X');
    number.remove_prefix(hex ? 1 : 0);
    std::uint32_t value = 0;
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), value, hex ? 16 : 10);
    const bool whole = error == std::errc() && end == number.data() + number.size();
    const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
    if (!whole || value == 0 || value > 0x10FFFF || surrogate) {
        return std::nullopt;
    }
    return value;
}

// Appends the character that the reference at the start of `rest` names. Returns its bytes; 0: it
// names none.
std::size_t append_reference(std::string& out, std::string_view rest) {
    const std::size_t end = rest.substr(0, kMaxReferenceBytes + 1).find(';');
    if (end == rest.npos) {
        return 0;
    }
    const std::string_view name = rest.substr(1, end - 1);
    if (name.starts_with('#')) {
        const auto value = code_point(name.substr(1));
        if (!value) {
            return 0;
        }
        append_utf8(out, *value);
        return end + 1;
    }
    for (const Named& named : kNamed) {
        if (named.name == name) {
            out += named.text;
            return end + 1;
        }
    }
    return 0;
}

}  // namespace

std::string text_of_html(std::string_view html) {
    std::string out;
    out.reserve(html.size());
    while (!html.empty()) {
        const std::size_t plain = html.find_first_of("<&");
        out.append(html.substr(0, plain));
        if (plain == html.npos) {
            break;
        }
        html.remove_prefix(plain);
        std::size_t taken = html.front() == '<' ? tag_at(html) : append_reference(out, html);
        if (taken == 0) {
            out += html.front();
            taken = 1;
        }
        html.remove_prefix(taken);
    }
    return out;
}

}  // namespace sluice::web
