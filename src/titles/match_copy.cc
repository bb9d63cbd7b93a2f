#include "titles/match_copy.h"

#include "base/ascii.h"
#include "base/result.h"
#include "base/text.h"

#include <algorithm>
#include <cstdint>
#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/stringpiece.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

namespace sluice::titles {

namespace {

constexpr std::string_view kReplacement = "\uFFFD";

const icu::Normalizer2& casefold() {
    static const icu::Normalizer2& normalizer = []() -> const icu::Normalizer2& {
        UErrorCode status = U_ZERO_ERROR;
        const icu::Normalizer2* const found = icu::Normalizer2::getNFKCCasefoldInstance(status);
        SLUICE_ASSERT(U_SUCCESS(status) && found != nullptr);
        return *found;
    }();
    return normalizer;
}

std::string well_formed(std::string_view bytes) {
    std::string out;
    while (!bytes.empty()) {
        const Utf8Piece piece = first_utf8(bytes);
        out += piece.valid ? bytes.substr(0, piece.bytes) : kReplacement;
        bytes.remove_prefix(piece.bytes);
    }
    return out;
}

std::string normalized(std::string_view utf8) {
    std::string out;
    icu::StringByteSink<std::string> sink(&out, static_cast<std::int32_t>(utf8.size()));
    UErrorCode status = U_ZERO_ERROR;
    casefold().normalizeUTF8(0,
                             icu::StringPiece(utf8.data(), static_cast<std::int32_t>(utf8.size())),
                             sink, nullptr, status);
    SLUICE_ASSERT(U_SUCCESS(status));
    return out;
}

// Appends `piece` to `out`, where a run of white space before it has become one space.
void append_after(std::string& out, bool& had_space, std::string_view piece) {
    if (had_space && !out.empty()) {
        out += ' ';
    }
    had_space = false;
    out += piece;
}

std::string with_single_spaces(std::string_view utf8) {
    std::string out;
    out.reserve(utf8.size());
    bool had_space = false;
    const auto length = static_cast<std::int32_t>(utf8.size());
    for (std::int32_t at = 0; at < length;) {
        const std::int32_t start = at;
        UChar32 code_point = 0;
        U8_NEXT_UNSAFE(utf8.data(), at, code_point);
        if (u_isUWhiteSpace(code_point)) {
            had_space = true;
            continue;
        }
        append_after(
            out, had_space,
            utf8.substr(static_cast<std::size_t>(start), static_cast<std::size_t>(at - start)));
    }
    return out;
}

std::string ascii_match_copy(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    bool had_space = false;
    for (const char c : text) {
        if (c == ' ' || (c >= '\t' && c <= '\r')) {
            had_space = true;
            continue;
        }
        const char folded = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
        append_after(out, had_space, std::string_view(&folded, 1));
    }
    return out;
}

}  // namespace

std::string match_copy(std::string_view utf8) {
    if (is_ascii(utf8)) {
        return ascii_match_copy(utf8);
    }
    if (!is_valid_utf8(utf8)) {
        return with_single_spaces(normalized(well_formed(utf8)));
    }
    return with_single_spaces(normalized(utf8));
}

}  // namespace sluice::titles
