#include "web/provider_rate.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace sluice::web {

namespace {

// Searches under the one before are over when there is a third.
constexpr std::size_t kLimitsKept = 2;

}  // namespace

RateTurn::RateTurn(RateTurn&& other) noexcept
    : rate_(std::exchange(other.rate_, nullptr)),
      queue_(other.queue_),
      turn_(other.turn_),
      started_(other.started_) {}

RateTurn::~RateTurn() {
    guard::TurnQueue* const present = queue();
    if (present != nullptr && !started_) {
        present->leave(turn_);
    }
}

guard::TurnQueue* RateTurn::queue() const {
    if (rate_ == nullptr) {
        return nullptr;
    }
    const auto found = std::ranges::find(rate_->queues_, queue_, &ProviderRate::Queue::number);
    return found == rate_->queues_.end() ? nullptr : &found->turns;
}

bool RateTurn::start(Instant now) {
    guard::TurnQueue* const present = queue();
    started_ = present != nullptr ? present->start(turn_, now) : now >= turn_.at;
    if (started_ && rate_ != nullptr) {
        rate_->note_started(queue_, now);
    }
    return started_;
}

void RateTurn::give_back() {
    guard::TurnQueue* const present = queue();
    if (present != nullptr && started_) {
        present->undo(turn_);
    }
}

Task<bool> start_in_turn(RateTurn& turn, Clock& clock, Instant latest) {
    while (!turn.start(clock.now())) {
        if (turn.at() > latest) {
            co_return false;
        }
        auto alarm = std::make_shared<Alarm>(co_await boost::asio::this_coro::executor);
        co_await clock.wait(std::move(alarm), turn.at());
        if (clock.now() < turn.at()) {
            co_return false;
        }
    }
    co_return true;
}

const ProviderRate::Queue* ProviderRate::find(const RateLimit& limit) const {
    const auto found = std::ranges::find(queues_, limit, &Queue::limit);
    return found == queues_.end() ? nullptr : &*found;
}

ProviderRate::Queue ProviderRate::made_for(const RateLimit& limit, Instant now) const {
    guard::TurnQueue turns(guard::TokenBucketConfig{limit.tokens, limit.interval});
    if (!queues_.empty()) {
        turns.note_started(queues_.front().turns.missing(now), now);
    }
    return Queue{limit, number_ + 1, turns};
}

// Under one limit, which the others hear of.
void ProviderRate::note_started(std::uint64_t queue, Instant now) {
    for (Queue& other : queues_) {
        if (other.number != queue) {
            other.turns.note_started(1, now);
        }
    }
}

std::optional<RateTurn> ProviderRate::take(const RateLimit& limit, Instant now, Instant latest) {
    if (limit.tokens == 0) {
        return RateTurn(nullptr, 0, {0, now});
    }
    if (find(limit) == nullptr) {
        queues_.push_front(made_for(limit, now));
        number_ += 1;
        if (queues_.size() > kLimitsKept) {
            queues_.pop_back();
        }
    }
    Queue& queue = *std::ranges::find(queues_, limit, &Queue::limit);
    const auto turn = queue.turns.promise(now, latest);
    if (!turn) {
        return std::nullopt;
    }
    return RateTurn(this, queue.number, *turn);
}

Instant ProviderRate::next_turn(const RateLimit& limit, Instant now) const {
    if (limit.tokens == 0) {
        return now;
    }
    const Queue* queue = find(limit);
    return queue != nullptr ? queue->turns.next(now) : made_for(limit, now).turns.next(now);
}

}  // namespace sluice::web
