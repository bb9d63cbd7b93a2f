// The failover strategy: providers in route order, keys inside each, and blame decides what is
// tried next. A key's fault: the next key of the same provider. A provider's fault: the next
// provider. The caller's fault: stop. An empty answer: the next provider; if all are empty the
// answer is empty.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "web/call.h"
#include "web/config.h"
#include "web/types.h"

#include <cstddef>
#include <memory>
#include <variant>
#include <vector>

namespace sluice::web {

// What a strategy found, shared by everybody who waited for it.
struct Found {
    std::shared_ptr<const SearchAnswer> answer;
    std::vector<Attempt> attempts;
    bool degraded = false;  // empty, but some providers failed: not to be remembered as empty
};

// A failed strategy still has its trail.
struct Failure {
    Error error;
    std::vector<Attempt> attempts;
};

using StrategyResult = std::variant<Found, Failure>;

// The share of the time left that one attempt may take: the remaining time divided by the providers
// left, at least kMinAttempt, at most the provider's own timeout and never past `deadline`.
inline constexpr Millis kMinAttempt{1'500};
Instant attempt_deadline(Instant now, Instant deadline, std::size_t providers_left, Millis timeout);

// Attempts of one request at most, so that a pool of a thousand refused keys is not walked in one
// go.
inline constexpr std::size_t kMaxAttempts = 32;

// How soon a caller may try again after every provider failed.
inline constexpr Millis kRetryAfterFailure{5'000};

// Ends by `deadline`. A Failure carries kUpstreamFailed when providers were called and none
// answered, kQueryRejected when one refused the request itself, kDeadlineExceeded, kInvalidRequest
// when no provider of the route can do what is asked, and kNoUsableKey when no key was free or
// nobody is enabled. Belongs to the control loop. What is passed by reference outlives the task.
Task<StrategyResult> run_failover(ProviderCall& call, const Clock& clock, const WebConfig& config,
                                  std::shared_ptr<const SearchRequest> request, Instant deadline);

}  // namespace sluice::web
