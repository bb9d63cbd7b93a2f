#include "guard/backoff.h"

#include "base/config_reader.h"
#include "base/random.h"

#include <algorithm>
#include <chrono>

namespace sluice::guard {

using namespace std::chrono_literals;

namespace {

// Base doubled `retry` times, at most the cap.
Duration doubled(const BackoffConfig& config, std::size_t retry) {
    Duration delay = std::min(config.base, config.cap);
    for (std::size_t i = 0; i < retry && delay < config.cap; ++i) {
        delay = std::min<Duration>(delay * 2, config.cap);
    }
    return delay;
}

}  // namespace

BackoffConfig BackoffConfig::read(ConfigReader in) {
    BackoffConfig config;
    in.duration({"base_delay_s",
                 "wait before the first retry of the same provider; doubles with "
                 "each further one",
                 {},
                 false},
                config.base, 10ms, 1min);
    in.integer<std::size_t>({"max_retries",
                             "retries of the same provider when a route has nothing "
                             "else left; 0: none",
                             {},
                             false},
                            config.max_retries, 0, 10);
    return config;
}

Duration backoff_delay(const BackoffConfig& config, std::size_t retry, Random& random,
                       std::optional<Millis> retry_after) {
    if (retry_after) {
        return *retry_after;
    }
    const Duration delay = doubled(config, retry);
    if (config.jitter == Jitter::kFull) {
        // Zero to `delay`, both included.
        const auto bound = static_cast<std::uint64_t>(delay.count()) + 1;
        return Duration(static_cast<Duration::rep>(random.below(bound)));
    }
    return delay;
}

Duration backoff_delay(const BackoffConfig& config, std::size_t retry,
                       std::optional<Millis> retry_after) {
    SLUICE_ASSERT(config.jitter == Jitter::kNone);
    return retry_after ? Duration(*retry_after) : doubled(config, retry);
}

}  // namespace sluice::guard
