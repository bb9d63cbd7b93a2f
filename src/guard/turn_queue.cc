#include "guard/turn_queue.h"

#include "base/result.h"

#include <algorithm>

namespace sluice::guard {

TurnQueue::TurnQueue(TokenBucketConfig config)
    : per_token_(time_per_token(config)), burst_((config.tokens - 1) * per_token_) {}

Instant TurnQueue::when(Instant full, Instant now) const {
    return std::max(now, full - burst_);
}

// Those who were promised a turn need a token each, from now on at the earliest.
Instant TurnQueue::full_with_promises(Instant now) const {
    const Instant at_least = std::max(full_at_, now) + waiting_ * per_token_;
    return waiting_ == 0 ? at_least : std::max(promised_, at_least);
}

Instant TurnQueue::next(Instant now) const {
    return when(full_with_promises(now), now);
}

std::optional<TurnQueue::Turn> TurnQueue::promise(Instant now, Instant latest) {
    const Instant full = full_with_promises(now);
    const Instant at = when(full, now);
    if (at > latest) {
        return std::nullopt;
    }
    promised_ = full + per_token_;
    waiting_ += 1;
    last_promised_ += 1;
    return Turn{last_promised_, at};
}

bool TurnQueue::start(Turn& turn, Instant now) {
    turn.at = std::max(turn.at, when(full_at_, now));
    if (turn.at > now) {
        return false;
    }
    SLUICE_ASSERT(waiting_ > 0);
    full_at_ = std::max(full_at_, now) + per_token_;
    waiting_ -= 1;
    last_started_ = turn.number;
    return true;
}

void TurnQueue::leave(const Turn& turn) {
    SLUICE_ASSERT(waiting_ > 0);
    waiting_ -= 1;
    if (turn.number == last_promised_) {
        promised_ -= per_token_;
        last_promised_ -= 1;
    }
}

void TurnQueue::undo(const Turn& turn) {
    if (turn.number == last_started_) {
        full_at_ -= per_token_;
        last_started_ = 0;
    }
}

void TurnQueue::note_started(std::int64_t calls, Instant now) {
    const Instant empty = now + tokens() * per_token_;
    const Instant at = std::max(full_at_, now) + std::min(calls, tokens()) * per_token_;
    full_at_ = std::min(at, std::max(full_at_, empty));
}

std::int64_t TurnQueue::missing(Instant now) const {
    const Duration flowing_in = std::max(full_at_, now) - now;
    return (flowing_in + per_token_ - Duration(1)) / per_token_;
}

}  // namespace sluice::guard
