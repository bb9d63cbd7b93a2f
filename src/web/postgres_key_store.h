// Keys in a PostgreSQL that replicas share, their secrets encrypted with a secrets key that all of
// them have.
#pragma once

#include "base/clock.h"
#include "base/random.h"
#include "io/postgres.h"
#include "io/postgres_schema.h"
#include "web/key_store.h"
#include "web/key_vault.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace sluice::web {

// The tables that PostgresKeyStore expects.
io::PostgresSchema postgres_key_schema();

// Notified with every change of keys.
inline constexpr const char* kKeyChannel = "sluice_keys";

// What keys are encrypted with. `needs_it`: the database holds keys that were encrypted with it, so
// that a new one would be the wrong one.
using VaultSource = std::function<Result<KeyVault>(bool needs_it)>;

class PostgresKeyStore final : public KeyStore {
 public:
    enum class Use : std::uint8_t { kChange, kRead };

    // References outlive it; by the time of unlock() the database has the tables of
    // postgres_key_schema(). With Use::kRead unlock() leaves a database without keys as it is.
    // `random` must be thread-safe and good enough for nonces.
    PostgresKeyStore(io::PostgresClient& client, VaultSource vault, Use use, const Clock& clock,
                     Random& random);

    // Asks the source, and may be called again after an error. Until it succeeded all others end
    // with kUnavailable.
    Task<Status> unlock() override;
    Task<Result<KeyRecord>> add(NewKey key) override;
    Task<Result<std::size_t>> seed(std::vector<NewKey> keys) override;
    Task<Result<KeyRecord>> patch(std::string id, KeyPatch patch) override;
    Task<Status> remove(std::string id) override;
    Task<Result<KeySet>> load(StoreRevision since) override;
    Task<Result<StoreRevision>> revision() override;
    // A count is not lowered within its period, since other replicas count for the same key.
    Task<Status> save_usage(std::vector<KeyUsage> usage) override;

 private:
    io::PostgresClient& client_;
    const VaultSource source_;
    const Use use_;
    // Null until it is unlocked. Shared with the jobs, which may outlive this object when the
    // program shuts down.
    std::shared_ptr<const KeyVault> vault_;
    const Clock& clock_;
    Random& random_;
};

}  // namespace sluice::web
