#include "web/provider_rate.h"

#include <memory>
#include <utility>

namespace sluice::web {

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
    const bool is_present = rate_ != nullptr && rate_->queue_ && rate_->number_ == queue_;
    return is_present ? &*rate_->queue_ : nullptr;
}

bool RateTurn::start(Instant now) {
    guard::TurnQueue* const present = queue();
    started_ = present != nullptr ? present->start(turn_, now) : now >= turn_.at;
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

std::optional<RateTurn> ProviderRate::take(const RateLimit& limit, Instant now, Instant latest) {
    if (limit != limit_) {
        limit_ = limit;
        number_ += 1;
        queue_.reset();
        if (limit.tokens > 0) {
            queue_.emplace(guard::TokenBucketConfig{limit.tokens, limit.interval});
        }
    }
    if (!queue_) {
        return RateTurn(nullptr, number_, {0, now});
    }
    const auto turn = queue_->promise(now, latest);
    if (!turn) {
        return std::nullopt;
    }
    return RateTurn(this, number_, *turn);
}

Instant ProviderRate::next_turn(const RateLimit& limit, Instant now) const {
    if (limit != limit_ || !queue_) {
        return now;
    }
    return queue_->next(now);
}

}  // namespace sluice::web
