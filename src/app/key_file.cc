#include "app/key_file.h"

#include "base/hash.h"
#include "base/secret.h"
#include "io/files.h"
#include "io/sqlite.h"
#include "web/key_vault.h"
#include "web/provider.h"
#include "web/sqlite_key_store.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <sys/stat.h>
#include <utility>

namespace sluice::app {

namespace {

// Of a file with a secrets key: its digits and some white space.
constexpr std::size_t kMaxSecretsFileBytes = 1024;
// Of Google's made-up key: what a recording has to name that is written by hand.
constexpr std::string_view kMadeUpEngine = "replay-engine";
constexpr std::string_view kEnvironmentPrefix = "env:";

Error refusal(Code code, std::string message) {
    return Error{code,
                 code == Code::kUnavailable ? Blame::kGateway : Blame::kCaller,
                 std::move(message),
                 {}};
}

Status make_secrets_file(const std::string& path, Random& random) {
    const Secret digits = web::make_secrets_key(random);
    const Secret text(std::string(digits.reveal()) + "\n");
    return io::make_file_once(path, text.reveal());
}

Result<Secret> read_secrets_file(const std::string& path, const Environment& environment) {
    struct stat info{};
    if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
        // Reading a pipe would wait for somebody to write.
        return refusal(Code::kInvalidRequest, "cannot read " + path + ": it is no regular file");
    }
    TRY(std::string text, environment.read_file(path, kMaxSecretsFileBytes));
    return Secret(std::move(text));
}

Result<Secret> configured_secrets_key(const std::string& setting, const Environment& environment) {
    if (setting.starts_with(kEnvironmentPrefix)) {
        const std::string name = setting.substr(kEnvironmentPrefix.size());
        std::optional<std::string> text = environment.get(name);
        if (!text) {
            return refusal(Code::kInvalidRequest,
                           "secrets.key: the environment has no variable " + name);
        }
        return Secret(*std::move(text));
    }
    Result<Secret> text = read_secrets_file(setting, environment);
    if (!text.ok()) {
        return refusal(Code::kInvalidRequest,
                       "secrets.key: " + text.error().message +
                           "; `openssl rand -hex 32` makes one for a new installation");
    }
    return text;
}

Result<Secret> own_secrets_key(const std::string& data_dir, const std::string& place, bool needs_it,
                               const Environment& environment, Random& random, StoreUse use) {
    const std::string path = secrets_key_path(data_dir);
    Result<Secret> text = read_secrets_file(path, environment);
    if (text.ok() || text.error().code != Code::kNotFound) {
        return text;
    }
    if (needs_it) {
        const bool is_file = place == keys_path(data_dir);
        return refusal(
            Code::kConflict,
            is_file ? place + " holds keys that were encrypted with " + path +
                          ", which is not there; put it back, or move " + place +
                          " away to begin without those keys"
                    : place + " holds keys that were encrypted with a secrets key, and " + path +
                          " is not there; copy it from another replica or from a "
                          "backup, or set secrets.key");
    }
    if (use == StoreUse::kRead) {
        return web::make_secrets_key(random);
    }
    TRY_STATUS(make_secrets_file(path, random));
    return read_secrets_file(path, environment);
}

}  // namespace

std::string keys_path(const std::string& data_dir) {
    return data_dir + "/keys.db";
}

std::string secrets_key_path(const std::string& data_dir) {
    return data_dir + "/secrets.key";
}

std::optional<std::string> exposed_secrets_file(const Config& config) {
    const std::string& setting = config.secrets.key;
    if (setting.starts_with(kEnvironmentPrefix)) {
        return std::nullopt;
    }
    std::string path = setting.empty() ? secrets_key_path(config.data_dir) : setting;
    struct stat info{};
    const bool exposed =
        ::stat(path.c_str(), &info) == 0 && (info.st_mode & (S_IRWXG | S_IRWXO)) != 0;
    return exposed ? std::optional(std::move(path)) : std::nullopt;
}

Result<web::KeyVault> open_vault(const Config& config, const std::string& place, bool needs_it,
                                 const Environment& environment, Random& random, StoreUse use) {
    const std::string dir = state_dir(config);
    const std::string& setting = config.secrets.key;
    TRY(const Secret text, setting.empty()
                               ? own_secrets_key(dir, place, needs_it, environment, random, use)
                               : configured_secrets_key(setting, environment));
    auto vault = web::KeyVault::from_text(text.reveal());
    if (!vault.ok()) {
        const std::string where =
            setting.empty() ? secrets_key_path(dir) : "secrets.key: " + setting;
        return refusal(Code::kInvalidRequest, where + ": " + vault.error().message);
    }
    return vault;
}

Result<KeyFile> open_key_file(const Config& config, const Environment& environment, Random& random,
                              StoreUse use) {
    const std::string path = keys_path(state_dir(config));
    io::SqliteOptions options;
    options.synchronous = io::SqliteOptions::Synchronous::kFull;
    TRY(auto connection, open_store(path, web::key_schema(), use, options));
    TRY(const bool needs_it, web::has_vault(connection));
    if (use == StoreUse::kRead && !needs_it) {
        // Nothing is in it, and it can't be told which secrets key it belongs to.
        TRY(connection, io::SqliteConnection::open_in_memory(web::key_schema()));
    }
    TRY(auto vault, open_vault(config, path, needs_it, environment, random, use));
    return KeyFile{std::move(connection), std::move(vault)};
}

Result<std::vector<web::NewKey>> seeds_from(const Environment& environment) {
    std::vector<web::NewKey> seeds;
    for (auto& [provider, secret] : keys_from_environment(environment)) {
        web::NewKey key;
        key.provider = provider;
        key.secret = std::move(secret);
        const Status valid = validate(key);
        if (!valid.ok()) {
            return refusal(Code::kInvalidRequest,
                           "a key of " + provider +
                               " in the environment can't be one: " + valid.error().message);
        }
        seeds.push_back(std::move(key));
    }
    return seeds;
}

void add_made_up_keys(const Config& config, std::vector<web::NewKey>& seeds) {
    for (const std::string_view provider : web::provider_names()) {
        const bool has_one = std::any_of(seeds.begin(), seeds.end(), [&](const web::NewKey& key) {
            return key.provider == provider;
        });
        if (has_one) {
            continue;
        }
        web::NewKey key;
        key.provider = provider;
        // No words: parts of a key are hidden wherever they are shown.
        key.secret = Secret(to_hex(sha256("made up for " + key.provider)).substr(0, 32));
        key.label = "made up for --replay";
        const web::ProviderSpec& spec = web::find_provider(provider)->spec();
        if (spec.needs_engine && config.web.provider(provider).engine_id.empty()) {
            key.engine_id = kMadeUpEngine;
        }
        seeds.push_back(std::move(key));
    }
}

}  // namespace sluice::app
