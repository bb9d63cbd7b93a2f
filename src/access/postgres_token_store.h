// Tokens in a PostgreSQL that replicas share.
#pragma once

#include "access/token_store.h"
#include "base/clock.h"
#include "base/random.h"
#include "io/postgres.h"
#include "io/postgres_schema.h"

#include <string>

namespace sluice::access {

// The tables that PostgresTokenStore expects.
io::PostgresSchema postgres_token_schema();

// Notified with every change of tokens.
inline constexpr const char* kTokenChannel = "sluice_tokens";

class PostgresTokenStore final : public TokenStore {
 public:
    // References outlive it; the database has the tables of postgres_token_schema(). `random` must
    // be thread-safe and good enough for secrets.
    PostgresTokenStore(io::PostgresClient& client, const Clock& clock, Random& random);

    Task<Result<IssuedToken>> add(NewToken token) override;
    Task<Result<std::optional<IssuedToken>>> add_first(NewToken token) override;
    Task<Result<TokenRecord>> revoke(std::string id) override;
    Task<Result<TokenSet>> load() override;
    Task<Result<StoreRevision>> revision() override;

 private:
    io::PostgresClient& client_;
    const Clock& clock_;
    Random& random_;
};

}  // namespace sluice::access
