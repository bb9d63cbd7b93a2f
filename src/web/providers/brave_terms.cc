#include "web/providers/brave_terms.h"

#include "base/text.h"

#include <string>

namespace sluice::web {
namespace {

// Its own code where that is not the language's; the longer tag before the shorter.
struct Written {
    std::string_view tag;
    std::string_view code;
};
constexpr auto kWritten = std::to_array<Written>({
    {"en-gb", "en-gb"},
    {"ja", "jp"},
    {"nn", "nb"},
    {"no", "nb"},
    {"pt-pt", "pt-pt"},
    {"pt", "pt-br"},
    {"zh-hant", "zh-hant"},
    {"zh-hk", "zh-hant"},
    {"zh-mo", "zh-hant"},
    {"zh-tw", "zh-hant"},
    {"zh", "zh-hans"},
});

constexpr auto kSame = std::to_array<std::string_view>({
    "ar", "bg", "bn", "ca", "cs", "da", "de", "en", "es", "et", "eu", "fi", "fr", "gl", "gu",
    "he", "hi", "hr", "hu", "is", "it", "kn", "ko", "lt", "lv", "ml", "mr", "ms", "nb", "nl",
    "pa", "pl", "ro", "ru", "sk", "sl", "sr", "sv", "ta", "te", "th", "tr", "uk", "vi",
});
static_assert(std::ranges::is_sorted(kSame));

}  // namespace

std::string_view brave_language(std::string_view locale) {
    const std::string tag = to_lower(locale);
    for (const Written& written : kWritten) {
        const bool begins = tag.starts_with(written.tag);
        if (begins && (tag.size() == written.tag.size() || tag[written.tag.size()] == '-')) {
            return written.code;
        }
    }
    const std::string_view language = std::string_view(tag).substr(0, tag.find('-'));
    const auto* const found = std::ranges::lower_bound(kSame, language);
    return found != kSame.end() && *found == language ? *found : std::string_view();
}

}  // namespace sluice::web
