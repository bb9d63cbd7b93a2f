#include "web/failover.h"

#include "web/failure.h"
#include "web/provider_run.h"
#include "web/route.h"

#include <span>
#include <utility>

namespace sluice::web {

Task<StrategyResult> run_failover(const SearchWork& work) {
    const std::vector<Candidate> route = resolve_route(work.providers, *work.config, *work.request);
    std::vector<Attempt> trail;
    const ProviderState* first_empty = nullptr;
    std::shared_ptr<const ProviderAnswer> empty_answer;
    for (std::size_t i = 0; i < route.size() && trail.size() < kMaxAttempts; ++i) {
        const ProviderState& provider = *route[i].state;
        RunShare share = share_of_first(work, std::span(route).subspan(i));
        share.may_retry = share.providers_left == 1 && work.fallback == Fallback::kNone;
        ProviderRun run = co_await run_provider(work, route[i], share, trail);
        switch (run.step) {
            case Step::kAnswer: {
                Found found;
                found.answer = make_answer(*work.request, provider.name(), std::move(run.answer));
                found.attempts = std::move(trail);
                co_return found;
            }
            case Step::kStop: {
                Error refused = refused_by(trail.back());
                co_return Failure{std::move(refused), std::move(trail), {}};
            }
            case Step::kEmpty:
                if (first_empty == nullptr) {
                    first_empty = &provider;
                    empty_answer = std::move(run.answer);
                }
                break;
            case Step::kNextKey:
            case Step::kNextProvider:
                break;
        }
        if (run.step == Step::kNextKey && work.clock.now() >= work.deadline) {
            Error late = deadline_passed(time_given(work), trail);
            co_return Failure{std::move(late), std::move(trail), {}};
        }
    }
    if (first_empty == nullptr) {
        Error error = nobody_answered(work, route, trail);
        co_return Failure{std::move(error), std::move(trail), {}};
    }
    Found found;
    found.answer = make_answer(*work.request, first_empty->name(), std::move(empty_answer));
    found.degraded = somebody_unheard(trail);
    found.attempts = std::move(trail);
    co_return found;
}

}  // namespace sluice::web
