// The manual page sluice(1).
#pragma once

#include "app/command_tree.h"

#include <string>
#include <string_view>

namespace sluice::app {

// In the language of man(7).
std::string render_man_page(const CommandNode& root, std::string_view version);

}  // namespace sluice::app
