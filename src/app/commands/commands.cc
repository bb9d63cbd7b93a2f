#include "app/commands/commands.h"

#include "app/commands/common.h"
#include "base/text.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <vector>

namespace sluice::app {

namespace {

std::vector<std::string> command_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
        names.push_back(command->get_name());
    }
    return names;
}

}  // namespace

bool has_command(const CLI::App& app, const std::string& name) {
    const std::vector<std::string> known = command_names(app);
    return std::find(known.begin(), known.end(), name) != known.end();
}

int unknown_command(const CLI::App& app, const std::string& name) {
    const std::vector<std::string> known = command_names(app);
    std::string text = "there is no command '" + name + "'";
    if (auto guess = nearest(name, {known.begin(), known.end()})) {
        text += "; did you mean '" + std::string(*guess) + "'?";
    }
    print_error(text + "\n`sluice --help` lists the commands");
    return 2;
}

}  // namespace sluice::app
