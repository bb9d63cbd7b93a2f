// Scripts by which shells complete the command line of sluice.
#pragma once

#include "app/command_tree.h"

#include <optional>
#include <string>
#include <string_view>

namespace sluice::app {

// For "bash", "zsh" or "fish"; nothing for another shell. The script asks nobody: it knows the
// commands, options and values of `root`, and completes paths where one is expected.
std::optional<std::string> render_completion(std::string_view shell, const CommandNode& root);

}  // namespace sluice::app
