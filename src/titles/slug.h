// The last part of a page's address: lower-case letters and digits of any script, in parts that
// single hyphens join. "C++ Build: Flags!" is "c-build-flags".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::titles {

// Of UTF-8. Not empty: a title without letters and digits gives "page".
std::string slug_of(std::string_view title);

// "notes" with 2 is "notes-2"; as long as a slug may be.
std::string numbered_slug(std::string_view slug, std::size_t number);

bool is_slug(std::string_view text);

}  // namespace sluice::titles
