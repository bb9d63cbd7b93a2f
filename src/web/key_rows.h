// What the stores of keys have in common, whichever database they are in: how a key becomes a row,
// and what they refuse in which words.
#pragma once

#include "base/hash.h"
#include "base/random.h"
#include "base/result.h"
#include "web/key_store.h"
#include "web/key_types.h"
#include "web/key_vault.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::web {

// Instants are stored as milliseconds since 1970.
std::int64_t to_stored(WallTime time);
WallTime from_stored(std::int64_t milliseconds);

std::string_view bytes_of(const Sha256& digest);

KeyState stored_state(std::string_view word);

// A quota as two columns, both empty without one. The period is text as web/key_types.h writes it.
struct StoredQuota {
    std::optional<std::int64_t> limit = {};
    std::optional<std::string> per = {};
};
StoredQuota to_stored(const std::optional<KeyQuota>& quota);

// The record of a key that is added at `now`. Its id follows from the digest.
KeyRecord record_of(const NewKey& key, const Sha256& digest, WallTime now);
void apply_patch(KeyRecord& record, const KeyPatch& patch);

// The id is not repeated: who mistakes it may have typed a whole key.
Error no_such_key();
Error key_is_there(const KeyRecord& record);
Error too_many_keys();
Error unreadable_key(const std::string& id, const std::string& place, const Error& reason);

// Says which secrets key everything was sealed with: kept beside the keys, so that another one is
// noticed before it does harm.
std::string seal_vault_mark(const KeyVault& vault, Random& random);
// kConflict when the mark, and the name of the secrets key beside it, are another one's. `advice`
// says what to do instead of giving the right one.
Status check_vault_mark(const KeyVault& vault, const std::string& key_id, std::string_view mark,
                        const std::string& place, std::string_view advice);

}  // namespace sluice::web
