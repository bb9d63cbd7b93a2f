// One provider's part of a search: its keys, one after another, until it answers, is empty, fails
// or the caller is at fault. What failover, merge and hedge have in common. Belongs to the control
// loop.
#pragma once

#include "base/clock.h"
#include "base/task.h"
#include "web/call.h"
#include "web/route.h"
#include "web/strategy.h"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace sluice::web {

// The share of the time left that one attempt may take: the remaining time divided by the providers
// left, at least kMinAttempt, never past `deadline`.
Instant attempt_until(Instant now, Instant deadline, std::size_t providers_left);

struct ProviderRun {
    // kNextKey: there may be further keys, but the attempts or the time for them are used up.
    Step step = Step::kNextProvider;
    std::shared_ptr<const ProviderAnswer> answer = nullptr;  // never null with kAnswer and kEmpty
};

// What one provider may use up of a search.
struct RunShare {
    // Among how many the time left is divided, this one included.
    std::size_t providers_left = 1;
    Patience patience = Patience::kWaitForKey;
    std::size_t attempts = kMaxAttempts;  // the longest that the trail may get
    // Whether the same call may be made again after a wait: there is nothing else left to do.
    bool may_retry = false;
};

// Of those, the ones that could be asked now (ProviderCall::may_be_asked).
std::size_t how_many_may_be_asked(const SearchWork& work, std::span<const Candidate> candidates);

// The share of the first of `rest`, which are those of a route that have not been asked: the others
// are each left an attempt, and their part of the time if they could be asked at all. It waits for
// a key when none of them could.
RunShare share_of_first(const SearchWork& work, std::span<const Candidate> rest);

// The cache of results comes first, as the request's cache mode allows: what it holds costs no
// call, and is an attempt of no time. Adds each attempt to `trail`. Ends by the work's deadline,
// and starts nothing after it. What is passed by reference outlives the task.
Task<ProviderRun> run_provider(const SearchWork& work, Candidate candidate, RunShare share,
                               std::vector<Attempt>& trail);

}  // namespace sluice::web
