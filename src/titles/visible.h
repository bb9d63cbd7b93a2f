// Whether a reader can see a text at all.
#pragma once

#include <string_view>

namespace sluice::titles {

// Whether valid UTF-8 has a character that leaves a mark: not only blanks, what joins or parts
// letters without a width, what only turns the direction of writing, and letters that are drawn as
// nothing. One that this program's Unicode does not know yet counts as seen. Any thread.
bool is_visible(std::string_view utf8);

// Whether valid UTF-8 breaks a line where no control character does: U+2028 or U+2029.
bool has_line_separators(std::string_view utf8);

}  // namespace sluice::titles
