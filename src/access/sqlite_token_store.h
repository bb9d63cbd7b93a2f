// Tokens in a SQLite file: the store of a single gateway and of the commands beside it.
#pragma once

#include "access/token_store.h"
#include "base/clock.h"
#include "base/random.h"
#include "io/sqlite_store.h"

#include <string>

namespace sluice::access {

// The schema of the file that SqliteTokenStore expects.
io::SqliteSchema token_schema();

class SqliteTokenStore final : public TokenStore {
 public:
    // References outlive it; `store` was opened with token_schema(). `random` must be thread-safe
    // and good enough for secrets.
    SqliteTokenStore(io::SqliteStore& store, const Clock& clock, Random& random);

    Task<Result<IssuedToken>> add(NewToken token) override;
    Task<Result<std::optional<IssuedToken>>> add_first(NewToken token) override;
    Task<Result<TokenRecord>> revoke(std::string id) override;
    Task<Result<TokenSet>> load() override;
    Task<Result<StoreRevision>> revision() override;

 private:
    io::SqliteStore& store_;
    const Clock& clock_;
    Random& random_;
};

}  // namespace sluice::access
