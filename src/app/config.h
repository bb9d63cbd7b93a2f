// The whole configuration: every mechanism's settings, read from file, environment and command
// line.
#pragma once

#include "access/access.h"
#include "access/budget_config.h"
#include "base/config_reader.h"
#include "base/environment.h"
#include "base/secret.h"
#include "io/exchange_writer.h"
#include "io/fault_script.h"
#include "io/http_client.h"
#include "io/http_server.h"
#include "io/postgres.h"
#include "io/redis.h"
#include "io/replay_http_client.h"
#include "obs/log.h"
#include "titles/config.h"
#include "web/config.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::app {

struct SecretsConfig {
    std::string key = {};  // a path, "env:NAME", or empty: secrets.key in the data directory

    static SecretsConfig read(ConfigReader in);  // the section "secrets"
};

struct DatabaseConfig {
    io::PostgresConfig postgres = {};  // not enabled: everything is in files of the data directory

    // The section "database". What is kept in files has names of its own, so of a sqlite URL only
    // the folder counts, and it must be `data_dir`.
    static DatabaseConfig read(ConfigReader in, const std::string& data_dir);
};

struct Config {
    std::string data_dir = "./sluice-data";
    obs::Level log_level = obs::Level::kInfo;
    io::HttpServerConfig server;
    io::HttpClientConfig upstream;
    io::RecordConfig record;
    io::ReplayConfig replay;
    io::FaultScript faults;  // of the file that replay.faults names
    access::AccessConfig access;
    access::BudgetConfig budgets;
    web::WebConfig web;
    titles::TitlesConfig titles;
    SecretsConfig secrets;
    DatabaseConfig database;
    io::RedisConfig redis;

    static Config read(ConfigReader& in);  // from the top of the file
};

// What a command line gives: where the file is, and values that win over everything.
struct ConfigSources {
    std::optional<std::string> file;  // --config; without it ./sluice.toml if that exists
    struct Override {
        std::string path;  // "server.listen"
        std::string value;
        std::string flag;  // "--listen"
    };
    std::vector<Override> overrides;
};

struct LoadedConfig {
    Config config;
    std::vector<ConfigError> errors;         // empty: the configuration is good
    std::vector<EffectiveSetting> settings;  // what is in force and where it came from
    std::string file;                        // the file that was read, or empty
};

// Reads every layer. Mistakes are in `errors`, all of them at once, and leave the defaults in
// `config`.
LoadedConfig load_config(const ConfigSources& sources, const Environment& environment);

// The errors as people read them, one a line, each with where, key and what was expected.
std::string format_errors(const std::vector<ConfigError>& errors);

// Where keys and what was spent are kept: in the data directory, or while recordings are played in
// a folder "replay" of its own there, since neither is real then.
std::string state_dir(const Config& config);

// `reason` is why what `setting` names can't be used: an error that begins with the setting's name,
// and with which `sluice serve` ends as with any mistake in its configuration.
Error unusable_setting(std::string_view setting, const Error& reason);

// Where searches among titles are counted.
std::string search_budget_path(const Config& config);

// Keys from the environment: (provider, secret), in the order of web::all_providers() and, of each,
// of its variables. A list in a variable has commas. The same key may come twice.
std::vector<std::pair<std::string, Secret>> keys_from_environment(const Environment& environment);

}  // namespace sluice::app
