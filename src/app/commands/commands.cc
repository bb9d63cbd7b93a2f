#include "app/commands/commands.h"

#include "app/commands/common.h"
#include "app/version.h"
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

void add_commands(CLI::App& app, std::function<int()>& chosen) {
    app.name("sluice");
    app.description(
        "Sluice: one door for every search.\n\nStart with `sluice serve`, then `sluice search "
        "\"...\"`.");
    app.set_version_flag("--version", std::string(kVersion), "print the version");
    app.require_subcommand(1);
    add_serve(app, chosen);
    add_check(app, chosen);
    add_search(app, chosen);
    add_keys(app, chosen);
    add_tokens(app, chosen);
    add_usage(app, chosen);
    add_cache(app, chosen);
    add_backup(app, chosen);
    add_restore(app, chosen);
    add_doctor(app, chosen);
    add_completion(app, chosen);
    add_version(app, chosen);
}

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
