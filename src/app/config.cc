#include "app/config.h"

#include "app/data_dir.h"
#include "app/key_file.h"
#include "base/text.h"
#include "io/tls.h"
#include "web/provider.h"

#include <chrono>
#include <filesystem>
#include <system_error>

namespace sluice::app {

using namespace std::chrono_literals;

namespace {

constexpr std::string_view kDefaultFile = "sluice.toml";
constexpr std::size_t kMaxFileBytes = 1024 * 1024;

// The file that was named must be there; the default one may be absent.
void add_file(ConfigLayers& layers, const ConfigSources& sources, const Environment& environment,
              LoadedConfig& loaded) {
    const std::string path = sources.file.value_or(std::string(kDefaultFile));
    Result<std::string> text = environment.read_file(path, kMaxFileBytes);
    if (text.ok()) {
        loaded.file = path;
        layers.add_file(path, *text);
        return;
    }
    if (sources.file || text.error().code != Code::kNotFound) {
        loaded.errors.push_back({path, "", text.error().message});
    }
}

// Files that settings name must be there when they are named, not when they are first needed.
void check_files(const Config& config, const Environment& environment, ConfigReader& in) {
    const auto check = [&](std::string_view section, std::string_view key,
                           const std::string& path) {
        if (path.empty()) {
            return false;
        }
        const Result<std::string> text = environment.read_file(path, kMaxFileBytes);
        if (!text.ok()) {
            in.section(section).fail(key, text.error().message);
        }
        return text.ok();
    };
    check("server", "tls_certificate_file", config.server.tls_certificate_file);
    check("server", "tls_key_file", config.server.tls_key_file);
    // With a file that says of nobody that it is to be trusted, every call would fail.
    if (check("upstream", "ca_file", config.upstream.ca_file)) {
        const auto trusted = io::TlsContext::load_client(config.upstream.ca_file);
        if (!trusted.ok()) {
            in.section("upstream").fail("ca_file", trusted.error().message);
        }
    }
}

// Databases that are there for something else.
void check_budget_file(const Config& config, ConfigReader& in) {
    if (config.titles.budget_file.empty()) {
        return;
    }
    const auto whole = [](const std::string& path) {
        std::error_code error;
        const auto from_root = std::filesystem::absolute(path, error);
        return std::filesystem::weakly_canonical(from_root, error);
    };
    const std::string& dir = config.data_dir;
    for (const std::string& path : {pages_path(dir), tokens_path(dir), usage_path(dir),
                                    keys_path(dir), secrets_key_path(dir)}) {
        if (whole(config.titles.budget_file) == whole(path)) {
            in.section("titles").fail(
                "budget_file", "expected a file of its own, since " + path +
                                   " is for something else; leave it out for search-budget.db in "
                                   "data_dir");
        }
    }
}

std::string without_trailing_slash(const std::filesystem::path& folder) {
    const std::filesystem::path path = folder.lexically_normal();
    return path.has_filename() ? path.string() : path.parent_path().string();
}

// What was expected in place of a `url` of another database than PostgreSQL; empty when it is
// right.
std::string mistake_in_file_url(std::string_view url, const std::string& data_dir) {
    const std::size_t colon = url.find(':');
    const std::string_view scheme = url.substr(0, colon);
    if (url.empty() || url == "sqlite:") {
        return {};
    }
    if (colon == std::string_view::npos || (scheme != "sqlite" && scheme != "sqlite+aiosqlite")) {
        return "expected sqlite:, which keeps everything in data_dir, or "
               "postgresql://user:password@host/database";
    }
    constexpr std::string_view kBeforePath = ":///";
    std::string_view path = url.substr(colon);
    path = path.substr(0, path.find('?'));
    if (!path.starts_with(kBeforePath) || path.size() == kBeforePath.size()) {
        return "expected sqlite:///PATH, with a fourth slash before an absolute path";
    }
    const std::filesystem::path file(path.substr(kBeforePath.size()));
    if (without_trailing_slash(file.parent_path()) != without_trailing_slash(data_dir)) {
        return "expected a file in data_dir, which is " + data_dir + "; set data_dir to " +
               (file.has_parent_path() ? file.parent_path().string() : ".");
    }
    return {};
}

// The script is part of the configuration: its mistakes are told with the others.
void add_faults(LoadedConfig& loaded, const Environment& environment) {
    const std::string& path = loaded.config.replay.faults;
    if (path.empty()) {
        return;
    }
    const Result<std::string> text = environment.read_file(path, kMaxFileBytes);
    if (text.ok()) {
        loaded.config.faults =
            io::read_fault_script(path, *text, web::provider_names(), loaded.errors);
    } else {
        loaded.errors.push_back({path, "replay.faults", text.error().message});
    }
}

constexpr std::string_view kVariablePrefix = "env:";

// Whether the setting says where the secrets key is. Otherwise it is likely to be the key, which no
// message repeats: that has no dot, and where it is base64 with a slash it ends in "=".
bool names_a_place(std::string_view text) {
    return text.empty() || text.starts_with(kVariablePrefix) ||
           (text.find_first_of("./") != std::string_view::npos && !text.ends_with('='));
}

void hide_secrets_key(LoadedConfig& loaded) {
    if (names_a_place(loaded.config.secrets.key)) {
        return;
    }
    for (EffectiveSetting& setting : loaded.settings) {
        if (setting.path == "secrets.key") {
            setting.value = "\"(not shown)\"";
        }
    }
}

}  // namespace

SecretsConfig SecretsConfig::read(ConfigReader in) {
    SecretsConfig c;
    in.text({"key",
             "what provider keys are encrypted with: a file, or env:NAME; empty: secrets.key "
             "in the data directory, made at the first start"},
            c.key);
    if (c.key == kVariablePrefix) {
        in.fail("key", "expected the name of a variable after env:");
    } else if (!names_a_place(c.key)) {
        in.fail("key",
                "expected the path of a file, ./NAME for one in this folder, or env:NAME; the key "
                "itself belongs into the file");
    }
    return c;
}

DatabaseConfig DatabaseConfig::read(ConfigReader in, const std::string& data_dir) {
    DatabaseConfig c;
    Secret url;
    in.secret({"url",
               "where keys, tokens and spending are kept: "
               "postgresql://user:password@host/database, which "
               "replicas share; empty or sqlite:, files of data_dir (sqlite:///PATH must name "
               "one there)",
               "GATEWAY_DATABASE_URL"},
              url);
    in.duration({"timeout_s", "one statement of PostgreSQL, or making a connection to it"},
                c.postgres.timeout, 50ms, 60s);
    if (!io::is_postgres_url(url.reveal())) {
        const std::string mistake = mistake_in_file_url(url.reveal(), data_dir);
        if (!mistake.empty()) {
            in.fail("url", mistake);
        }
        return c;
    }
    Result<io::PostgresTarget> target = io::parse_postgres_url(url.reveal());
    if (target.ok()) {
        c.postgres.target = *std::move(target);
    } else {
        in.fail("url", target.error().message);
    }
    return c;
}

Config Config::read(ConfigReader& in) {
    Config c;
    in.text({"data_dir", "where everything durable lives"}, c.data_dir);
    ConfigReader log = in.section("log");
    log.choice({"level", "the least important lines that are written", "LOG_LEVEL", false},
               c.log_level,
               {{"debug", obs::Level::kDebug},
                {"info", obs::Level::kInfo},
                {"warn", obs::Level::kWarn},
                {"error", obs::Level::kError}});
    ConfigReader server = in.section("server");
    c.server = io::HttpServerConfig::read(server);
    ConfigReader upstream = in.section("upstream");
    c.upstream = io::HttpClientConfig::read(upstream);
    c.record = io::RecordConfig::read(in.section("record"));
    c.replay = io::ReplayConfig::read(in.section("replay"));
    if (!c.record.dir.empty() && !c.replay.dir.empty()) {
        in.section("record").fail("dir", "can't be set together with replay.dir");
    }
    c.access = access::AccessConfig::read(in);
    c.web = web::WebConfig::read(in);
    c.titles = titles::TitlesConfig::read(in.section("titles"));
    c.budgets = access::BudgetConfig::read(in, web::provider_names());
    c.secrets = SecretsConfig::read(in.section("secrets"));
    c.database = DatabaseConfig::read(in.section("database"), c.data_dir);
    c.redis = io::RedisConfig::read(in.section("redis"));
    check_budget_file(c, in);
    if (c.data_dir.empty()) {
        in.fail("data_dir", "expected the path of a directory");
    }
    return c;
}

LoadedConfig load_config(const ConfigSources& sources, const Environment& environment) {
    LoadedConfig loaded;
    ConfigLayers layers;
    add_file(layers, sources, environment, loaded);
    layers.add_environment(environment);
    for (const ConfigSources::Override& value : sources.overrides) {
        layers.add_override(value.path, value.value, value.flag);
    }
    ConfigReader reader(layers);
    loaded.config = Config::read(reader);
    check_files(loaded.config, environment, reader);
    layers.finish();
    loaded.errors.insert(loaded.errors.end(), layers.errors().begin(), layers.errors().end());
    add_faults(loaded, environment);
    loaded.settings = layers.settings();
    hide_secrets_key(loaded);
    return loaded;
}

std::string state_dir(const Config& config) {
    return config.replay.dir.empty() ? config.data_dir : config.data_dir + "/replay";
}

Error unusable_setting(std::string_view setting, const Error& reason) {
    return Error{
        Code::kInvalidRequest, Blame::kCaller, std::string(setting) + ": " + reason.message, {}};
}

std::string search_budget_path(const Config& config) {
    return config.titles.budget_file.empty() ? state_dir(config) + "/search-budget.db"
                                             : config.titles.budget_file;
}

std::string format_errors(const std::vector<ConfigError>& errors) {
    std::string text;
    for (const ConfigError& error : errors) {
        text += error.where;
        if (!error.key.empty()) {
            text += ": " + error.key;
        }
        text += ": " + error.message + "\n";
    }
    return text;
}

std::vector<std::pair<std::string, Secret>> keys_from_environment(const Environment& environment) {
    std::vector<std::pair<std::string, Secret>> keys;
    for (const web::Provider* provider : web::all_providers()) {
        const web::ProviderSpec& spec = provider->spec();
        for (std::string_view variable : {spec.keys_variable, spec.key_variable}) {
            const auto value = environment.get(std::string(variable));
            if (!value) {
                continue;
            }
            for (std::string_view key : split_list(*value)) {
                keys.emplace_back(spec.name, Secret(std::string(key)));
            }
        }
    }
    return keys;
}

}  // namespace sluice::app
