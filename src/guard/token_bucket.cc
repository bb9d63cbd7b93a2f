#include "guard/token_bucket.h"

#include "base/result.h"

#include <algorithm>
#include <chrono>

namespace sluice::guard {

namespace {

constexpr std::int64_t kMaxTokens = 1'000'000;
constexpr Duration kMaxInterval = std::chrono::days(366);

}  // namespace

TokenBucket::TokenBucket(TokenBucketConfig config)
    : tokens_(config.tokens), per_token_(0), full_at_(Instant::min()), latest_now_(Instant::min()) {
    SLUICE_ASSERT(config.tokens >= 1 && config.tokens <= kMaxTokens);
    SLUICE_ASSERT(config.interval >= Duration(config.tokens) && config.interval <= kMaxInterval);
    per_token_ = Duration((config.interval.count() + config.tokens - 1) / config.tokens);
}

Instant TokenBucket::full_at(Instant now) const {
    return std::max(full_at_, now);
}

bool TokenBucket::try_take(std::int64_t amount, Instant now) {
    latest_now_ = std::max(latest_now_, now);
    return reserve(amount, latest_now_, latest_now_).has_value();
}

std::optional<Instant> TokenBucket::earliest(std::int64_t amount, Instant now) const {
    SLUICE_ASSERT(amount > 0);
    if (amount > tokens_) {
        return std::nullopt;
    }
    const Instant from = std::max(now, latest_now_);
    // `amount` are there as soon as only the others are missing.
    return std::max(from, full_at(from) - (tokens_ - amount) * per_token_);
}

std::optional<Instant> TokenBucket::reserve(std::int64_t amount, Instant now, Instant latest) {
    latest_now_ = std::max(latest_now_, now);
    const std::optional<Instant> when = earliest(amount, latest_now_);
    if (!when || *when > latest) {
        return std::nullopt;
    }
    full_at_ = full_at(latest_now_) + amount * per_token_;
    return when;
}

void TokenBucket::give_back(std::int64_t amount) {
    SLUICE_ASSERT(amount > 0);
    if (full_at_ != Instant::min()) {
        full_at_ -= amount * per_token_;
    }
}

std::int64_t TokenBucket::available(Instant now) const {
    const Instant from = std::max(now, latest_now_);
    const Duration missing = full_at(from) - from;
    const std::int64_t missing_tokens = (missing + per_token_ - Duration(1)) / per_token_;
    return std::max<std::int64_t>(tokens_ - missing_tokens, 0);
}

}  // namespace sluice::guard
