// From the trail of a search that nobody answered to its error: what kept the providers from
// answering decides the code, whose fault it is, and what the message advises.
#pragma once

#include "base/result.h"
#include "web/route.h"
#include "web/strategy.h"
#include "web/types.h"

#include <vector>

namespace sluice::web {

// How soon a caller may try again after providers failed.
inline constexpr Millis kRetryAfterFailure{5'000};

// Whether a provider that was called failed or was cut off, and gave no answer by another key
// either: an answer made of the others is poorer than it could be.
bool somebody_failed(const std::vector<Attempt>& trail);

// Whether somebody failed so, or was passed over for another reason than what it can do: an empty
// answer may be missing what that one knows.
bool somebody_unheard(const std::vector<Attempt>& trail);

// kBudgetExhausted when the caller's or the gateway's budget is gone before anybody was called, or
// nobody else could be asked either (kUnavailable: spending can't be written down). Otherwise
// kUpstreamFailed when a provider failed or is left alone after failures, kInvalidRequest when none
// can do what is asked, kDeadlineExceeded when there was no time to ask anybody, kOverloaded when
// our own rates leave no room in time, kDeadlineExceeded when a call was given up, kNoUsableKey
// when keys are what is missing or nobody of the route is enabled. retry_after is when the first of
// them may be asked again, where that is known.
Error nobody_answered(const SearchWork& work, const std::vector<Candidate>& route,
                      const std::vector<Attempt>& trail);

// kDeadlineExceeded, of a search that was given so much time. The providers' fault when most of it
// went into calling them, or into waits that their answers asked for; ours when it went into
// waiting for a place in the lane, a turn or a key.
Error deadline_passed(Duration given, const std::vector<Attempt>& trail);

// What the lane gives a search from its arrival to its end.
Duration time_given(const SearchWork& work);

// kQueryRejected: `attempt` is the one that stopped the search.
Error refused_by(const Attempt& attempt);

}  // namespace sluice::web
