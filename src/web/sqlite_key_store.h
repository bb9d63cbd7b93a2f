// Keys in a SQLite file, their secrets encrypted: the store of a single gateway and of the commands
// beside it.
#pragma once

#include "base/clock.h"
#include "base/random.h"
#include "io/sqlite_store.h"
#include "web/key_store.h"
#include "web/key_vault.h"

#include <memory>
#include <string>

namespace sluice::web {

// The schema of the file that SqliteKeyStore expects.
io::SqliteSchema key_schema();

// Whether keys were ever encrypted in this file, so that a secrets key for it exists somewhere. For
// who opens it, before there is a store.
Result<bool> has_vault(io::SqliteConnection& db);

class SqliteKeyStore final : public KeyStore {
 public:
    // References outlive it; `store` was opened with key_schema(). `random` must be thread-safe and
    // good enough for nonces.
    SqliteKeyStore(io::SqliteStore& store, KeyVault vault, const Clock& clock, Random& random);

    Task<Status> unlock() override;
    Task<Result<KeyRecord>> add(NewKey key) override;
    Task<Result<std::size_t>> seed(std::vector<NewKey> keys) override;
    Task<Result<KeyRecord>> patch(std::string id, KeyPatch patch) override;
    Task<Status> remove(std::string id) override;
    Task<Result<KeySet>> load(StoreRevision since) override;
    Task<Result<StoreRevision>> revision() override;
    Task<Status> save_usage(std::vector<KeyUsage> usage) override;

 private:
    io::SqliteStore& store_;
    // Shared with the jobs, which may outlive this object when the program shuts down.
    std::shared_ptr<const KeyVault> vault_;
    const Clock& clock_;
    Random& random_;
};

}  // namespace sluice::web
