// Percent-escapes (RFC 3986) by the character: what base/text.h and the canonical form of URLs are
// made of. Pure; any thread.
#pragma once

#include <string>

namespace sluice {

// Of a hexadecimal digit in either case; -1 of anything else.
constexpr int hex_value(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// What means the same escaped and as it stands (section 2.3).
constexpr bool is_unreserved(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

// "%2F", with upper-case digits (section 6.2.2.1).
inline void append_escape(std::string& out, char c) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kDigits[byte >> 4];
    out += kDigits[byte & 0xf];
}

}  // namespace sluice
