// Text that nobody else has: epochs, tokens of locks, stamps.
#pragma once

#include "base/hash.h"
#include "base/random.h"

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

// So many random bytes, in lower-case hexadecimal: twice as many digits.
template <std::size_t Bytes>
std::string random_hex(Random& random) {
    std::array<std::byte, Bytes> bytes{};
    random.fill(bytes);
    return to_hex(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

}  // namespace sluice
