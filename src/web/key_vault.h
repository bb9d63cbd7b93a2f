// Encryption of provider keys at rest (libsodium's secretbox), and the keyed hash by which a key is
// recognised without its text. Both come from one secrets key, which is in a file or in the
// environment and never in the database.
#pragma once

#include "base/hash.h"
#include "base/random.h"
#include "base/result.h"
#include "base/secret.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::web {

inline constexpr std::size_t kSecretsKeyDigits = 64;  // hexadecimal: 32 bytes

// Copyable; thread-safe. Its own keys are wiped when it goes.
class KeyVault {
 public:
    // Of a secrets key as it stands in its file; white space around it does not count.
    // kInvalidRequest, without quoting it, when it is not kSecretsKeyDigits hexadecimal digits.
    static Result<KeyVault> from_text(std::string_view text);

    // Names the secrets key and gives nothing of it away.
    const std::string& key_id() const { return key_id_; }

    // `purpose` must be the same for both: what is sealed for one row does not open in another.
    // Every call takes a nonce of its own from `random`.
    std::string seal(const Secret& text, std::string_view purpose, Random& random) const;
    // kConflict when it was sealed with another key or for something else, or was changed.
    Result<Secret> open(std::string_view sealed, std::string_view purpose) const;

    // The same for the same provider and secret; without the secrets key nobody can tell a guess.
    Sha256 digest(std::string_view provider, const Secret& secret) const;

 private:
    KeyVault() = default;
    Secret box_key_;   // 32 bytes
    Secret hash_key_;  // 32 bytes
    std::string key_id_;
};

// A new secrets key as it stands in its file.
Secret make_secrets_key(Random& random);

}  // namespace sluice::web
