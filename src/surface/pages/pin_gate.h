// Whether a PIN opens a page: how often a client may try, and on which threads that is found out.
#pragma once

#include "base/clock.h"
#include "base/random.h"
#include "base/secret.h"
#include "base/task.h"
#include "guard/window_table.h"
#include "obs/metrics.h"
#include "titles/compute_threads.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace sluice::surface {

enum class PinOutcome : std::uint8_t { kRight, kWrong, kLimited, kBusy };
inline constexpr std::size_t kPinOutcomes = 4;

struct PinVerdict {
    PinOutcome outcome = PinOutcome::kWrong;
    std::chrono::seconds retry_after{};  // of kLimited and kBusy: at least 1
};

// Thread-safe; outlives its calls.
class PinGate {
 public:
    static constexpr std::int64_t kTriesPerMinute = 5;  // of one client for one page
    static constexpr std::size_t kAtOnce = 1;           // takes 64 MiB and a core

    // References outlive it.
    PinGate(const Clock& clock, Random& random, obs::Metrics& metrics);

    // `client` is io::bucket_of(); `hash` was made by titles::hash_pin(). A right PIN counts as a
    // try as well. What it costs and says is the same for every wrong one.
    Task<PinVerdict> open(std::string client, std::int64_t page, std::string hash, Secret pin);

 private:
    PinVerdict count(PinOutcome outcome, std::chrono::seconds retry_after);

    const Clock& clock_;
    guard::WindowTable tries_;
    titles::ComputeThreads threads_;
    std::array<obs::Counter, kPinOutcomes> counted_;
};

}  // namespace sluice::surface
