// `sluice check`: is the configuration right, what is in force, and where does each value come
// from? With --probe also: does each key work?
#include "app/commands/commands.h"
#include "app/commands/common.h"
#include "app/commands/key_probe.h"
#include "app/commands/keys_api.h"
#include "base/config_render.h"
#include "base/json.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

namespace sluice::app {

namespace {

// `probed`: null when nothing was tried.
std::string settings_as_json(const LoadedConfig& loaded, const std::vector<ProbedKey>* probed) {
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
    json.end_array();
    if (probed != nullptr) {
        json.key("probe");
        write_probe(json, *probed);
    }
    json.end_object();
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

void print_settings(const LoadedConfig& loaded, const Environment& environment) {
    print("# " + (loaded.file.empty() ? std::string("no configuration file") : loaded.file) +
          ": every setting is right\n");
    print(render_effective(loaded.settings));
    print(describe_keys(environment));
    if (const std::string notice = describe_exchanges(loaded.config); !notice.empty()) {
        print("# " + notice);
    }
}

// Of a configuration that is right. What it will cost is said first, on stderr.
int check_keys(const LoadedConfig& loaded, const Environment& environment, bool as_json) {
    if (const Status there = use_data_dir(loaded.config.data_dir, StoreUse::kRead); !there.ok()) {
        print_error(there.error().message);
        return 1;
    }
    // A trial is paid for, which is written down.
    auto api = KeysApi::connect(loaded.config, environment, StoreUse::kChange);
    if (!api.ok()) {
        print_error(api.error().message);
        return 1;
    }
    auto keys = keys_to_probe(*api, loaded.config);
    if (!keys.ok()) {
        print_error(keys.error().message);
        return 1;
    }
    print_to_stderr(announce(*keys) + "\n");
    probe(*api, *keys);
    if (as_json) {
        print(settings_as_json(loaded, &*keys));
    } else {
        print_settings(loaded, environment);
        print("\n" + probe_table(*keys));
    }
    return std::ranges::any_of(*keys, &ProbedKey::is_bad) ? 1 : 0;
}

int check(const ConfigOptions& options, bool with_probe, bool as_json) {
    const SystemEnvironment environment;
    const LoadedConfig loaded = load_config(options.sources(), environment);
    if (!loaded.errors.empty()) {
        if (as_json) {
            print(settings_as_json(loaded, nullptr));
        } else {
            print_to_stderr(format_errors(loaded.errors));
        }
        return 2;
    }
    if (with_probe) {
        return check_keys(loaded, environment, as_json);
    }
    if (as_json) {
        print(settings_as_json(loaded, nullptr));
    } else {
        print_settings(loaded, environment);
    }
    return 0;
}

}  // namespace

void add_check(CLI::App& app, std::function<int()>& chosen) {
    CLI::App* command =
        app.add_subcommand("check", "validate the configuration and show what is in force");
    const auto options = add_config_options(*command);
    add_exchange_options(*command, *options);
    const auto with_probe = std::make_shared<bool>(false);
    command->add_flag("--probe", *with_probe,
                      "also try every key with one call, which its provider charges for");
    const auto as_json = add_json_flag(*command);
    command->footer(
        "Exit code 0: right; 1: a key proved bad, or the keys could not be had; 2: each mistake is "
        "told "
        "with file, line and key.\n"
        "Example: sluice check --config sluice.toml");
    command->callback([&chosen, options, with_probe, as_json] {
        chosen = [=] { return check(*options, *with_probe, *as_json); };
    });
}

}  // namespace sluice::app
