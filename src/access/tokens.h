// API tokens: what they may do, how they are written, and the table that verifies them.
//
// A token reads slc_<id>_<secret>: a prefix to search for in leaked files, an id of 8 characters
// that lists and logs may show, and a secret of 43 characters with 256 random bits. Stored is the
// SHA-256 of the secret; a slow hash would add nothing to that many bits.
#pragma once

#include "access/spending.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/published.h"
#include "base/random.h"
#include "base/secret.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::access {

enum class Scope : std::uint8_t { kSearch, kStatus, kAdmin };

// "search", "status", "admin".
std::string_view to_string(Scope scope);

// A set of scopes. kAdmin implies all others.
class Scopes {
 public:
    constexpr Scopes() = default;
    constexpr Scopes(std::initializer_list<Scope> scopes) {
        for (const Scope scope : scopes) {
            bits_ |= bit(scope);
        }
    }

    // "search,status", in any order; nothing when a word is unknown or there is none.
    static std::optional<Scopes> parse(std::string_view list);
    // The words of the set in order of declaration: "search,status".
    std::string to_string() const;

    constexpr bool allows(Scope scope) const {
        return (bits_ & (bit(scope) | bit(Scope::kAdmin))) != 0;
    }
    constexpr bool empty() const { return bits_ == 0; }
    constexpr bool operator==(const Scopes&) const = default;

 private:
    static constexpr std::uint8_t bit(Scope scope) {
        return static_cast<std::uint8_t>(1U << static_cast<unsigned>(scope));
    }
    std::uint8_t bits_ = 0;
};

// What is known about a token, without anything that could be used as one.
struct TokenRecord {
    std::string id;
    std::string label;
    Scopes scopes;
    WallTime created_at{};
    std::optional<WallTime> expires_at = {};
    std::optional<std::int64_t> requests_per_minute = {};  // 0: no limit; unset: the setting's
    OwnLimits budget = {};
    std::string last4;  // of the secret
    std::optional<WallTime> revoked_at = {};

    bool operator==(const TokenRecord&) const = default;
};

// A record with the hash that its token is checked against. Stays inside the gateway.
struct StoredToken {
    TokenRecord record;
    Sha256 digest{};  // of the secret part
};

// A new token's text in its parts. `token` is shown once and kept nowhere.
struct TokenText {
    std::string id;
    Secret token;  // the whole text
    std::string last4;
    Sha256 digest{};  // of its secret part
};
TokenText make_token_text(Random& random);

// The parts of a text that has the form of a token.
struct TokenParts {
    std::string_view id;
    std::string_view secret;
};
std::optional<TokenParts> parse_token(std::string_view text);

enum class TokenRefusal : std::uint8_t {
    kUnknown,  // no such token, or not of the form of one
    kExpired,
    kRevoked,
};

// Either a record, valid as long as this object, or why there is none.
struct TokenVerdict {
    std::shared_ptr<const TokenRecord> record = {};
    TokenRefusal refusal = TokenRefusal::kUnknown;  // when there is no record
};

// Every token in memory, for verification on any core. Thread-safe: readers share an immutable
// snapshot, and reload() replaces it as a whole.
class TokenTable {
 public:
    TokenTable();
    ~TokenTable();
    TokenTable(const TokenTable&) = delete;
    TokenTable& operator=(const TokenTable&) = delete;

    // Compares in constant time. Only who holds the right secret learns that a token is expired or
    // revoked; everything else is kUnknown, and takes the same work.
    TokenVerdict verify(std::string_view token, WallTime now) const;

    // Until the next reload() nobody knows which tokens there are: a store could not be read at the
    // start. A table begins as one that is known, and empty.
    void set_unknown() { is_known_.store(false, std::memory_order_release); }
    bool is_known() const { return is_known_.load(std::memory_order_acquire); }

    void reload(std::vector<StoredToken> tokens);

    // Whether any token is not revoked. Expired ones count: what is closed while tokens exist must
    // not open by the passing of time.
    bool any_active() const { return any_active_.load(std::memory_order_acquire); }
    // How many are not revoked.
    std::size_t active() const;

 private:
    struct Snapshot;
    Published<Snapshot> snapshot_;
    std::atomic<bool> any_active_{false};
    std::atomic<bool> is_known_{true};
};

}  // namespace sluice::access
