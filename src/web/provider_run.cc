#include "web/provider_run.h"

#include <algorithm>
#include <utility>

namespace sluice::web {

namespace {

// How far one provider may go through its keys, so that each one behind it in the route is asked as
// well: the attempts of the request until then, and its share of the time.
struct KeyBudget {
    std::size_t attempts;
    Instant until;
};

KeyBudget budget_for_keys(Instant now, Instant deadline, std::size_t providers_left) {
    const std::size_t kept = std::min(providers_left - 1, kMaxAttempts - 1);
    const auto share = (deadline - now) / static_cast<std::int64_t>(providers_left);
    return {kMaxAttempts - kept, now + share};
}

}  // namespace

Instant attempt_until(Instant now, Instant deadline, std::size_t providers_left) {
    const auto remaining = std::max(deadline - now, Instant::duration::zero());
    const auto share =
        remaining / static_cast<std::int64_t>(std::max<std::size_t>(providers_left, 1));
    return std::min(deadline, now + std::max<Instant::duration>(share, kMinAttempt));
}

Task<ProviderRun> run_provider(const SearchWork& work, Candidate candidate,
                               std::size_t providers_left, std::vector<Attempt>& trail) {
    SLUICE_ASSERT(providers_left > 0);
    ProviderRun run;
    run.step = Step::kNextKey;
    std::vector<KeyIndex> tried_keys;
    const KeyBudget budget = budget_for_keys(work.clock.now(), work.deadline, providers_left);
    while (run.step == Step::kNextKey && trail.size() < budget.attempts) {
        const Instant now = work.clock.now();
        if (now >= work.deadline || (!tried_keys.empty() && now >= budget.until)) {
            break;
        }
        CallTerms terms;
        terms.until = attempt_until(now, work.deadline, providers_left);
        terms.patience = providers_left == 1 ? Patience::kWaitForKey : Patience::kPassOver;
        CallResult result =
            co_await work.call.run(candidate, *work.config, *work.request, terms, tried_keys);
        run.step = result.step;
        run.answer = std::move(result.answer);
        // Running out of keys is worth a line of the trail only when none was tried.
        if (result.attempt.outcome != Outcome::kSkippedNoKey || tried_keys.empty()) {
            trail.push_back(std::move(result.attempt));
        }
    }
    co_return run;
}

}  // namespace sluice::web
