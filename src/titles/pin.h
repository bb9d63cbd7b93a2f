// PINs of claimed pages: stored as Argon2id hashes, which make every guess expensive.
#pragma once

#include "base/result.h"
#include "base/secret.h"

#include <string>

namespace sluice::titles {

// crypto_pwhash_str() with libsodium's limits "interactive": about 64 MiB and a twentieth of a
// second of one core, so not for an event loop. kInvalidRequest for a PIN of less than kMinPinBytes
// or more than kMaxPinBytes (titles/page.h); kOverloaded when there is no memory for it.
// Thread-safe.
Result<std::string> hash_pin(const Secret& pin);

// Whether `hash` was made of `pin`. Costs the same whatever the answer is. A hash that is none of
// hash_pin()'s, or asks for more than those do, is nobody's; kOverloaded when that could not be
// found out, for want of memory. Thread-safe; not for an event loop either.
Result<bool> verify_pin(const std::string& hash, const Secret& pin);

}  // namespace sluice::titles
