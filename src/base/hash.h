// SHA-256, for what is stored or compared across processes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice {

using Sha256 = std::array<std::uint8_t, 32>;

// FIPS 180-4, through OpenSSL. Thread-safe; allocates only on a thread's first call.
Sha256 sha256(std::string_view bytes);

// Lower-case hexadecimal.
std::string to_hex(std::string_view bytes);
std::string to_hex(const Sha256& digest);

}  // namespace sluice
