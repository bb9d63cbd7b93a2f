// Where a text that somebody else wrote has a key, or what is left of one. Pure; any thread.
#pragma once

#include "base/secret.h"

#include <cstddef>
#include <string_view>
#include <vector>

namespace sluice::web {

// So many characters of a key in a row are a part that tells; a shorter key is hidden as a whole.
inline constexpr std::size_t kMinKeyPart = 6;

// For each byte of `text`, whether it belongs to a part of `key` of kMinKeyPart characters and
// more: from its beginning, its middle or its end, in upper or lower case, with any of its
// characters percent-encoded, however often, or in the base64 of anything that has it in it. A few
// microseconds for a kilobyte.
std::vector<bool> key_bytes(std::string_view text, const Secret& key);

}  // namespace sluice::web
