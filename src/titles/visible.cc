#include "titles/visible.h"

#include <cstdint>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

namespace sluice::titles {

namespace {

// Symbols whose picture is empty, by name: Unicode has no property for that.
constexpr UChar32 kBlankBraille = 0x2800;
constexpr UChar32 kNullNotehead = 0x1D159;

bool leaves_a_mark(UChar32 c) {
    if (c == kBlankBraille || c == kNullNotehead ||
        u_hasBinaryProperty(c, UCHAR_DEFAULT_IGNORABLE_CODE_POINT) != 0) {
        return false;
    }
    const std::uint32_t kind = U_GET_GC_MASK(c);
    // Signs that stand around the number after them are formats that are drawn.
    const bool is_drawn = u_hasBinaryProperty(c, UCHAR_PREPENDED_CONCATENATION_MARK) != 0;
    return (kind & (U_GC_CC_MASK | U_GC_Z_MASK)) == 0 && ((kind & U_GC_CF_MASK) == 0 || is_drawn);
}

}  // namespace

bool is_visible(std::string_view utf8) {
    const auto length = static_cast<std::int32_t>(utf8.size());
    for (std::int32_t at = 0; at < length;) {
        UChar32 c = 0;
        U8_NEXT_UNSAFE(utf8.data(), at, c);
        if (leaves_a_mark(c)) {
            return true;
        }
    }
    return false;
}

bool has_line_separators(std::string_view utf8) {
    return utf8.find("\u2028") != std::string_view::npos ||
           utf8.find("\u2029") != std::string_view::npos;
}

}  // namespace sluice::titles
