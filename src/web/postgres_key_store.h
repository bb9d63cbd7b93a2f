// Keys in a PostgreSQL that replicas share, their secrets encrypted with a secrets key that all of
// them have.
#pragma once

#include "base/clock.h"
#include "base/random.h"
#include "io/postgres.h"
#include "io/postgres_schema.h"
#include "web/key_store.h"
#include "web/key_vault.h"

#include <memory>
#include <string>

namespace sluice::web {

// The tables that PostgresKeyStore expects.
io::PostgresSchema postgres_key_schema();

// Notified with every change of keys.
inline constexpr const char* kKeyChannel = "sluice_keys";

// Whether keys were ever encrypted in this database, so that a secrets key for it exists somewhere.
Task<Result<bool>> has_vault(io::PostgresSession& session);

class PostgresKeyStore final : public KeyStore {
 public:
    // References outlive it; the database has the tables of postgres_key_schema(). `random` must be
    // thread-safe and good enough for nonces.
    PostgresKeyStore(io::PostgresClient& client, KeyVault vault, const Clock& clock,
                     Random& random);

    Task<Status> unlock() override;
    Task<Result<KeyRecord>> add(NewKey key) override;
    Task<Result<std::size_t>> seed(std::vector<NewKey> keys) override;
    Task<Result<KeyRecord>> patch(std::string id, KeyPatch patch) override;
    Task<Status> remove(std::string id) override;
    Task<Result<KeySet>> load(std::uint64_t since) override;
    Task<Result<std::uint64_t>> revision() override;
    // A count is not lowered within its period, since other replicas count for the same key.
    Task<Status> save_usage(std::vector<KeyUsage> usage) override;

 private:
    io::PostgresClient& client_;
    // Shared with the jobs, which may outlive this object when the program shuts down.
    std::shared_ptr<const KeyVault> vault_;
    const Clock& clock_;
    Random& random_;
};

}  // namespace sluice::web
