// Whether characters and texts are ASCII.
#pragma once

#include "base/text.h"

#include <string_view>

namespace sluice {

constexpr bool is_ascii(char c) {
    return static_cast<unsigned char>(c) < 0x80;
}

inline bool is_ascii(std::string_view text) {
    return plain_prefix(text, [](char c) { return is_ascii(c); }) == text.size();
}

}  // namespace sluice
