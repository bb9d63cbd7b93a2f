#include "web/provider_run.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sluice::web {

namespace {

// How traces call an answer that no call was made for.
constexpr std::string_view kFromResults = "result cache";

// The part of the cache of results in one provider's run.
class KeptResult {
 public:
    KeptResult(const SearchWork& work, Candidate candidate)
        : work_(work),
          candidate_(candidate),
          begun_(work.results.epoch()),
          keeps_(keeps_results(work.results, *candidate.settings, work.request->cache)) {
        if (keeps_) {
            key_ = result_fingerprint(candidate.state->name(), *work.request);
        }
    }

    // What is known already; null when somebody has to be asked.
    std::shared_ptr<const ProviderAnswer> find() const {
        const bool reads = reads_results(work_.results, *candidate_.settings, work_.request->cache);
        return reads ? work_.results.find(key_, work_.clock.now()) : nullptr;
    }

    void keep(std::shared_ptr<const ProviderAnswer> answer) const {
        if (!keeps_) {
            return;
        }
        // No answer is made from a result that an answer of the same age would be too old for.
        const CacheConfig& cache = work_.config->cache;
        const Millis longest = answer->empty() ? cache.negative_ttl : cache.ttl;
        const Millis ttl = std::min(candidate_.settings->results_ttl, longest);
        const Millis max_kept = candidate_.settings->max_kept;
        work_.results.keep(key_, std::move(answer),
                           max_kept > Millis{} ? std::min(ttl, max_kept) : ttl, begun_);
    }

 private:
    const SearchWork& work_;
    const Candidate candidate_;
    const ResultCache::Epoch begun_;
    const bool keeps_;
    Fingerprint key_{};
};

std::shared_ptr<const ProviderAnswer> dated(ProviderAnswer answer, Candidate candidate,
                                            Instant now) {
    answer.made_at = now;
    const Millis max_kept = candidate.settings->max_kept;
    if (max_kept > Millis{}) {
        answer.keep_until = now + max_kept;
    }
    return std::make_shared<const ProviderAnswer>(std::move(answer));
}

ProviderRun run_of_kept(Candidate candidate, std::shared_ptr<const ProviderAnswer> answer,
                        std::vector<Attempt>& trail) {
    Attempt attempt;
    attempt.provider = candidate.state->name();
    attempt.outcome = answer->empty() ? Outcome::kEmpty : Outcome::kSuccess;
    attempt.detail = kFromResults;
    trail.push_back(std::move(attempt));
    ProviderRun run;
    run.step = answer->empty() ? Step::kEmpty : Step::kAnswer;
    run.answer = std::move(answer);
    return run;
}

}  // namespace

Instant attempt_until(Instant now, Instant deadline, std::size_t providers_left) {
    const auto remaining = std::max(deadline - now, Instant::duration::zero());
    const auto share =
        remaining / static_cast<std::int64_t>(std::max<std::size_t>(providers_left, 1));
    return std::min(deadline, now + std::max<Instant::duration>(share, kMinAttempt));
}

std::size_t how_many_may_be_asked(const SearchWork& work, std::span<const Candidate> candidates) {
    return static_cast<std::size_t>(std::ranges::count_if(
        candidates,
        [&](const Candidate& candidate) { return work.call.may_be_asked(*candidate.state); }));
}

RunShare share_of_first(const SearchWork& work, std::span<const Candidate> rest) {
    SLUICE_ASSERT(!rest.empty());
    RunShare share;
    share.providers_left += how_many_may_be_asked(work, rest.subspan(1));
    share.patience = share.providers_left == 1 ? Patience::kWaitForKey : Patience::kPassOver;
    share.attempts = kMaxAttempts - std::min(rest.size() - 1, kMaxAttempts - 1);
    return share;
}

Task<ProviderRun> run_provider(const SearchWork& work, Candidate candidate, RunShare share,
                               std::vector<Attempt>& trail) {
    SLUICE_ASSERT(share.providers_left > 0);
    const KeptResult kept(work, candidate);
    if (auto answer = kept.find()) {
        co_return run_of_kept(candidate, std::move(answer), trail);
    }
    ProviderRun run;
    run.step = Step::kNextKey;
    std::vector<KeyIndex> tried_keys;
    // However many keys are refused, and however slowly, those behind in the route have their time.
    const Instant begun = work.clock.now();
    const Instant keys_until =
        begun + (work.deadline - begun) / static_cast<std::int64_t>(share.providers_left);
    while (run.step == Step::kNextKey && trail.size() < share.attempts) {
        const Instant now = work.clock.now();
        if (!work.may_begin() || (!tried_keys.empty() && now >= keys_until)) {
            break;
        }
        CallTerms terms;
        terms.until = attempt_until(now, work.deadline, share.providers_left);
        terms.stake = work.stake.get();
        terms.patience = share.patience;
        if (share.may_retry) {
            terms.retries =
                std::min(work.config->retry.max_retries, share.attempts - trail.size() - 1);
        }
        CallResult result =
            co_await work.call.run(candidate, *work.config, *work.request, terms, tried_keys);
        run.step = result.step;
        if (run.step == Step::kAnswer || run.step == Step::kEmpty) {
            run.answer = dated(std::move(result.answer), candidate, work.clock.now());
            kept.keep(run.answer);
        }
        std::ranges::move(result.earlier, std::back_inserter(trail));
        // Running out of keys is worth a line of the trail only when none was tried.
        const bool ran_out =
            result.attempt.outcome == Outcome::kSkippedNoKey && result.attempt.key_id.empty();
        if (!ran_out || tried_keys.empty()) {
            trail.push_back(std::move(result.attempt));
        }
    }
    co_return run;
}

}  // namespace sluice::web
