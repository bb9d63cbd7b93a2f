// Where tokens are kept. One interface, so that replicas can share a server database later; every
// implementation passes tests/unit/access/token_store_conformance.h.
#pragma once

#include "access/tokens.h"
#include "base/result.h"
#include "base/store_revision.h"
#include "base/task.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::access {

inline constexpr std::size_t kMaxTokens = 10'000;  // kept, revoked ones included
inline constexpr std::size_t kMaxTokenLabelBytes = 100;
inline constexpr std::int64_t kMaxRequestsPerMinute = 1'000'000;

struct NewToken {
    std::string label;                        // UTF-8, at most kMaxTokenLabelBytes; may be empty
    Scopes scopes;                            // not empty
    std::optional<WallTime> expires_at = {};  // in the future
    std::optional<std::int64_t> requests_per_minute = {};  // 0 to kMaxRequestsPerMinute
    OwnLimits budget = {};                                 // 0 to kMaxBudgetCalls and kMaxBudgetUsd
};

struct IssuedToken {
    TokenRecord record;
    Secret token;  // the whole text; this is the only time that anybody sees it
};

// Every token at one moment, and the revision of that moment.
struct TokenSet {
    StoreRevision revision = {};
    std::vector<StoredToken> tokens;  // in order of creation
};

// Called on any executor; each call resumes on its caller's. Errors beside those named: those of
// the database (io/sqlite.h) and of its queue (kOverloaded).
class TokenStore {
 public:
    virtual ~TokenStore() = default;

    // kInvalidRequest when a field is out of its limits, kConflict at kMaxTokens. Forgets tokens
    // that were revoked more than kForgetRevokedAfter ago.
    virtual Task<Result<IssuedToken>> add(NewToken token) = 0;

    // The same, but nothing is made and nothing returned when a token that is not revoked exists.
    // Of several processes that call it at once exactly one gets a token.
    virtual Task<Result<std::optional<IssuedToken>>> add_first(NewToken token) = 0;

    // The record as it is afterwards; a token that was revoked before keeps its first time.
    // kNotFound.
    virtual Task<Result<TokenRecord>> revoke(std::string id) = 0;

    virtual Task<Result<TokenSet>> load() = 0;

    // Changes with every add and revoke, whichever process made it.
    virtual Task<Result<StoreRevision>> revision() = 0;
};

inline constexpr std::chrono::hours kForgetRevokedAfter{90 * 24};

// What every implementation of add() checks first.
Status validate(const NewToken& token, WallTime now);

}  // namespace sluice::access
