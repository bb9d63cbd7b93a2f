// What a hit in the answer cache costs, by how many entries there are and how they are asked for.
//
//   ninja -C build/release cache_bench && build/release/bench/guard/cache_bench
//
// With a million entries a hit waits for memory: the slot, the node and the value's counter are
// three cache misses that depend on each other, and nothing else grows with the number of entries.
#include "base/random.h"
#include "guard/ttl_cache.h"
#include "guard/window_table.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace sluice::guard {
namespace {

using namespace std::chrono_literals;

using Cache = ShardedTtlCache<Sha256, std::shared_ptr<const std::string>, DigestHash>;

constexpr Instant kNow{1000h};
constexpr std::size_t kRequests = 1UL << 20;

// As uniform as a digest and much faster to make: splitmix64 (Sebastiano Vigna, public domain).
Sha256 digest_of(std::uint64_t number) {
    std::array<std::uint64_t, 4> words{};
    for (std::size_t i = 0; i < words.size(); ++i) {
        std::uint64_t z = number * 4 + i + 0x9E3779B97F4A7C15ULL;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
        words[i] = z ^ (z >> 31);
    }
    Sha256 digest;
    std::memcpy(digest.data(), words.data(), digest.size());
    return digest;
}

enum class Popularity { kEven, kSkewed };

// Skewed: the logarithm of the rank is uniform, close to how often queries repeat.
std::vector<std::uint32_t> requests(std::size_t entries, Popularity popularity) {
    SeededRandom random(1);
    std::vector<std::uint32_t> order(kRequests);
    for (std::uint32_t& number : order) {
        const double rank = popularity == Popularity::kEven
                                ? random.unit() * static_cast<double>(entries)
                                : std::pow(static_cast<double>(entries), random.unit()) - 1;
        number =
            std::min(static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(entries - 1));
    }
    return order;
}

void hit(benchmark::State& state, Popularity popularity) {
    const auto entries = static_cast<std::size_t>(state.range(0));
    Cache cache(TtlCacheLimits{4'000'000, 4UL << 30, Admission::kByFrequency});
    for (std::size_t i = 0; i < entries; ++i) {
        cache.put(digest_of(i), std::make_shared<const std::string>(200, 'x'), 200,
                  Lifetime{1h, 1h}, kNow);
    }
    const std::vector<std::uint32_t> order = requests(entries, popularity);
    std::size_t i = 0;
    for (auto _ : state) {
        const auto found = cache.find(digest_of(order[i++ % kRequests]), kNow);
        benchmark::DoNotOptimize(found);
    }
}

void window_take(benchmark::State& state) {
    SeededRandom random(1);
    WindowTable table(WindowTableOptions{60s, 65'536}, random);
    std::vector<std::string> keys;
    for (int i = 0; i < 10'000; ++i) {
        keys.push_back("198.51." + std::to_string(i / 256) + "." + std::to_string(i % 256));
    }
    std::size_t i = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(table.take(keys[i++ % keys.size()], 1'000'000, WallTime(1000h)));
    }
}

BENCHMARK_CAPTURE(hit, even, Popularity::kEven)->RangeMultiplier(10)->Range(1'000, 1'000'000);
BENCHMARK_CAPTURE(hit, skewed, Popularity::kSkewed)->RangeMultiplier(10)->Range(1'000, 1'000'000);
BENCHMARK(window_take);

}  // namespace
}  // namespace sluice::guard

BENCHMARK_MAIN();
