#include "surface/pages/pin_gate.h"

#include "surface/pages/metrics.h"
#include "titles/pin.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace sluice::surface {

namespace {

constexpr std::array<std::string_view, kPinOutcomes> kNames = {"right", "wrong", "limited", "busy"};

Task<bool> verify(std::string hash, Secret pin) {
    co_return titles::verify_pin(hash, pin);
}

}  // namespace

PinGate::PinGate(const Clock& clock, Random& random, obs::Metrics& metrics)
    : clock_(clock),
      tries_({.length = std::chrono::minutes{1}}, random),
      threads_("pins", kAtOnce, titles::ComputeThreads::Priority::kUsual) {
    for (std::size_t i = 0; i < kPinOutcomes; ++i) {
        counted_[i] = metrics.counter(kPinTries, {std::string(kNames[i])});
    }
}

PinVerdict PinGate::count(PinOutcome outcome, std::chrono::seconds retry_after) {
    counted_[static_cast<std::size_t>(outcome)].add();
    return {outcome, retry_after};
}

Task<PinVerdict> PinGate::open(std::string client, std::int64_t page, std::string hash,
                               Secret pin) {
    using std::chrono::seconds;
    const std::string key = client + "\n" + std::to_string(page);
    const WallTime now = clock_.wall_now();
    const guard::WindowVerdict window = tries_.take(key, kTriesPerMinute, now);
    if (!window.allowed) {
        const auto wait = std::chrono::ceil<seconds>(window.reset_at - now);
        co_return count(PinOutcome::kLimited, std::max(wait, seconds{1}));
    }
    const auto thread = threads_.try_acquire();
    if (!thread) {
        tries_.give_back(key, now);
        co_return count(PinOutcome::kBusy, seconds{1});
    }
    const bool is_right =
        co_await run_on(thread->executor(), verify(std::move(hash), std::move(pin)));
    co_return count(is_right ? PinOutcome::kRight : PinOutcome::kWrong, seconds{0});
}

}  // namespace sluice::surface
