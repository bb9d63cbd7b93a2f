#include "web/provider_run.h"

#include <algorithm>
#include <utility>

namespace sluice::web {

Instant attempt_until(Instant now, Instant deadline, std::size_t providers_left) {
    const auto remaining = std::max(deadline - now, Instant::duration::zero());
    const auto share =
        remaining / static_cast<std::int64_t>(std::max<std::size_t>(providers_left, 1));
    return std::min(deadline, now + std::max<Instant::duration>(share, kMinAttempt));
}

Task<ProviderRun> run_provider(const SearchWork& work, Candidate candidate, RunShare share,
                               std::vector<Attempt>& trail) {
    SLUICE_ASSERT(share.providers_left > 0);
    ProviderRun run;
    run.step = Step::kNextKey;
    std::vector<KeyIndex> tried_keys;
    // However many keys are refused, and however slowly, those behind in the route have their time.
    const Instant begun = work.clock.now();
    const Instant keys_until =
        begun + (work.deadline - begun) / static_cast<std::int64_t>(share.providers_left);
    while (run.step == Step::kNextKey && trail.size() < share.attempts) {
        const Instant now = work.clock.now();
        if (now >= work.deadline || (!tried_keys.empty() && now >= keys_until)) {
            break;
        }
        CallTerms terms;
        terms.until = attempt_until(now, work.deadline, share.providers_left);
        terms.patience = share.providers_left == 1 ? Patience::kWaitForKey : Patience::kPassOver;
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
