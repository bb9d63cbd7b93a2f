// The seam to randomness. SystemRandom is for ids, tokens and keys; SeededRandom replays a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

class Random {
 public:
    virtual ~Random() = default;
    virtual std::uint64_t u64() = 0;
    virtual void fill(std::span<std::byte> out) = 0;

    // Uniform in [0, bound); bound must be positive.
    std::uint64_t below(std::uint64_t bound);
    // Uniform in [0, 1).
    double unit();
};

// The operating system's generator through libsodium. Thread-safe.
class SystemRandom final : public Random {
 public:
    std::uint64_t u64() override;
    void fill(std::span<std::byte> out) override;
};

// Repeatable: the same seed gives the same sequence on every machine (xoshiro256**, seeded through
// splitmix64; both by Blackman and Vigna, public domain). Not for secrets. Not thread-safe.
class SeededRandom final : public Random {
 public:
    explicit SeededRandom(std::uint64_t seed);
    std::uint64_t u64() override;
    void fill(std::span<std::byte> out) override;

 private:
    std::uint64_t state_[4];
};

}  // namespace sluice
