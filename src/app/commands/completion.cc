// `sluice completion`.
#include "app/completion.h"

#include "app/command_tree.h"
#include "app/commands/commands.h"
#include "app/commands/common.h"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>

namespace sluice::app {

void add_completion(CLI::App& app, std::function<int()>& chosen) {
    CLI::App* command =
        app.add_subcommand("completion", "print the script by which a shell completes sluice");
    const auto shell = std::make_shared<std::string>();
    restrict_to(*command->add_option("shell", *shell, "bash, zsh or fish")->required(),
                {"bash", "zsh", "fish"});
    command->footer(
        "Examples:\n  source <(sluice completion bash)\n"
        "  sluice completion zsh > \"${fpath[1]}/_sluice\"\n"
        "  sluice completion fish > ~/.config/fish/completions/sluice.fish");
    command->callback([&app, &chosen, shell] {
        chosen = [&app, shell] {
            print(render_completion(*shell, describe(app)).value());
            return 0;
        };
    });
}

}  // namespace sluice::app
