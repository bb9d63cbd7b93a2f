#include "base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace sluice {
namespace {

// A simulation is replayed from its seed, on any machine and after any update: the sequence is part
// of the contract. The seed's expansion and the first outputs are those of the published
// algorithms.
TEST(SeededRandom, KnownAnswers) {
    SeededRandom zero(0);
    EXPECT_EQ(zero.u64(), 11091344671253066420u);
    EXPECT_EQ(zero.u64(), 13793997310169335082u);
    EXPECT_EQ(zero.u64(), 1900383378846508768u);
    SeededRandom other(1);
    EXPECT_NE(other.u64(), 11091344671253066420u);
}

TEST(SeededRandom, FillIsTheSameSequenceOfBytes) {
    SeededRandom numbers(9);
    SeededRandom bytes(9);
    std::array<std::byte, 11> filled{};
    bytes.fill(filled);
    const std::array<std::uint64_t, 2> words = {numbers.u64(), numbers.u64()};
    for (std::size_t i = 0; i < filled.size(); ++i) {
        EXPECT_EQ(std::to_integer<std::uint64_t>(filled[i]), (words[i / 8] >> (8 * (i % 8))) & 255);
    }
}

// Gives the numbers it was told to.
class ScriptedRandom final : public Random {
 public:
    explicit ScriptedRandom(std::vector<std::uint64_t> numbers) : numbers_(std::move(numbers)) {}
    std::uint64_t u64() override { return numbers_.at(next_++); }
    void fill(std::span<std::byte>) override {}
    std::size_t drawn() const { return next_; }

 private:
    std::vector<std::uint64_t> numbers_;
    std::size_t next_ = 0;
};

// 2^64 is not a multiple of most bounds: the numbers left over would favour small results.
TEST(Random, BelowDrawsAgainWhatWouldBeUneven) {
    constexpr std::uint64_t kBound = (std::uint64_t{1} << 63) + 1;
    constexpr std::uint64_t kLeftOver = (std::uint64_t{1} << 63) - 1;  // 2^64 mod kBound
    ScriptedRandom random({0, kLeftOver - 1, kLeftOver});
    EXPECT_EQ(random.below(kBound), kLeftOver);
    EXPECT_EQ(random.drawn(), 3u);
    ScriptedRandom one({5});
    EXPECT_EQ(one.below(1), 0u);
}

// Key rotation and jitter spread load evenly only if the draw is even.
TEST(Random, BelowIsUniform) {
    constexpr std::size_t kBound = 10;
    constexpr int kDraws = 100'000;
    SeededRandom random(42);
    std::array<int, kBound> counts{};
    for (int i = 0; i < kDraws; ++i) {
        counts.at(random.below(kBound)) += 1;
    }
    double chi_squared = 0;
    for (const int count : counts) {
        const double off = count - kDraws / double{kBound};
        chi_squared += off * off / (kDraws / double{kBound});
    }
    EXPECT_LT(chi_squared, 27.9);  // 9 degrees of freedom: exceeded once in a thousand
}

TEST(Random, UnitIsInItsHalfOpenRange) {
    ScriptedRandom ends({0, ~std::uint64_t{0}});
    EXPECT_EQ(ends.unit(), 0.0);
    const double largest = ends.unit();
    EXPECT_LT(largest, 1.0);
    EXPECT_GT(largest, 0.9999999999999998);

    SeededRandom random(3);
    double sum = 0;
    for (int i = 0; i < 10'000; ++i) {
        sum += random.unit();
    }
    EXPECT_NEAR(sum / 10'000, 0.5, 0.01);
}

TEST(RandomDeathTest, BelowZeroIsOurMistake) {
    SeededRandom random(1);
    EXPECT_DEATH(random.below(0), "assertion failed");
}

// Ids and tokens must never repeat.
TEST(SystemRandom, DoesNotRepeat) {
    SystemRandom random;
    std::set<std::uint64_t> seen;
    for (int i = 0; i < 1000; ++i) {
        seen.insert(random.u64());
    }
    EXPECT_EQ(seen.size(), 1000u);
    std::array<std::byte, 64> bytes{};
    random.fill(bytes);
    EXPECT_GT(std::set<std::byte>(bytes.begin(), bytes.end()).size(), 20u);
}

}  // namespace
}  // namespace sluice
