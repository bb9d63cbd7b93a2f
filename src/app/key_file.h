// The store of provider keys in a data directory, opened with the secrets key that it is encrypted
// with. For the gateway and for commands that find none running.
#pragma once

#include "app/config.h"
#include "app/stores.h"
#include "base/clock.h"
#include "base/environment.h"
#include "base/random.h"
#include "base/result.h"
#include "io/sqlite_store.h"
#include "obs/metrics.h"
#include "web/key_store.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::app {

// Where the keys of a data directory are, and the secrets key unless the settings say otherwise.
std::string keys_path(const std::string& data_dir);
std::string secrets_key_path(const std::string& data_dir);

// Members are in dependency order.
struct KeyFile {
    std::unique_ptr<io::SqliteStore> file;
    std::unique_ptr<web::KeyStore> store;
};

// The file that holds the secrets key, if others than its owner can read or write it.
std::optional<std::string> exposed_secrets_file(const Config& config);

// Opens the file, or makes it; StoreUse::kRead makes nothing, neither it nor a secrets key. In a
// data directory without keys a secrets key is made, too (mode
// 0600, once, whoever comes first), if none is configured. References outlive the result. Errors:
// kInvalidRequest when the configured secrets key can't be used; kConflict when the one that the
// stored keys need is missing; kUnavailable. That it is the right one is unlock()'s to find out.
Result<KeyFile> open_key_file(const Config& config, const Environment& environment,
                              const Clock& clock, Random& random, obs::Metrics& metrics,
                              StoreUse use);

// Keys from the environment as the store takes them. kInvalidRequest, with the provider's name,
// when one is no key.
Result<std::vector<web::NewKey>> seeds_from(const Environment& environment);

// While recordings are played: an obvious one, which opens nothing, for each provider that `seeds`
// have none for.
void add_made_up_keys(const Config& config, std::vector<web::NewKey>& seeds);

}  // namespace sluice::app
