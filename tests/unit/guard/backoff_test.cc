#include "guard/backoff.h"

#include "base/config_reader.h"
#include "base/random.h"

#include <gtest/gtest.h>

#include <optional>

namespace sluice::guard {
namespace {

using namespace std::chrono_literals;

struct Case {
    std::size_t retry;
    std::optional<Millis> retry_after;
    Duration delay;
};

// 1, 2, 4 seconds and so on up to the cap, unless the other side said how long.
TEST(Backoff, Doubles) {
    const Case cases[] = {
        {0, std::nullopt, 1s},  {1, std::nullopt, 2s},
        {2, std::nullopt, 4s},  {5, std::nullopt, 32s},
        {6, std::nullopt, 60s}, {1'000'000, std::nullopt, 60s},
        {0, 30s, 30s},          {5, 1s, 1s},
        {0, 24h, 24h},
    };
    SeededRandom random(1);
    for (const Case& c : cases) {
        EXPECT_EQ(backoff_delay(BackoffConfig{}, c.retry, random, c.retry_after), c.delay)
            << c.retry;
    }
    BackoffConfig small;
    small.cap = 500ms;
    EXPECT_EQ(backoff_delay(small, 0, random, std::nullopt), 500ms);
}

// Full jitter spreads over the whole wait and not beyond; a Retry-After is never cut short by it.
TEST(Backoff, Jitters) {
    BackoffConfig config;
    config.jitter = Jitter::kFull;
    SeededRandom random(7);
    Duration low = Duration::max();
    Duration high = Duration::zero();
    Duration sum{};
    constexpr int kDraws = 10'000;
    for (int i = 0; i < kDraws; ++i) {
        const Duration delay = backoff_delay(config, 2, random, std::nullopt);
        low = std::min(low, delay);
        high = std::max(high, delay);
        sum += delay;
    }
    EXPECT_GE(low, 0s);
    EXPECT_LT(low, 10ms);
    EXPECT_LE(high, 4s);
    EXPECT_GT(high, 3990ms);
    EXPECT_GT(sum / kDraws, 1900ms);
    EXPECT_LT(sum / kDraws, 2100ms);
    EXPECT_EQ(backoff_delay(config, 2, random, 3s), 3s);
}

// The settings have the documented names and defaults.
TEST(BackoffConfig, Reads) {
    ConfigLayers layers;
    layers.add_file("good.toml", "[retry]\nbase_delay_s = 0.25");
    ConfigReader section = ConfigReader(layers).section("retry");
    const BackoffConfig config = BackoffConfig::read(section);
    layers.finish();
    EXPECT_TRUE(layers.errors().empty());
    EXPECT_EQ(config.base, 250ms);
    EXPECT_EQ(config.max_retries, 3U);
    EXPECT_EQ(backoff_delay(config, 2, std::nullopt), 1s);
    EXPECT_EQ(backoff_delay(config, 2, 3s), 3s);
}

}  // namespace
}  // namespace sluice::guard
