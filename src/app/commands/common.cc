#include "app/commands/common.h"

#include "base/text.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <unistd.h>

namespace sluice::app {

std::shared_ptr<ConfigOptions> add_config_options(CLI::App& command) {
    auto options = std::make_shared<ConfigOptions>();
    command
        .add_option("--config", options->config_file,
                    "configuration file (default: sluice.toml in this directory, if it is there)")
        ->type_name("FILE");
    command
        .add_option("--data-dir", options->data_dir,
                    "where everything durable lives (default: ./sluice-data)")
        ->type_name("DIR");
    command
        .add_option("--set", options->settings,
                    "one setting, as in the file: --set cache.ttl_s=60 (may be repeated)")
        ->type_name("KEY=VALUE")
        ->check([](const std::string& setting) {
            return setting.find('=') == std::string::npos
                       ? "'" + setting + "' sets nothing; expected KEY=VALUE"
                       : std::string();
        });
    return options;
}

void add_exchange_options(CLI::App& command, ConfigOptions& options) {
    command
        .add_option("--record", options.record,
                    "write every exchange with a provider into this folder, without keys but with "
                    "what is searched for")
        ->type_name("DIR");
    command
        .add_option("--replay", options.replay,
                    "answer from the recordings in this folder, without keys and network")
        ->type_name("DIR");
    command
        .add_option("--replay-speed", options.replay_speed,
                    "1: as slow as recorded, 10: ten times faster (default: 0, at once)")
        ->type_name("NUMBER");
    command
        .add_option("--replay-faults", options.replay_faults,
                    "which calls go wrong meanwhile, and how: a TOML file")
        ->type_name("FILE");
}

std::string table(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths(rows.empty() ? 0 : rows.front().size());
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < widths.size(); ++i) {
            widths[i] = std::max(widths[i], count_code_points(row[i]));
        }
    }
    std::string out;
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < widths.size(); ++i) {
            out += row[i];
            if (i + 1 < widths.size()) {
                out.append(widths[i] - count_code_points(row[i]) + 2, ' ');
            }
        }
        out += '\n';
    }
    return out;
}

std::shared_ptr<bool> add_json_flag(CLI::App& command) {
    auto as_json = std::make_shared<bool>(false);
    command.add_flag("--json", *as_json, "as JSON");
    return as_json;
}

void suggest(CLI::Option& option, const std::vector<std::string>& values) {
    std::string list;
    for (const std::string& value : values) {
        list += (list.empty() ? "{" : ",") + value;
    }
    option.check(CLI::Validator(list + "}"));
}

void restrict_to(CLI::Option& option, const std::vector<std::string>& values) {
    std::string set;
    std::string list;
    for (const std::string& value : values) {
        set += (set.empty() ? "{" : ",") + value;
        list += (list.empty() ? "" : ", ") + value;
    }
    const auto judge = [values, list](const std::string& given) {
        if (std::ranges::find(values, given) != values.end()) {
            return std::string();
        }
        std::string mistake = "expected one of " + list + ", found '" + given + "'";
        if (const auto guess = nearest(given, {values.begin(), values.end()})) {
            mistake += "; did you mean '" + std::string(*guess) + "'?";
        }
        return mistake;
    };
    option.check(judge, set + "}");
}

ConfigSources ConfigOptions::sources() const {
    ConfigSources sources;
    if (!config_file.empty()) {
        sources.file = config_file;
    }
    for (const std::string& setting : settings) {
        const std::size_t equals = setting.find('=');  // add_config_options() saw to one
        sources.overrides.push_back({setting.substr(0, equals), setting.substr(equals + 1),
                                     "--set " + setting.substr(0, equals)});
    }
    if (!data_dir.empty()) {
        sources.overrides.push_back({"data_dir", data_dir, "--data-dir"});
    }
    if (!listen.empty()) {
        sources.overrides.push_back({"server.listen", listen, "--listen"});
    }
    if (!log_level.empty()) {
        sources.overrides.push_back({"log.level", log_level, "--log-level"});
    }
    for (const auto& [path, value, flag] :
         {ConfigSources::Override{"record.dir", record, "--record"},
          {"replay.dir", replay, "--replay"},
          {"replay.speed", replay_speed, "--replay-speed"},
          {"replay.faults", replay_faults, "--replay-faults"}}) {
        if (!value.empty()) {
            sources.overrides.push_back({path, value, flag});
        }
    }
    return sources;
}

std::optional<LoadedConfig> load_or_explain(const ConfigOptions& options,
                                            const Environment& environment) {
    LoadedConfig loaded = load_config(options.sources(), environment);
    if (loaded.errors.empty()) {
        return loaded;
    }
    print_to_stderr(format_errors(loaded.errors));
    print_error("the configuration has " + std::to_string(loaded.errors.size()) +
                (loaded.errors.size() == 1 ? " mistake" : " mistakes") +
                "; `sluice check` shows every setting");
    return std::nullopt;
}

std::string data_dir_of(const ConfigOptions& options, const Environment& environment) {
    LoadedConfig loaded = load_config(options.sources(), environment);
    if (!loaded.errors.empty()) {
        print_error(
            "warning: the configuration has mistakes, which `sluice check` lists; the data "
            "directory is taken to be " +
            loaded.config.data_dir);
    }
    return std::move(loaded.config.data_dir);
}

void print(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
}

bool flush_output() {
    std::cout.flush();
    return std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
}

void print_to_stderr(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
}

namespace {

bool is_there(const std::string& path) {
    std::error_code error;
    return std::filesystem::exists(path, error);
}

}  // namespace

NewDirectoryNote::NewDirectoryNote(const Config& config)
    : data_dir_(config.data_dir), was_there_(is_there(data_dir_)) {}

NewDirectoryNote::~NewDirectoryNote() {
    if (!was_there_ && is_there(data_dir_)) {
        print_to_stderr("note: there was no data directory " + data_dir_ +
                        ", so this made one; that of a gateway elsewhere is named with "
                        "--data-dir\n");
    }
}

void print_error(const std::string& text) {
    print_to_stderr("sluice: " + text + "\n");
}

std::string describe_exchanges(const Config& config) {
    if (!config.replay.dir.empty()) {
        return "replaying " + config.replay.dir +
               ": no provider is asked, keys and spending are not real" +
               (config.faults.empty() ? ""
                                      : ", and calls fail as " + config.replay.faults + " says") +
               "\n";
    }
    if (config.record.dir.empty()) {
        return {};
    }
    return "recording is on: every exchange with a provider is written to " + config.record.dir +
           ", without keys but with what is searched for\n";
}

bool colours_wanted(const Environment& environment) {
    return isatty(STDOUT_FILENO) == 1 && !environment.get("NO_COLOR") &&
           environment.get("TERM").value_or("dumb") != "dumb";
}

}  // namespace sluice::app
