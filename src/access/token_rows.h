// What the stores of tokens have in common, whichever database they are in: how a token becomes a
// row, and what they refuse in which words.
#pragma once

#include "access/token_store.h"
#include "access/tokens.h"
#include "base/hash.h"
#include "base/result.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice::access {

// Instants are stored as milliseconds since 1970.
std::int64_t to_stored(WallTime time);
std::optional<std::int64_t> to_stored(std::optional<WallTime> time);
WallTime from_stored(std::int64_t milliseconds);
std::optional<WallTime> from_stored(std::optional<std::int64_t> milliseconds);

std::string_view bytes_of(const Sha256& digest);

// As it is stored when it is added at `now`.
StoredToken to_stored_token(const NewToken& token, const TokenText& text, WallTime now);
IssuedToken to_issued(StoredToken stored, TokenText text);

// The scopes and the digest of a row. kUnavailable when they are not as this program writes them.
Status read_scopes_and_digest(std::string_view scopes, std::string_view digest, StoredToken& token);

// Tokens that were revoked before are forgotten when one is added at `now`.
std::int64_t forget_before(WallTime now);

// The id is not repeated: who mistakes it may have typed a whole token.
Error no_such_token();
Error too_many_tokens();

}  // namespace sluice::access
