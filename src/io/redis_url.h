// Where a Redis is and how to log in there.
#pragma once

#include "base/result.h"
#include "base/secret.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::io {

struct RedisEndpoint {
    bool tls = false;
    std::string host;  // a name or an address, without brackets
    std::uint16_t port = 6379;
    std::string user = {};  // empty: the default user
    Secret password = {};   // empty: no login
    std::uint32_t database = 0;
    // Of a sentinel: by which name it knows the server, whose login and database these are. Empty:
    // this is the server.
    std::string master = {};

    bool is_sentinel() const { return !master.empty(); }
    // "host:port", for messages.
    std::string name() const;
};

// A comma-separated list of redis://[user[:password]@]host[:port][/database], or rediss:// for TLS;
// or redis+sentinel://[user[:password]@]host[:port],.../master[/database], or rediss+sentinel://,
// whose hosts are the sentinels of that master. User and password are percent-encoded.
// kInvalidRequest says what is wrong with which of them, by
// its place in the list: it quotes nothing, since a password may stand anywhere in a malformed one.
Result<std::vector<RedisEndpoint>> parse_redis_urls(std::string_view text);

}  // namespace sluice::io
