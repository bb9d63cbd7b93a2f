#include "web/merge.h"

#include "web/failure.h"
#include "web/fusion.h"
#include "web/race.h"
#include "web/route.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <utility>

namespace sluice::web {

namespace {

// By number of the runner: in the order of the route, whoever came first. Empty ones too.
using Answers = std::map<std::size_t, std::shared_ptr<const ProviderAnswer>>;

// As old as the oldest of them, and kept for no longer than any of them may be.
std::shared_ptr<const ProviderAnswer> merged(const Answers& answers, std::size_t max_hits) {
    SLUICE_ASSERT(!answers.empty());
    auto merged = std::make_shared<ProviderAnswer>();
    merged->made_at = Instant::max();
    std::vector<std::vector<Hit>> lists;
    for (const auto& [runner, answer] : answers) {
        if (!merged->answer) {
            merged->answer = answer->answer;
        }
        merged->made_at = std::min(merged->made_at, answer->made_at);
        merged->keep_until = std::min(merged->keep_until, answer->keep_until);
        lists.push_back(answer->hits);
        std::ranges::copy(answer->constraints, std::back_inserter(merged->constraints));
    }
    merged->hits = fuse(std::move(lists), max_hits);
    return merged;
}

// The share of one of `together` that begin now. Those behind them in the route are each left an
// attempt, and replace one that has to wait for its key.
RunShare share_of_one(const SearchWork& work, const Race& race, std::size_t together,
                      std::span<const Candidate> behind) {
    const std::size_t left = race.attempts_left();
    RunShare share;
    share.attempts = (left - std::min(behind.size(), left)) / together;
    share.patience =
        how_many_may_be_asked(work, behind) > 0 ? Patience::kPassOver : Patience::kWaitForKey;
    return share;
}

}  // namespace

Task<StrategyResult> run_merge(const SearchWork& work) {
    const std::vector<Candidate> route = resolve_route(work.providers, *work.config, *work.request);
    const std::size_t wanted = work.config->merge.providers;

    Race race(work);
    Answers answers;
    bool any_hits = false;
    std::size_t asked = 0;   // of the route
    std::size_t useful = 0;  // of those: under way, or good for the answer
    Instant until = work.deadline;
    while (true) {
        for (; useful < wanted && asked < route.size(); ++asked, ++useful) {
            const std::size_t together = std::min(wanted - useful, route.size() - asked);
            const auto behind = std::span(route).subspan(asked + together);
            race.start(route[asked], share_of_one(work, race, together, behind));
        }
        std::optional<Race::Finish> finish = co_await race.next(until);
        if (!finish) {
            break;
        }
        // One provider's word against another's answer: nothing more is begun, what was found
        // counts.
        if (finish->run.step == Step::kStop && any_hits) {
            break;
        }
        if (finish->run.step == Step::kStop) {
            Error refused = refused_by(*finish->last);
            co_await race.stop();
            co_return Failure{std::move(refused), race.take_trail(), {}};
        }
        if (finish->run.answer != nullptr) {
            answers.emplace(finish->runner, std::move(finish->run.answer));
        }
        if (finish->run.step == Step::kAnswer) {
            if (!any_hits) {
                until = std::min<Instant>(until, work.clock.now() + work.config->merge.wait);
            }
            any_hits = true;
            continue;
        }
        if (!any_hits || !finish->was_sent()) {
            useful -= 1;
        }
    }
    const bool cut_off = race.open() > 0;
    co_await race.stop();
    std::vector<Attempt> trail = race.take_trail();
    if (answers.empty()) {
        Error error = nobody_answered(work, route, trail);
        co_return Failure{std::move(error), std::move(trail), {}};
    }
    Found found;
    found.answer =
        make_answer(*work.request, kMergeProvider, merged(answers, work.request->max_results));
    found.degraded = cut_off || (any_hits ? somebody_failed(trail) : somebody_unheard(trail));
    found.attempts = std::move(trail);
    co_return found;
}

}  // namespace sluice::web
