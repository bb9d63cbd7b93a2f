// Where keys are kept: what an operator decided about each, and its secret, encrypted. One
// interface, so that replicas can share a server database later; every implementation passes
// tests/unit/web/key_store_conformance.h.
#pragma once

#include "base/result.h"
#include "base/secret.h"
#include "base/store_revision.h"
#include "base/task.h"
#include "web/key_runtime.h"
#include "web/key_types.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice::web {

struct NewKey {
    std::string provider;  // of this binary
    Secret secret;         // 1 to kMaxKeySecretBytes printable ASCII characters, no spaces
    std::string label = {};
    std::string account = {};
    std::uint32_t weight = 1;
    std::optional<std::uint32_t> max_in_flight = {};
    std::optional<KeyQuota> quota = {};
    std::string engine_id = {};

    NewKey() = default;  // no aggregate: see the rules in base/task.h
};

// What stays empty stays as it is. Of a bound, an empty inner value takes it away.
struct KeyPatch {
    std::optional<KeyState> state = {};
    std::optional<std::string> label = {};
    std::optional<std::string> account = {};
    std::optional<std::uint32_t> weight = {};
    std::optional<std::optional<std::uint32_t>> max_in_flight = {};
    std::optional<std::optional<KeyQuota>> quota = {};
    std::optional<std::string> engine_id = {};

    KeyPatch() = default;
    bool changes_nothing() const;
};

// What changed up to one moment, and the revision of that moment.
struct KeySet {
    StoreRevision revision = {};
    bool is_whole = false;                  // `keys` are all there are; `removed` is empty
    std::vector<StoredKey> keys = {};       // new ones and changed ones, in order of creation
    std::vector<std::string> removed = {};  // ids
    std::vector<KeyUsage> usage = {};       // of those in `keys` that were used
};

// Whether `text` may be a key's label, account or engine id. kInvalidRequest, without the field.
Status check_key_text(std::string_view text);

// Called on any executor; each call resumes on its caller's. Errors beside those named: those of
// the database (io/sqlite.h) and of its queue (kOverloaded).
class KeyStore {
 public:
    virtual ~KeyStore() = default;

    // To be called before the others. kConflict when the keys in the store were encrypted with
    // another secrets key than ours: none of them could be read.
    virtual Task<Status> unlock() = 0;

    // kInvalidRequest when a field is out of its limits; kConflict when the provider has this
    // secret already, or at kMaxKeys.
    virtual Task<Result<KeyRecord>> add(NewKey key) = 0;

    // Adds those that are not there and that nobody removed; returns how many that were. The same
    // key may be named several times. Each is in its limits (asserted by validate()).
    virtual Task<Result<std::size_t>> seed(std::vector<NewKey> keys) = 0;

    // The record as it is afterwards. kNotFound, kInvalidRequest.
    virtual Task<Result<KeyRecord>> patch(std::string id, KeyPatch patch) = 0;

    // Remembers, without the secret, that it was removed, so that seed() does not bring it back.
    // kNotFound.
    virtual Task<Status> remove(std::string id) = 0;

    // What changed after the revision `since`; every key when that is 0, or when the store as it
    // is now never was at it.
    virtual Task<Result<KeySet>> load(StoreRevision since) = 0;

    // Changes with every add, patch and remove, whichever process made it.
    virtual Task<Result<StoreRevision>> revision() = 0;

    // Keeps the counts of calls; those of keys that are gone are left out.
    virtual Task<Status> save_usage(std::vector<KeyUsage> usage) = 0;
};

// What every implementation of add() and patch() checks first.
Status validate(const NewKey& key);
Status validate(const KeyPatch& patch);

}  // namespace sluice::web
