#include "base/json.h"
#include "base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace sluice {

namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// What becomes of a byte: 0 stays, 'u' is written as \u00XX, 'x' starts something outside ASCII,
// and anything else is the letter after the backslash.
constexpr std::array<char, 256> make_escapes() {
    std::array<char, 256> escapes{};
    for (std::size_t i = 0; i < 0x20; ++i) {
        escapes[i] = 'u';
    }
    for (std::size_t i = 0x80; i < 256; ++i) {
        escapes[i] = 'x';
    }
    escapes['"'] = '"';
    escapes['\\'] = '\\';
    escapes['\b'] = 'b';
    escapes['\f'] = 'f';
    escapes['\n'] = 'n';
    escapes['\r'] = 'r';
    escapes['\t'] = 't';
    return escapes;
}

constexpr std::array<char, 256> kEscapes = make_escapes();

bool stays(char c) {
    return is_printable_ascii(c) & (c != '"') & (c != '\\');
}

void append_escape(std::string& out, std::uint8_t byte, char escape) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    if (escape == 'u') {
        out.append("\\u00");
        out.push_back(kDigits[byte >> 4]);
        out.push_back(kDigits[byte & 15]);
        return;
    }
    out.push_back('\\');
    out.push_back(escape);
}

// `format` is empty, or a std::chars_format.
template <class Number, class... Format>
void append_number(std::string& out, Number number, Format... format) {
    char digits[32];
    const std::to_chars_result result =
        std::to_chars(digits, digits + sizeof digits, number, format...);
    SLUICE_ASSERT(result.ec == std::errc());
    out.append(digits, result.ptr);
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
    out.push_back('"');
    std::size_t copied = 0;  // everything before it is in `out`
    std::size_t at = 0;
    while (true) {
        at += plain_prefix(text.substr(at), stays);
        if (at == text.size()) {
            break;
        }
        const auto byte = static_cast<std::uint8_t>(text[at]);
        const char escape = kEscapes[byte];
        if (escape == 0) {  // DEL
            at += 1;
            continue;
        }
        Utf8Piece piece{1, false};
        if (escape == 'x') {
            piece = first_utf8(text.substr(at));
            if (piece.valid) {
                at += piece.bytes;
                continue;
            }
        }
        out.append(text.substr(copied, at - copied));
        if (escape == 'x') {
            out.append(kReplacement);
        } else {
            append_escape(out, byte, escape);
        }
        at += piece.bytes;
        copied = at;
    }
    out.append(text.substr(copied));
    out.push_back('"');
}

bool JsonWriter::in_object() const {
    return depth_ > 0 && ((objects_ >> (depth_ - 1)) & 1) != 0;
}

void JsonWriter::separate() {
    if (after_key_) {
        after_key_ = false;
        return;
    }
    SLUICE_ASSERT(!in_object());                // a member needs its key first
    SLUICE_ASSERT(depth_ > 0 || !need_comma_);  // one value per writer
    if (need_comma_) {
        out_.push_back(',');
    }
}

void JsonWriter::open(Container kind) {
    separate();
    SLUICE_ASSERT(depth_ < kMaxDepth);
    const std::uint64_t bit = std::uint64_t{1} << depth_;
    objects_ = kind == Container::kObject ? objects_ | bit : objects_ & ~bit;
    depth_ += 1;
    need_comma_ = false;
    out_.push_back(kind == Container::kObject ? '{' : '[');
}

void JsonWriter::close(Container kind) {
    SLUICE_ASSERT(depth_ > 0 && in_object() == (kind == Container::kObject) && !after_key_);
    depth_ -= 1;
    need_comma_ = true;
    out_.push_back(kind == Container::kObject ? '}' : ']');
}

JsonWriter& JsonWriter::begin_object() {
    open(Container::kObject);
    return *this;
}

JsonWriter& JsonWriter::end_object() {
    close(Container::kObject);
    return *this;
}

JsonWriter& JsonWriter::begin_array() {
    open(Container::kArray);
    return *this;
}

JsonWriter& JsonWriter::end_array() {
    close(Container::kArray);
    return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
    SLUICE_ASSERT(in_object() && !after_key_);
    if (need_comma_) {
        out_.push_back(',');
    }
    append_json_string(out_, name);
    out_.push_back(':');
    need_comma_ = true;
    after_key_ = true;
    return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
    separate();
    append_json_string(out_, text);
    need_comma_ = true;
    return *this;
}

JsonWriter& JsonWriter::value(double number) {
    if (!std::isfinite(number)) {
        return null();
    }
    separate();
    // Up to 1e22 the shortest form has no exponent, and readers take it for an integer: ours and
    // many others refuse one of more than 64 bits.
    if (std::abs(number) >= 0x1p63) {
        append_number(out_, number, std::chars_format::scientific);
    } else if (number == 0 && std::signbit(number)) {
        out_.append("-0.0");  // "-0" is an integer, which has no sign
    } else {
        append_number(out_, number);
    }
    need_comma_ = true;
    return *this;
}

JsonWriter& JsonWriter::value(bool boolean) {
    return raw(boolean ? "true" : "false");
}

JsonWriter& JsonWriter::value(const std::vector<std::string>& texts) {
    begin_array();
    for (const std::string& text : texts) {
        value(text);
    }
    return end_array();
}

JsonWriter& JsonWriter::null() {
    return raw("null");
}

JsonWriter& JsonWriter::raw(std::string_view json) {
    separate();
    out_.append(json);
    need_comma_ = true;
    return *this;
}

JsonWriter& JsonWriter::integer(std::int64_t number) {
    separate();
    append_number(out_, number);
    need_comma_ = true;
    return *this;
}

JsonWriter& JsonWriter::unsigned_integer(std::uint64_t number) {
    separate();
    append_number(out_, number);
    need_comma_ = true;
    return *this;
}

namespace {

constexpr std::size_t kIndent = 2;

// Where a string that begins at `at` ends, behind its closing quote.
std::size_t end_of_string(std::string_view json, std::size_t at) {
    for (at += 1; at < json.size() && json[at] != '"'; ++at) {
        at += json[at] == '\\' ? 1 : 0;
    }
    return std::min(at + 1, json.size());
}

bool is_json_space(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

}  // namespace

std::string indented_json(std::string_view json) {
    std::string out;
    out.reserve(json.size() + json.size() / 4);
    std::size_t depth = 0;
    bool just_opened = false;
    const auto new_line = [&] { out.append(1, '\n').append(depth * kIndent, ' '); };
    for (std::size_t at = 0; at < json.size();) {
        const char c = json[at];
        const std::size_t end = c == '"' ? end_of_string(json, at) : at + 1;
        if (is_json_space(c)) {
            at = end;
            continue;
        }
        const bool closes = c == '}' || c == ']';
        if (closes) {
            depth -= depth > 0 ? 1 : 0;
        }
        if (closes != just_opened && (closes || just_opened)) {
            new_line();
        }
        out.append(json.substr(at, end - at));
        just_opened = c == '{' || c == '[';
        depth += just_opened ? 1 : 0;
        if (c == ',') {
            new_line();
        } else if (c == ':') {
            out += ' ';
        }
        at = end;
    }
    return out;
}

}  // namespace sluice
