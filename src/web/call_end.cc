#include "web/call_end.h"

#include "guard/retry_after.h"
#include "web/pacing.h"
#include "web/price.h"

#include <algorithm>
#include <array>
#include <span>

namespace sluice::web {

Step step_after(Effect effect) {
    switch (effect) {
        case Effect::kCool:
        case Effect::kExhaust:
        case Effect::kQuarantine:
        case Effect::kKeyCannot:
            return Step::kNextKey;
        case Effect::kCaller:
            return Step::kStop;
        case Effect::kProvider:
        case Effect::kGateway:
            return Step::kNextProvider;
        case Effect::kEmpty:
            return Step::kEmpty;
    }
    SLUICE_ASSERT(false && "an Effect outside its enumeration");
}

std::optional<KeyRest> rest_after(const Verdict& verdict, const KeysConfig& config) {
    if (verdict.reach == Reach::kProvider) {
        return std::nullopt;
    }
    switch (verdict.effect) {
        case Effect::kCool:
            return KeyRest{KeyStatus::kCooling, verdict.penalty.value_or(config.default_cooldown),
                           verdict.reach};
        case Effect::kExhaust:
            return KeyRest{KeyStatus::kExhausted, verdict.penalty.value_or(config.exhausted_retry),
                           verdict.reach};
        case Effect::kQuarantine:
            return KeyRest{KeyStatus::kQuarantined,
                           verdict.penalty.value_or(config.auth_failure_disable), verdict.reach};
        case Effect::kKeyCannot:
        case Effect::kCaller:
        case Effect::kProvider:
        case Effect::kGateway:
        case Effect::kEmpty:
            return std::nullopt;
    }
    SLUICE_ASSERT(false && "an Effect outside its enumeration");
}

std::optional<KeyRest> rest_by_windows(const Provider& provider,
                                       const Result<io::ClientResponse>& response) {
    if (!response.ok()) {
        return std::nullopt;
    }
    std::array<RateWindow, kMaxRateWindows> windows;
    const std::size_t known = std::min(provider.rate_windows(*response, windows), windows.size());
    return rest_by_pace(std::span(windows).first(known));
}

Result<io::ClientResponse> in_time(Result<io::ClientResponse> response, Instant deadline,
                                   Instant now) {
    if (!response.ok() && response.error().code == Code::kCancelled && now >= deadline) {
        return Error{Code::kTimeout, Blame::kProvider, "no complete answer before the deadline",
                     std::nullopt};
    }
    return response;
}

bool was_short(Duration given, Millis timeout) {
    return given < std::min<Duration>(kMinAttempt, timeout);
}

std::optional<guard::CallOutcome> said_about_provider(const CallResult& result, bool short_time) {
    const Attempt& attempt = result.attempt;
    if (result.step == Step::kAnswer || result.step == Step::kEmpty) {
        return guard::CallOutcome::kSuccess;
    }
    const bool too_little_time = attempt.outcome == Outcome::kTimeout && short_time;
    const bool too_many_calls = attempt.outcome == Outcome::kRateLimited;
    if (attempt.blame != Blame::kProvider || too_little_time || too_many_calls) {
        return std::nullopt;
    }
    return guard::CallOutcome::kFailure;
}

std::string reason_of(const Attempt& attempt) {
    std::string reason(to_string(attempt.outcome));
    if (attempt.status != 0) {
        reason += " (HTTP " + std::to_string(attempt.status) + ")";
    }
    return reason;
}

bool may_pass_by_itself(const Verdict& verdict, const Result<io::ClientResponse>& response) {
    if (!response.ok() ||
        (verdict.effect != Effect::kCool && verdict.effect != Effect::kProvider)) {
        return false;
    }
    constexpr std::array kPassing = {429, 502, 503, 504};
    return std::ranges::find(kPassing, response->status) != kPassing.end();
}

std::optional<Millis> asked_wait(const Verdict& verdict, const Result<io::ClientResponse>& response,
                                 const std::optional<KeyRest>& by_windows, WallTime wall_now) {
    std::optional<Millis> wait = verdict.penalty;
    if (!wait && response.ok()) {
        wait = guard::parse_retry_after(response->header("retry-after"), wall_now);
    }
    return by_windows ? std::max(wait.value_or(Millis{}), by_windows->time) : wait;
}

}  // namespace sluice::web
