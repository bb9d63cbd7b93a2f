#include "guard/keyed_hash.h"

#include "base/random.h"

#include <sodium.h>

#include <cstring>
#include <span>

namespace sluice::guard {

static_assert(crypto_shorthash_KEYBYTES == 16 && crypto_shorthash_BYTES == sizeof(std::uint64_t));

KeyedHash::KeyedHash(Random& random) {
    random.fill(std::as_writable_bytes(std::span(key_)));
}

std::uint64_t KeyedHash::operator()(std::string_view text) const {
    std::array<unsigned char, crypto_shorthash_BYTES> out;
    crypto_shorthash(out.data(), reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                     key_.data());
    std::uint64_t hash = 0;
    std::memcpy(&hash, out.data(), sizeof hash);
    return hash;
}

}  // namespace sluice::guard
