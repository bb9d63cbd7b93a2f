#include "web/hedge.h"

#include "web/failure.h"
#include "web/hedge_budget.h"
#include "web/race.h"
#include "web/route.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace sluice::web {

namespace {

// One that was asked.
struct Entrant {
    const ProviderState* provider = nullptr;
    Instant slow_at{};  // from then on it is slower than usual
    bool is_hedge = false;
    bool ended = false;
};

// The state of one hedged search.
class Hedging {
 public:
    explicit Hedging(const SearchWork& work)
        : work_(work),
          route_(resolve_route(work.providers, *work.config, *work.request)),
          race_(work) {}

    Race& race() { return race_; }

    bool has_next() const { return entrants_.size() < route_.size(); }

    void start_next(bool is_hedge) {
        const Candidate candidate = route_[entrants_.size()];
        const double ratio = work_.config->hedge.max_extra_ratio;
        if (!is_hedge) {
            work_.hedges.earn(ratio);
        }
        const Millis usual = candidate.state->recent()
                                 .latency(RecentCalls::kSlowShare)
                                 .value_or(work_.config->hedge.initial_delay);
        const RunShare share = share_of_next();
        entrants_.push_back({candidate.state, work_.clock.now() + usual, is_hedge, false});
        race_.start(candidate, share);
    }

    // When the one that is under way is slow enough for a hedge; nothing while two are, or when
    // there is nobody to ask or no budget left.
    std::optional<Instant> hedge_at() const {
        if (race_.open() != 1 || !has_next() || denied_) {
            return std::nullopt;
        }
        for (const Entrant& entrant : entrants_) {
            if (!entrant.ended) {
                return entrant.slow_at;
            }
        }
        return std::nullopt;
    }

    void try_hedge() {
        if (work_.hedges.spend(work_.config->hedge.max_extra_ratio)) {
            start_next(true);
        } else {
            denied_ = true;
        }
    }

    // Takes note of an end.
    const Entrant& ended(const Race::Finish& finish) {
        Entrant& entrant = entrants_[finish.runner];
        entrant.ended = true;
        if (entrant.is_hedge && !finish.was_sent()) {
            work_.hedges.refund();
        }
        return entrant;
    }

    const std::vector<Candidate>& route() const { return route_; }

 private:
    // Everybody behind in the route is left an attempt. Two may be under way at once, so one that
    // begins alone takes half of the others.
    RunShare share_of_next() const {
        const auto rest = std::span(route_).subspan(entrants_.size());
        const std::size_t behind = rest.size() - 1;
        const std::size_t left = race_.attempts_left();
        RunShare share = share_of_first(work_, rest);
        share.attempts = left - std::min(behind, left);
        if (behind > 0 && race_.open() == 0) {
            share.attempts = (share.attempts + 1) / 2;
        }
        return share;
    }

    const SearchWork& work_;
    const std::vector<Candidate> route_;
    Race race_;
    std::vector<Entrant> entrants_;  // by number of the runner
    bool denied_ = false;
};

}  // namespace

Task<StrategyResult> run_hedge(const SearchWork& work) {
    Hedging hedging(work);
    Race& race = hedging.race();
    const ProviderState* first_empty = nullptr;
    std::shared_ptr<const ProviderAnswer> empty_answer;
    while (work.clock.now() < work.deadline) {
        if (race.open() == 0) {
            if (!hedging.has_next()) {
                break;
            }
            hedging.start_next(false);
        }
        const std::optional<Instant> hedge_at = hedging.hedge_at();
        const Instant until = std::min(hedge_at.value_or(work.deadline), work.deadline);
        std::optional<Race::Finish> finish = co_await race.next(until);
        if (!finish) {
            if (!hedge_at || work.clock.now() < *hedge_at) {
                break;  // the deadline has passed
            }
            hedging.try_hedge();
            continue;
        }
        const Entrant entrant = hedging.ended(*finish);
        if (finish->run.step == Step::kAnswer) {
            if (entrant.is_hedge) {
                work.hedges.count_won();
            }
            co_await race.stop();
            Found found;
            found.answer =
                make_answer(*work.request, entrant.provider->name(), std::move(finish->run.answer));
            found.attempts = race.take_trail();
            co_return found;
        }
        if (finish->run.step == Step::kStop) {
            Error refused = refused_by(*finish->last);
            co_await race.stop();
            co_return Failure{std::move(refused), race.take_trail(), {}};
        }
        if (finish->run.step == Step::kEmpty && first_empty == nullptr) {
            first_empty = entrant.provider;
            empty_answer = std::move(finish->run.answer);
        }
    }
    co_await race.stop();
    std::vector<Attempt> trail = race.take_trail();
    if (first_empty == nullptr) {
        Error error = nobody_answered(work, hedging.route(), trail);
        co_return Failure{std::move(error), std::move(trail), {}};
    }
    Found found;
    found.answer = make_answer(*work.request, first_empty->name(), std::move(empty_answer));
    found.degraded = somebody_unheard(trail);
    found.attempts = std::move(trail);
    co_return found;
}

}  // namespace sluice::web
