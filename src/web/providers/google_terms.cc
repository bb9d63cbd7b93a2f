#include "web/providers/google_terms.h"

#include "base/text.h"

#include <array>

namespace sluice::web {

std::string google_language(std::string_view locale) {
    struct Variant {
        std::string_view prefix;
        std::string_view language;
    };
    static constexpr auto kVariants = std::to_array<Variant>({
        {"zh-hant", "zh-tw"},
        {"zh-tw", "zh-tw"},
        {"zh-hk", "zh-tw"},
        {"zh-mo", "zh-tw"},
        {"zh", "zh-cn"},
        {"pt-br", "pt-br"},
        {"pt-pt", "pt-pt"},
        {"es-419", "es-419"},
        {"nb", "no"},
        {"nn", "no"},
    });
    const std::string tag = to_lower(locale);
    const auto begins_with = [&tag](std::string_view subtags) {
        return tag.starts_with(subtags) &&
               (tag.size() == subtags.size() || tag[subtags.size()] == '-');
    };
    for (const Variant& variant : kVariants) {
        if (begins_with(variant.prefix)) {
            return std::string(variant.language);
        }
    }
    return tag.substr(0, tag.find('-'));
}

}  // namespace sluice::web
