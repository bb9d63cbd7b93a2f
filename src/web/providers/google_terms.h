// What Google's own interface and the services over it have in common.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::web {

// Words of a query that Google reads; it ignores the rest.
inline constexpr std::size_t kGoogleWords = 32;

// The interface language for a BCP 47 tag: the language alone, except where Google tells written
// forms apart.
std::string google_language(std::string_view locale);

}  // namespace sluice::web
