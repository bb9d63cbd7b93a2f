#include "base/random.h"

#include "base/result.h"

#include <sodium.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace sluice {

std::uint64_t Random::below(std::uint64_t bound) {
    SLUICE_ASSERT(bound > 0);
    // Values under the largest multiple of bound are uniform; the rest is drawn again.
    const std::uint64_t threshold = (0 - bound) % bound;
    std::uint64_t value = u64();
    while (value < threshold) {
        value = u64();
    }
    return value % bound;
}

double Random::unit() {
    return static_cast<double>(u64() >> 11) * 0x1.0p-53;
}

std::uint64_t SystemRandom::u64() {
    std::uint64_t value = 0;
    fill(std::as_writable_bytes(std::span(&value, 1)));
    return value;
}

void SystemRandom::fill(std::span<std::byte> out) {
    randombytes_buf(out.data(), out.size());
}

SeededRandom::SeededRandom(std::uint64_t seed) {
    for (std::uint64_t& word : state_) {
        seed += 0x9e3779b97f4a7c15ULL;
        std::uint64_t mixed = seed;
        mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
        word = mixed ^ (mixed >> 31);
    }
}

std::uint64_t SeededRandom::u64() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
}

void SeededRandom::fill(std::span<std::byte> out) {
    while (!out.empty()) {
        const std::uint64_t word = u64();
        const std::size_t n = std::min(out.size(), sizeof word);
        std::memcpy(out.data(), &word, n);
        out = out.subspan(n);
    }
}

}  // namespace sluice
