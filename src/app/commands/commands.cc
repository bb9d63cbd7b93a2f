#include "app/commands/commands.h"

#include "app/commands/common.h"
#include "app/terminal_text.h"
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

// The command that the line names, down to where its words stop naming one, and how it is called.
struct Named {
    const CLI::App* command;
    std::string path;
};
Named named_command(const CLI::App& app) {
    Named named{&app, app.get_name()};
    while (!named.command->get_subcommands().empty()) {
        named.command = named.command->get_subcommands().front();
        named.path += " " + named.command->get_name();
    }
    return named;
}

// Whether a word that is wrong may be a secret, which somebody took for the value of such an
// option. It stands in the history of a shell already, but need not stand in a log as well.
bool reads_secret(const CLI::App& command) {
    return command.get_option_no_throw("--pin") != nullptr ||
           command.get_option_no_throw("--secret-file") != nullptr;
}

bool is_flag(const CLI::Option& option) {
    return option.get_expected_min() == 0;
}

std::string expected_of(const CLI::Option& option) {
    if (is_flag(option)) {
        return "no value";
    }
    return option.get_type_name().starts_with("FLOAT") ? "a number" : "a whole number";
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
    const auto [command, path] = named_command(app);
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
    if (!is_option(word) && commands.empty() && reads_secret(*command)) {
        print_error("`" + path +
                    "` takes no further word; a secret is read from the terminal or from standard "
                    "input, never from the command line\n`" +
                    path + " --help` lists what it takes");
        return true;
    }
    const std::vector<std::string> known = is_option(word) ? option_names(*command) : commands;
    std::string text =
        "`" + path + "` takes no " + (is_option(word) ? "option " : "") + "'" + word + "'";
    if (const auto guess = nearest(word, {known.begin(), known.end()})) {
        text += "; did you mean '" + std::string(*guess) + "'?";
    }
    print_error(text + "\n`" + path + " --help` lists what it takes");
    return true;
}

bool explain_wrong_value(const CLI::App& app, const CLI::ConversionError& error) {
    const auto [command, path] = named_command(app);
    const std::string_view what = error.what();
    for (const CLI::Option* option : command->get_options()) {
        const std::string start = "Could not convert: " + option->get_name() + " = ";
        if (!what.starts_with(start)) {
            continue;
        }
        std::string text = option->get_name() + ": expected " + expected_of(*option);
        if (!is_flag(*option)) {
            text += ": " + option->get_description();
        }
        if (!reads_secret(*command)) {
            text += "; found '" + plain(what.substr(start.size())) + "'";
        }
        print_error(text + "\n`" + path + " --help` lists what it takes");
        return true;
    }
    return false;
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
