// Where a PostgreSQL is, how to log in there and what its certificate has to prove.
#pragma once

#include "base/result.h"
#include "base/secret.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::io {

struct PostgresTarget {
    struct Host {
        std::string name;  // a name, an address, or the folder of a Unix socket
        std::uint16_t port = 5432;

        bool is_unix_socket() const { return name.starts_with('/'); }
    };

    std::vector<Host> hosts = {};  // at least one; the first that takes writes is used
    std::string user = {};         // empty: the name of the system's user
    Secret password = {};
    std::string database = {};          // empty: that of the user's name
    std::string ssl_mode = "prefer";    // as libpq names them, up to "verify-full"
    std::string root_certificate = {};  // empty: what the system trusts
    std::string certificate = {};       // of ours; empty: none
    std::string certificate_key = {};

    // "host:port" of the first, for messages.
    std::string name() const;
};

// Whether `url` means PostgreSQL at all: postgresql://, postgres://, or one of these with a
// driver's name as SQLAlchemy has it (postgresql+asyncpg://).
bool is_postgres_url(std::string_view url);

// postgresql://[user[:password]@]host[:port][,...][/database][?sslmode=...], percent-encoded.
// kInvalidRequest says what is wrong; it quotes nothing, since a password may stand anywhere in a
// malformed one.
Result<PostgresTarget> parse_postgres_url(std::string_view url);

}  // namespace sluice::io
