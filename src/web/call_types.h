// What a call to a provider is allowed and what comes of it, in the words of the strategies.
// Values.
#pragma once

#include "base/clock.h"
#include "guard/singleflight.h"
#include "web/provider.h"
#include "web/types.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::web {

// What a strategy does after a call.
enum class Step : std::uint8_t {
    kAnswer,        // results
    kEmpty,         // a valid answer without results: remember it, ask the next provider
    kNextKey,       // the key was at fault
    kNextProvider,  // the provider was at fault, has no usable key or can't honour the request
    kStop,          // the caller was at fault
};

struct CallResult {
    Step step = Step::kNextProvider;
    Attempt attempt;
    // Those before it with the same key, in order: refused for an option that was then left out, or
    // made again after a wait.
    std::vector<Attempt> earlier = {};
    ProviderAnswer answer;  // with kAnswer and kEmpty
};

// The least that one attempt is given where the request's deadline leaves it. A time-out of an
// attempt that had less, and less than the provider's own timeout, says nothing about the provider.
inline constexpr Millis kMinAttempt{1'500};

// Of the time that an attempt has, what waiting may not use up.
inline constexpr Millis kLeftForAttempt{500};

// What to do when no key of the provider may be used now, but one may soon.
enum class Patience : std::uint8_t { kPassOver, kWaitForKey };

struct CallTerms {
    Instant until{};  // the attempt's share of the time
    Patience patience = Patience::kPassOver;
    guard::Stake* stake =
        nullptr;              // held while a call is under way; may be null; outlives the call
    std::size_t retries = 0;  // how often the same call may be made again after a wait

    // Whether anybody still waits for what a call would bring.
    bool has_takers() const { return stake == nullptr || stake->is_attended(); }
    // The last instant at which a call may begin that waits.
    Instant latest_start(Instant now) const { return std::max(now, until - kLeftForAttempt); }
};

}  // namespace sluice::web
