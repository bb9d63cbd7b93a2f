#include "web/provider_rate.h"

#include <utility>

namespace sluice::web {

RateTurn::RateTurn(RateTurn&& other) noexcept
    : rate_(std::exchange(other.rate_, nullptr)),
      bucket_(other.bucket_),
      at_(other.at_),
      used_(other.used_) {}

RateTurn::~RateTurn() {
    if (!used_) {
        give_back();
    }
}

void RateTurn::use() {
    used_ = true;
}

void RateTurn::give_back() {
    ProviderRate* rate = std::exchange(rate_, nullptr);
    if (rate != nullptr && rate->bucket_ && rate->number_ == bucket_) {
        rate->bucket_->give_back(1);
    }
}

std::optional<RateTurn> ProviderRate::take(const RateLimit& limit, Instant now, Instant latest) {
    if (limit != limit_) {
        limit_ = limit;
        number_ += 1;
        bucket_.reset();
        if (limit.tokens > 0) {
            bucket_.emplace(guard::TokenBucketConfig{limit.tokens, limit.interval});
        }
    }
    if (!bucket_) {
        return RateTurn(nullptr, number_, now);
    }
    const std::optional<Instant> at = bucket_->reserve(1, now, latest);
    if (!at) {
        return std::nullopt;
    }
    return RateTurn(this, number_, *at);
}

Instant ProviderRate::next_turn(const RateLimit& limit, Instant now) const {
    if (limit != limit_ || !bucket_) {
        return now;
    }
    return bucket_->earliest(1, now).value_or(now);
}

}  // namespace sluice::web
