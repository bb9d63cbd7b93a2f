// Text that others wrote, as it may stand on a terminal: nothing in it moves the cursor, turns the
// text around it round or hides. Pure.
#pragma once

#include <string>
#include <string_view>

namespace sluice::app {

// One line.
std::string plain(std::string_view text);

// Line breaks and tabs stay.
std::string plain_lines(std::string_view text);

// Valid JSON that means the same, with the characters that could steer a terminal as escapes: they
// can only be in its texts.
std::string plain_json(std::string_view json);

}  // namespace sluice::app
