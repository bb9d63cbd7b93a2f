// Whether a PIN opens a page: how often a client may try and be wrong, how often all of them
// together may be wrong, and on which threads that is found out. Counts in this process alone.
#pragma once

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "base/secret.h"
#include "base/task.h"
#include "guard/slots.h"
#include "guard/window_table.h"
#include "obs/metrics.h"
#include "titles/compute_threads.h"
#include "titles/pin.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace sluice::surface {

enum class PinOutcome : std::uint8_t {
    kRight,
    kWrong,
    kLimited,      // too many tries, or too many wrong ones, of this client
    kPageLimited,  // too many wrong ones of all clients
    kBusy,         // no thread, or no memory
};
inline constexpr std::size_t kPinOutcomes = 5;

struct PinVerdict {
    PinOutcome outcome = PinOutcome::kWrong;
    std::chrono::seconds retry_after{};  // of all but kRight and kWrong: at least 1
};

// Thread-safe; outlives its calls.
class PinGate {
 public:
    static constexpr std::int64_t kTriesPerMinute = 5;  // of one client for one page
    // A client may be wrong a tenth as often as all are, so that it can't lock the others out; but
    // at least kTriesPerMinute times, for who mistypes.
    static constexpr std::int64_t kClientsPart = 10;
    static constexpr std::size_t kAtOnce = 1;  // takes 64 MiB and a core

    // Any thread; errors as titles::verify_pin() has them.
    using Verify = std::function<Result<bool>(const std::string& hash, const Secret& pin)>;

    // References outlive it; `random` is thread-safe. PINs are verified on `threads`, which others
    // use, too. `wrong_an_hour` of a page may be wrong, whoever tries; then nobody's is looked at
    // before the hour is over, or the page has another PIN.
    PinGate(titles::ComputeThreads& threads, std::int64_t wrong_an_hour, const Clock& clock,
            Random& random, obs::Metrics& metrics, Verify verify = titles::verify_pin);

    // `client` is io::bucket_of(); `hash` was made by titles::hash_pin(). A right PIN counts as a
    // try of its client as well. What it costs and says is the same for every wrong one.
    Task<PinVerdict> open(std::string client, std::int64_t page, std::string hash, Secret pin);

 private:
    // One that is counted in the windows.
    struct Try {
        std::string client_key;
        std::string page_key;
        WallTime at;
    };
    PinVerdict count(PinOutcome outcome, std::chrono::seconds retry_after);
    PinVerdict too_many(PinOutcome outcome, const guard::WindowVerdict& window, WallTime now);
    std::optional<PinVerdict> take(const Try& tried);
    void give_back_wrong(const Try& tried);

    titles::ComputeThreads& threads_;
    const Verify verify_;
    guard::Slots slots_{kAtOnce};
    const std::int64_t wrong_an_hour_;
    const std::int64_t own_wrong_an_hour_;
    const Clock& clock_;
    guard::WindowTable tries_;
    guard::WindowTable own_wrong_;  // by client, page and hash
    guard::WindowTable wrong_;      // by page and hash
    std::array<obs::Counter, kPinOutcomes> counted_;
};

}  // namespace sluice::surface
