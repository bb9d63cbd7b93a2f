// The part of a search that replicas do together. See fly_shared() in search.h.
#include "web/cache.h"
#include "web/search.h"
#include "web/shared_answers.h"

#include <algorithm>
#include <utility>

namespace sluice::web {

namespace {

constexpr Millis kPurgePatience{5'000};
// How often it is looked whether another replica purged.
constexpr Millis kPurgeLookEvery{500};

std::shared_ptr<const StrategyResult> failed_with(Error error) {
    Failure failure;
    failure.error = std::move(error);
    return std::make_shared<const StrategyResult>(std::move(failure));
}

Error others_took_too_long() {
    return Error{Code::kDeadlineExceeded, Blame::kGateway,
                 "the deadline passed while another replica was searching", std::nullopt};
}

// One that hangs on to its turn leaves time for another try.
Millis turn_ttl(const WebConfig& config, guard::LaneKind lane) {
    return std::min(config.cache.lock_ttl, config.lanes.lane(lane).deadline / 3);
}

}  // namespace

bool Search::lacks_redis() const {
    return shared_ != nullptr && shared_->redis().config().required && !shared_->redis().is_up();
}

// With one that is up and refuses, as where it has no memory left, searches still ask: each finds
// out whether it does something again.
bool Search::is_redis_refusing() const {
    return lacks_redis() || redis_refused_;
}

Task<void> Search::ask_redis_again() {
    constexpr Millis kAgainAfter{1'000};
    const Instant now = clock_.now();
    if (redis_refused_ && now >= redis_asked_again_at_ + kAgainAfter) {
        redis_asked_again_at_ = now;
        if (const std::optional<bool> writes = co_await shared_->can_write(now + kAgainAfter)) {
            redis_refused_ = !*writes;
        }
    }
}

Task<SearchReply> Search::find_shared(Missed missed) {
    const AnswerCache::Epoch begun = cache_.epoch();
    const SharedAnswers::Kept kept =
        co_await shared_->find(missed.key, *missed.request, missed.deadline);
    auto there = remember(missed, kept, begun);
    if (there && there->cached.fresh()) {
        co_return serve_hit(missed.request->lane, std::move(there->cached));
    }
    co_return SearchReply(not_cached(missed.request->lane));
}

Task<Result<Search::SharedResult>> Search::fly_shared(Missed missed,
                                                      std::shared_ptr<guard::Stake> stake) {
    const std::shared_ptr<const WebConfig> config = config_.get();
    const guard::LaneKind lane = kind_of(missed.request->lane);
    SharedAnswers::Kept kept;
    std::optional<std::string> known;  // the stamp of what the last look found
    // Where there is a place at once, the first look asks for the turn, too. What is found needs no
    // place, so where there is none that is looked for before one is waited for. While a Redis
    // hangs who looks keeps its place for as long as a command may take, which must turn nobody
    // away who waits for one.
    std::optional<guard::LaneTicket> ticket;
    if (shared_->redis().config().timeout < config->lanes.lane(lane).queue_timeout) {
        ticket = lanes_.try_enter(lane);
    }
    if (!ticket) {
        const AnswerCache::Epoch begun = cache_.epoch();
        kept = co_await shared_->find(missed.key, *missed.request, missed.deadline);
        if (const auto there = remember(missed, kept, begun); there && there->cached.fresh()) {
            co_return arrive(kept, there->stored);
        }
        known = kept.stamp;
        const Instant arrived = clock_.now();
        Result<guard::LaneTicket> entered = co_await lanes_.enter(lane, missed.deadline);
        if (!entered.ok()) {
            co_return shed(missed, arrived, std::move(entered).error());
        }
        ticket = *std::move(entered);
    }
    const Millis ttl = turn_ttl(*config, lane);
    const Instant until = work_until(missed);
    for (std::size_t looks = 0;; ++looks) {
        const AnswerCache::Epoch begun = cache_.epoch();
        SharedAnswers::Entrance entrance =
            co_await shared_->enter(missed.key, *missed.request, known, ttl, until);
        std::string purge = std::move(entrance.kept.purge);
        if (entrance.result == SharedAnswers::Entrance::Turn::kFound) {
            kept = std::move(entrance.kept);
            known = kept.stamp;
            if (const auto there = remember(missed, kept, begun); there && there->cached.fresh()) {
                co_return arrive(kept, there->stored);
            }
        }
        if (kept.answer) {
            missed.fate = CacheFate::kStale;
        }
        if (entrance.result == SharedAnswers::Entrance::Turn::kFailed) {
            co_return failed_with(std::move(entrance.failure));
        }
        const bool is_unusable = entrance.result == SharedAnswers::Entrance::Turn::kUnusable;
        if (!is_unusable) {
            redis_refused_ = false;
        } else if (shared_->redis().config().required) {
            redis_refused_ = redis_refused_ || entrance.is_refused;
            co_return failed_with(redis_is_away());
        }
        if (entrance.result == SharedAnswers::Entrance::Turn::kFound && looks == 0) {
            continue;  // it was stale or nothing that can be read, and is known now
        }
        if (entrance.result == SharedAnswers::Entrance::Turn::kWon ||
            entrance.result == SharedAnswers::Entrance::Turn::kUnusable) {
            co_return co_await fly(std::move(missed), std::move(stake), std::move(entrance.turn),
                                   std::move(ticket), std::move(purge));
        }
        // Another replica asks. Its answer needs no place in a lane here.
        ticket.reset();
        const Instant next = clock_.now() + shared_->pause(looks);
        if (next >= until) {
            co_return failed_with(others_took_too_long());
        }
        co_await clock_.sleep_until(next);
    }
}

Task<Result<Search::SharedResult>> Search::refresh_shared(Missed missed,
                                                          std::shared_ptr<guard::Stake> stake) {
    std::string purge = co_await shared_->current_purge(missed.deadline);
    co_return co_await fly(std::move(missed), std::move(stake), nullptr, std::nullopt,
                           std::move(purge));
}

// What another replica found is kept here, too, and can be served.
std::optional<Search::Remembered> Search::remember(const Missed& missed,
                                                   const SharedAnswers::Kept& kept,
                                                   AnswerCache::Epoch begun) {
    if (!kept.answer) {
        return std::nullopt;
    }
    const CacheConfig& cache = config_.get()->cache;
    const Instant now = clock_.now();
    kept.answer->prepare_to_keep(missed.key, cache.compress_over_bytes);
    Remembered there;
    there.cached.age = now - kept.answer->made_at();
    there.cached.fresh_for =
        lifetime_of(*kept.answer, kept.answer->made_at(), cache).fresh_for - there.cached.age;
    there.cached.answer = kept.answer;
    there.stored = cache_.publish(missed.key, kept.answer, cache, now, begun);
    return there;
}

std::optional<SharedAnswers::Draft> Search::draft_of(const SearchAnswer& answer,
                                                     const CacheConfig& cache, std::string purge) {
    const Instant made_at = answer.made_at() == Instant{} ? clock_.now() : answer.made_at();
    return shared_->draft(answer, lifetime_of(answer, made_at, cache), std::move(purge));
}

Search::SharedResult Search::arrive(const SharedAnswers::Kept& kept, bool stored) {
    Found found;
    found.answer = kept.answer;
    found.degraded = kept.answer->is_degraded();
    found.shared = true;
    found.stored = stored;
    return std::make_shared<const StrategyResult>(std::move(found));
}

Task<bool> Search::purge_shared() {
    return run_on(control_, purge_answers());
}

Task<void> Search::follow_purges() {
    for (;;) {
        if (co_await shared_->was_purged(clock_.now() + kPurgePatience)) {
            const Purged purged = purge_cache();
            log_.info("cache_purged_by_replica",
                      {{"answers", purged.answers}, {"results", purged.results}});
        }
        co_await clock_.sleep_until(clock_.now() + kPurgeLookEvery);
    }
}

Task<bool> Search::purge_answers() {
    return shared_->purge(clock_.now() + kPurgePatience);
}

}  // namespace sluice::web
