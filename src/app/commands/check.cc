// `sluice check`: is the configuration right, what is in force, and where does each value come
// from?
#include "app/commands/commands.h"
#include "app/commands/common.h"
#include "base/config_render.h"
#include "base/json.h"

#include <CLI/CLI.hpp>

#include <map>
#include <memory>

namespace sluice::app {

namespace {

std::string settings_as_json(const LoadedConfig& loaded) {
    std::string out;
    JsonWriter json(out);
    json.begin_object().field("ok", loaded.errors.empty()).field("file", loaded.file);
    json.key("errors").begin_array();
    for (const ConfigError& error : loaded.errors) {
        json.begin_object().field("where", error.where).field("key", error.key);
        json.field("message", error.message).end_object();
    }
    json.end_array().key("settings").begin_array();
    for (const EffectiveSetting& setting : loaded.settings) {
        json.begin_object().field("key", setting.path).field("value", setting.value);
        json.field("type", setting.type).field("range", setting.range);
        json.field("origin", setting.origin).field("default", setting.default_value).end_object();
    }
    json.end_array().end_object();
    return out + "\n";
}

// Names only: how many keys each provider has from the environment.
std::string describe_keys(const Environment& environment) {
    std::map<std::string, int> counts;
    for (const auto& [provider, secret] : keys_from_environment(environment)) {
        counts[provider] += 1;
    }
    if (counts.empty()) {
        return "# no provider key in the environment; `sluice keys list` shows those that are "
               "kept\n";
    }
    std::string text = "# keys from the environment:";
    for (const auto& [provider, count] : counts) {
        text += " " + provider + " " + std::to_string(count);
    }
    return text + "\n";
}

int check(const ConfigOptions& options, bool as_json) {
    const SystemEnvironment environment;
    const LoadedConfig loaded = load_config(options.sources(), environment);
    if (as_json) {
        print(settings_as_json(loaded));
        return loaded.errors.empty() ? 0 : 2;
    }
    if (!loaded.errors.empty()) {
        print_to_stderr(format_errors(loaded.errors));
        return 2;
    }
    print("# " + (loaded.file.empty() ? std::string("no configuration file") : loaded.file) +
          ": every setting is right\n");
    print(render_effective(loaded.settings));
    print(describe_keys(environment));
    return 0;
}

}  // namespace

void add_check(CLI::App& app, std::function<int()>& chosen) {
    CLI::App* command =
        app.add_subcommand("check", "validate the configuration and show what is in force");
    const auto options = add_config_options(*command);
    const auto as_json = add_json_flag(*command);
    command->footer(
        "Exit code 0: right; 2: each mistake is told with file, line and key.\n"
        "Example: sluice check --config sluice.toml");
    command->callback([&chosen, options, as_json] {
        chosen = [options, as_json] { return check(*options, *as_json); };
    });
}

}  // namespace sluice::app
