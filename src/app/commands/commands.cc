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

std::vector<std::string> option_names(const CLI::App& command) {
    std::vector<std::string> names;
    for (const CLI::Option* option : command.get_options()) {
        for (const std::string& name : option->get_lnames()) {
            names.push_back("--" + name);
        }
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
    add_test(app, chosen);
    add_search(app, chosen);
    add_keys(app, chosen);
    add_tokens(app, chosen);
    add_pages(app, chosen);
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

bool explain_wrong_word(const CLI::App& app) {
    const CLI::App* command = &app;
    std::string path = app.get_name();
    while (!command->get_subcommands().empty()) {
        command = command->get_subcommands().front();
        path += " " + command->get_name();
    }
    const std::vector<std::string> words = command->remaining();
    const std::vector<std::string> commands = command_names(*command);
    const auto is_option = [](const std::string& word) { return word.starts_with('-'); };
    // What stands where a command has to stand is the mistake; options there may be the command's.
    const auto wrong = commands.empty() ? std::ranges::find_if(words, is_option) : words.begin();
    if (words.empty() || (!commands.empty() && is_option(words.front()))) {
        return false;
    }
    const std::string given = wrong == words.end() ? words.front() : *wrong;
    const std::string word = is_option(given) ? given.substr(0, given.find('=')) : given;
    const std::vector<std::string> known = is_option(word) ? option_names(*command) : commands;
    std::string text =
        "`" + path + "` takes no " + (is_option(word) ? "option " : "") + "'" + word + "'";
    if (const auto guess = nearest(word, {known.begin(), known.end()})) {
        text += "; did you mean '" + std::string(*guess) + "'?";
    }
    print_error(text + "\n`" + path + " --help` lists what it takes");
    return true;
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
