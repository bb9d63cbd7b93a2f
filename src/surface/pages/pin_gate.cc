#include "surface/pages/pin_gate.h"

#include "surface/pages/metrics.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace sluice::surface {

namespace {

constexpr std::array<std::string_view, kPinOutcomes> kNames = {"right", "wrong", "limited",
                                                               "page_limited", "busy"};

// `verify` outlives the task.
Task<Result<bool>> verified(const PinGate::Verify& verify, std::string hash, Secret pin) {
    co_return verify(hash, pin);
}

}  // namespace

PinGate::PinGate(titles::ComputeThreads& threads, std::int64_t wrong_an_hour, const Clock& clock,
                 Random& random, obs::Metrics& metrics, Verify verify)
    : threads_(threads),
      verify_(std::move(verify)),
      wrong_an_hour_(wrong_an_hour),
      own_wrong_an_hour_(
          std::min(wrong_an_hour, std::max(kTriesPerMinute, wrong_an_hour / kClientsPart))),
      clock_(clock),
      tries_({.length = std::chrono::minutes{1}}, random),
      own_wrong_({.length = std::chrono::hours{1}}, random),
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

void PinGate::give_back_wrong(const Try& tried) {
    own_wrong_.give_back(tried.client_key, tried.at);
    wrong_.give_back(tried.page_key, tried.at);
}

// Counts it in all windows, or in none and says why.
std::optional<PinVerdict> PinGate::take(const Try& tried) {
    const guard::WindowVerdict own = tries_.take(tried.client_key, kTriesPerMinute, tried.at);
    if (!own.allowed) {
        return too_many(PinOutcome::kLimited, own, tried.at);
    }
    const guard::WindowVerdict hour =
        own_wrong_.take(tried.client_key, own_wrong_an_hour_, tried.at);
    if (!hour.allowed) {
        tries_.give_back(tried.client_key, tried.at);
        return too_many(PinOutcome::kLimited, hour, tried.at);
    }
    const guard::WindowVerdict all = wrong_.take(tried.page_key, wrong_an_hour_, tried.at);
    if (!all.allowed) {
        tries_.give_back(tried.client_key, tried.at);
        own_wrong_.give_back(tried.client_key, tried.at);
        return too_many(PinOutcome::kPageLimited, all, tried.at);
    }
    return std::nullopt;
}

Task<PinVerdict> PinGate::open(std::string client, std::int64_t page, std::string hash,
                               Secret pin) {
    using std::chrono::seconds;
    // A PIN's salt is its own: who gives a page another one opens it to those who know that.
    const std::string page_key = std::to_string(page) + "\n" + hash;
    const Try tried{client + "\n" + page_key, page_key, clock_.wall_now()};
    // Nothing is counted without the only slot: a right one that is still looked at would be taken
    // for the last wrong one, and refuse the next for the rest of the hour.
    static_assert(kAtOnce == 1);
    const auto slot = slots_.try_acquire();
    const auto thread = slot ? threads_.try_acquire() : std::nullopt;
    if (!thread) {
        co_return count(PinOutcome::kBusy, seconds{1});
    }
    if (const std::optional<PinVerdict> refused = take(tried)) {
        co_return *refused;
    }
    const Result<bool> is_right =
        co_await run_on(thread->executor(), verified(verify_, std::move(hash), std::move(pin)));
    if (!is_right.ok()) {
        tries_.give_back(tried.client_key, tried.at);
        give_back_wrong(tried);
        co_return count(PinOutcome::kBusy, seconds{1});
    }
    if (*is_right) {
        give_back_wrong(tried);
    }
    co_return count(*is_right ? PinOutcome::kRight : PinOutcome::kWrong, seconds{0});
}

}  // namespace sluice::surface
