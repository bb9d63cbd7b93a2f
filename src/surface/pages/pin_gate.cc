#include "surface/pages/pin_gate.h"

#include "surface/pages/metrics.h"
#include "titles/pin.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace sluice::surface {

namespace {

constexpr std::array<std::string_view, kPinOutcomes> kNames = {"right", "wrong", "limited",
                                                               "page_limited", "busy"};

Task<Result<bool>> verify(std::string hash, Secret pin) {
    co_return titles::verify_pin(hash, pin);
}

}  // namespace

PinGate::PinGate(titles::ComputeThreads& threads, std::int64_t wrong_an_hour, const Clock& clock,
                 Random& random, obs::Metrics& metrics)
    : threads_(threads),
      wrong_an_hour_(wrong_an_hour),
      clock_(clock),
      tries_({.length = std::chrono::minutes{1}}, random),
      wrong_({.length = std::chrono::hours{1}}, random) {
    for (std::size_t i = 0; i < kPinOutcomes; ++i) {
        counted_[i] = metrics.counter(kPinTries, {std::string(kNames[i])});
    }
}

PinVerdict PinGate::count(PinOutcome outcome, std::chrono::seconds retry_after) {
    counted_[static_cast<std::size_t>(outcome)].add();
    return {outcome, retry_after};
}

PinVerdict PinGate::too_many(PinOutcome outcome, const guard::WindowVerdict& window, WallTime now) {
    using std::chrono::seconds;
    const auto wait = std::chrono::ceil<seconds>(window.reset_at - now);
    return count(outcome, std::max(wait, seconds{1}));
}

void PinGate::give_back(const Try& tried) {
    tries_.give_back(tried.client_key, tried.at);
    wrong_.give_back(tried.page_key, tried.at);
}

Task<PinVerdict> PinGate::open(std::string client, std::int64_t page, std::string hash,
                               Secret pin) {
    using std::chrono::seconds;
    const std::string page_key = std::to_string(page);
    const Try tried{client + "\n" + page_key, page_key, clock_.wall_now()};
    const guard::WindowVerdict own = tries_.take(tried.client_key, kTriesPerMinute, tried.at);
    if (!own.allowed) {
        co_return too_many(PinOutcome::kLimited, own, tried.at);
    }
    // A place for a wrong one is taken beforehand, so that many at once don't get past the bound.
    const guard::WindowVerdict all = wrong_.take(tried.page_key, wrong_an_hour_, tried.at);
    if (!all.allowed) {
        tries_.give_back(tried.client_key, tried.at);
        co_return too_many(PinOutcome::kPageLimited, all, tried.at);
    }
    const auto slot = slots_.try_acquire();
    const auto thread = slot ? threads_.try_acquire() : std::nullopt;
    if (!thread) {
        give_back(tried);
        co_return count(PinOutcome::kBusy, seconds{1});
    }
    const Result<bool> is_right =
        co_await run_on(thread->executor(), verify(std::move(hash), std::move(pin)));
    if (!is_right.ok()) {
        give_back(tried);
        co_return count(PinOutcome::kBusy, seconds{1});
    }
    if (*is_right) {
        wrong_.give_back(tried.page_key, tried.at);
    }
    co_return count(*is_right ? PinOutcome::kRight : PinOutcome::kWrong, seconds{0});
}

}  // namespace sluice::surface
