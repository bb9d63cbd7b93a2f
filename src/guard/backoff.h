// How long to wait before trying the same thing again.
#pragma once

#include "base/clock.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace sluice {
class ConfigReader;
class Random;
}  // namespace sluice

namespace sluice::guard {

enum class Jitter : std::uint8_t {
    kNone,  // exactly base, 2 base, 4 base, ...
    kFull,  // anything from nothing up to that, so that many who failed together part company
};

struct BackoffConfig {
    Millis base{1'000};
    Millis cap{60'000};
    std::size_t max_retries = 3;  // for who retries, not used here
    Jitter jitter = Jitter::kNone;

    // From the section "retry". Cap and jitter are no settings.
    static BackoffConfig read(ConfigReader in);
};

// The wait before retry number `retry`, from 0: base doubled so often, at most the cap, with
// jitter. A Retry-After of the other side wins over all of it: earlier is of no use, and later is
// not what was asked.
Duration backoff_delay(const BackoffConfig& config, std::size_t retry, Random& random,
                       std::optional<Millis> retry_after);

// The same without jitter: asserted.
Duration backoff_delay(const BackoffConfig& config, std::size_t retry,
                       std::optional<Millis> retry_after);

}  // namespace sluice::guard
