#include "titles/slug.h"

#include "base/result.h"
#include "base/text.h"
#include "titles/page.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

namespace sluice::titles {

namespace {

constexpr std::size_t kMaxMadeCodePoints = 60;

bool is_part(UChar32 c) {
    return u_isalnum(c) != 0 || (U_GET_GC_MASK(c) & U_GC_M_MASK) != 0;
}

icu::UnicodeString folded(std::string_view text) {
    UErrorCode error = U_ZERO_ERROR;
    const icu::Normalizer2* const fold = icu::Normalizer2::getNFKCCasefoldInstance(error);
    SLUICE_ASSERT(U_SUCCESS(error) != 0);
    return fold->normalize(
        icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), static_cast<int>(text.size()))),
        error);
}

std::string to_utf8(const icu::UnicodeString& text) {
    std::string out;
    return text.toUTF8String(out);
}

// Without a hyphen at its end or half a character.
std::string cut(std::string_view slug, std::size_t most_bytes) {
    std::size_t end = std::min(slug.size(), most_bytes);
    while (end < slug.size() && end > 0 &&
           (static_cast<unsigned char>(slug[end]) & 0xC0U) == 0x80U) {
        end -= 1;
    }
    while (end > 0 && slug[end - 1] == '-') {
        end -= 1;
    }
    return std::string(slug.substr(0, end));
}

}  // namespace

std::string slug_of(std::string_view title) {
    const icu::UnicodeString text = folded(title);
    icu::UnicodeString slug;
    std::size_t length = 0;
    bool is_apart = false;
    for (std::int32_t i = 0; i < text.length() && length < kMaxMadeCodePoints;) {
        const UChar32 c = text.char32At(i);
        i += U16_LENGTH(c);
        if (!is_part(c)) {
            is_apart = length > 0;
            continue;
        }
        if (is_apart) {
            slug.append(u'-');
            is_apart = false;
        }
        slug.append(c);
        length += 1;
    }
    std::string made = cut(to_utf8(slug), kMaxSlugBytes);
    return made.empty() ? "page" : made;
}

std::string numbered_slug(std::string_view slug, std::size_t number) {
    const std::string tail = "-" + std::to_string(number);
    return cut(slug, kMaxSlugBytes - tail.size()) + tail;
}

bool is_slug(std::string_view text) {
    if (text.empty() || text.size() > kMaxSlugBytes || !is_valid_utf8(text)) {
        return false;
    }
    const icu::UnicodeString slug = folded(text);
    bool after_part = false;
    for (std::int32_t i = 0; i < slug.length();) {
        const UChar32 c = slug.char32At(i);
        i += U16_LENGTH(c);
        if (c == u'-' && after_part) {
            after_part = false;
        } else if (is_part(c)) {
            after_part = true;
        } else {
            return false;
        }
    }
    return after_part && to_utf8(slug) == text;
}

}  // namespace sluice::titles
