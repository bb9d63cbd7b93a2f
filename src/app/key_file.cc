#include "app/key_file.h"

#include "base/hash.h"
#include "base/secret.h"
#include "io/sqlite.h"
#include "web/key_vault.h"
#include "web/provider.h"
#include "web/sqlite_key_store.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
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

Error system_error(const std::string& path) {
    return refusal(Code::kUnavailable, "cannot make " + path + ": " + std::strerror(errno));
}

// Writes all of it to a new file that only its owner can read, and to the disk.
Status write_new_file(const std::string& path, std::string_view text) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                            S_IRUSR | S_IWUSR);
    if (file < 0) {
        return system_error(path);
    }
    const bool written =
        ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
        ::fsync(file) == 0;
    const int reason = errno;
    ::close(file);
    errno = reason;
    return written ? Status() : Status(system_error(path));
}

// Makes the file whole or not at all; of several that try at once the first one's stays.
Status make_secrets_file(const std::string& path, Random& random) {
    const std::string draft = path + "." + std::to_string(::getpid()) + ".new";
    const Secret digits = web::make_secrets_key(random);
    const Secret text(std::string(digits.reveal()) + "\n");
    TRY_STATUS(write_new_file(draft, text.reveal()));
    const bool linked = ::link(draft.c_str(), path.c_str()) == 0 || errno == EEXIST;
    const int reason = errno;
    ::unlink(draft.c_str());
    errno = reason;
    return linked ? Status() : Status(system_error(path));
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

Result<Secret> own_secrets_key(const std::string& data_dir, bool keys_need_one,
                               const Environment& environment, Random& random, StoreUse use) {
    const std::string path = secrets_key_path(data_dir);
    Result<Secret> text = read_secrets_file(path, environment);
    if (text.ok() || text.error().code != Code::kNotFound) {
        return text;
    }
    if (keys_need_one) {
        return refusal(Code::kConflict,
                       keys_path(data_dir) + " holds keys that were encrypted with " + path +
                           ", which is not there; put it back, or move " + keys_path(data_dir) +
                           " away to begin without those keys");
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

Result<KeyFile> open_key_file(const Config& config, const Environment& environment,
                              const Clock& clock, Random& random, obs::Metrics& metrics,
                              StoreUse use) {
    const std::string dir = state_dir(config);
    io::SqliteOptions options;
    options.synchronous = io::SqliteOptions::Synchronous::kFull;
    TRY(auto connection, open_store(keys_path(dir), web::key_schema(), use, options));
    TRY(const bool keys_need_one, web::has_vault(connection));
    if (use == StoreUse::kRead && !keys_need_one) {
        // Nothing is in it, and it can't be told which secrets key it belongs to.
        TRY(connection, io::SqliteConnection::open_in_memory(web::key_schema()));
    }
    const std::string& setting = config.secrets.key;
    TRY(const Secret text, setting.empty()
                               ? own_secrets_key(dir, keys_need_one, environment, random, use)
                               : configured_secrets_key(setting, environment));
    auto vault = web::KeyVault::from_text(text.reveal());
    if (!vault.ok()) {
        const std::string where = setting.empty() ? secrets_key_path(dir) : setting;
        return refusal(Code::kInvalidRequest, where + ": " + vault.error().message);
    }
    KeyFile opened;
    opened.file = std::make_unique<io::SqliteStore>("keys", std::move(connection), metrics);
    opened.store =
        std::make_unique<web::SqliteKeyStore>(*opened.file, *std::move(vault), clock, random);
    return opened;
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
