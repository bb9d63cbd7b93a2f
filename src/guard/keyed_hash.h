// A hash for tables whose keys outsiders choose: without the key nobody can make texts collide.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sluice {
class Random;
}

namespace sluice::guard {

// SipHash-2-4 through libsodium. Copyable; copies hash alike. Thread-safe.
class KeyedHash {
 public:
    explicit KeyedHash(Random& random);

    std::uint64_t operator()(std::string_view text) const;

 private:
    std::array<std::uint8_t, 16> key_;
};

}  // namespace sluice::guard
