// The countries and languages that Brave knows; it refuses every other.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace sluice::web {

inline constexpr auto kBraveCountries = std::to_array<std::string_view>({
    "ar", "at", "au", "be", "br", "ca", "ch", "cl", "cn", "de", "dk", "es",
    "fi", "fr", "gb", "hk", "id", "in", "it", "jp", "kr", "mx", "my", "nl",
    "no", "nz", "ph", "pl", "pt", "ru", "sa", "se", "tr", "tw", "us", "za",
});
static_assert(std::ranges::is_sorted(kBraveCountries));

// Its code for the language of a BCP 47 tag ("pt-BR" gives "pt-br", "ja" gives "jp"); empty: it has
// none.
std::string_view brave_language(std::string_view locale);

}  // namespace sluice::web
