#include "app/command_tree.h"

#include "base/text.h"

#include <CLI/CLI.hpp>

namespace sluice::app {

namespace {

// CLI11 names a type and what restricts it as "TEXT:{a,b}" or "INT:INT in [1 - 50]".
std::string without_restriction(const std::string& type) {
    const std::size_t set = type.find(":{");
    if (set != std::string::npos) {
        return type.substr(0, set);
    }
    const std::size_t range = type.find(" in [");
    return range == std::string::npos ? type : type.substr(0, type.rfind(':', range));
}

CommandOption describe(const CLI::Option& option) {
    CommandOption out;
    out.help = option.get_description();
    out.positional = option.get_positional();
    if (out.positional) {
        out.names.push_back(option.get_name(true));
    }
    for (const std::string& name : option.get_snames()) {
        out.names.push_back("-" + name);
    }
    for (const std::string& name : option.get_lnames()) {
        out.names.push_back("--" + name);
    }
    if (option.get_items_expected_max() == 0) {
        return out;
    }
    const std::string type = option.get_type_name();
    out.value = without_restriction(type);
    const std::size_t open = type.find('{');
    const std::size_t close = type.find('}');
    if (open != std::string::npos && close != std::string::npos) {
        for (std::string_view choice :
             split_list(std::string_view(type).substr(open + 1, close - open - 1))) {
            out.choices.emplace_back(choice);
        }
    }
    return out;
}

}  // namespace

CommandNode describe(const CLI::App& app) {
    CommandNode node;
    node.name = app.get_name();
    node.help = app.get_description();
    node.footer = app.get_footer();
    for (const CLI::Option* option : app.get_options()) {
        node.options.push_back(describe(*option));
    }
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
        node.commands.push_back(describe(*command));
    }
    return node;
}

}  // namespace sluice::app
