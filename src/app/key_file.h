// The file of provider keys in a data directory, the secrets key that keys are encrypted with,
// wherever they are, and the keys that come with a start.
#pragma once

#include "app/config.h"
#include "app/data_dir.h"
#include "base/environment.h"
#include "base/random.h"
#include "base/result.h"
#include "io/sqlite.h"
#include "web/key_store.h"
#include "web/key_vault.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::app {

// Where the keys of a data directory are, and the secrets key unless the settings say otherwise.
std::string keys_path(const std::string& data_dir);
std::string secrets_key_path(const std::string& data_dir);

struct KeyFile {
    io::SqliteConnection connection;
    web::KeyVault vault;
};

// The file that holds the secrets key, if others than its owner can read or write it.
std::optional<std::string> exposed_secrets_file(const Config& config);

// The secrets key. Where none is configured it is a file of the data directory, which is made (mode
// 0600, once, whoever comes first) unless `needs_it`: there are keys that were encrypted with it,
// in `place` ("the database"). StoreUse::kRead makes nothing, and takes one that opens nothing
// then. Errors: kInvalidRequest when the configured secrets key can't be used; kConflict when the
// one that the stored keys need is missing; kUnavailable.
Result<web::KeyVault> open_vault(const Config& config, const std::string& place, bool needs_it,
                                 const Environment& environment, Random& random, StoreUse use);

// Opens the file, or makes it, and the secrets key for it; StoreUse::kRead makes nothing. Errors as
// open_vault() has them, and kUnavailable. That it is the right secrets key is unlock()'s to find
// out.
Result<KeyFile> open_key_file(const Config& config, const Environment& environment, Random& random,
                              StoreUse use);

// Keys from the environment as the store takes them. kInvalidRequest, with the provider's name,
// when one is no key.
Result<std::vector<web::NewKey>> seeds_from(const Environment& environment);

// While recordings are played: an obvious one, which opens nothing, for each provider that `seeds`
// have none for.
void add_made_up_keys(const Config& config, std::vector<web::NewKey>& seeds);

}  // namespace sluice::app
