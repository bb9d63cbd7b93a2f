#include "guard/token_bucket.h"

#include "base/result.h"

#include <algorithm>
#include <chrono>

namespace sluice::guard {

namespace {

constexpr std::int64_t kMaxTokens = 1'000'000;
constexpr Duration kMaxInterval = std::chrono::days(366);

}  // namespace

Duration time_per_token(const TokenBucketConfig& config) {
    SLUICE_ASSERT(config.tokens >= 1 && config.tokens <= kMaxTokens);
    SLUICE_ASSERT(config.interval >= Duration(config.tokens) && config.interval <= kMaxInterval);
    return Duration((config.interval.count() + config.tokens - 1) / config.tokens);
}

TokenBucket::TokenBucket(TokenBucketConfig config)
    : tokens_(config.tokens),
      per_token_(time_per_token(config)),
      full_at_(Instant::min()),
      latest_now_(Instant::min()) {}

Instant TokenBucket::full_at(Instant now) const {
    return std::max(full_at_, now);
}

bool TokenBucket::try_take(std::int64_t amount, Instant now) {
    latest_now_ = std::max(latest_now_, now);
    const std::optional<Instant> when = earliest(amount, latest_now_);
    if (!when || *when > latest_now_) {
        return false;
    }
    full_at_ = full_at(latest_now_) + amount * per_token_;
    return true;
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

std::int64_t TokenBucket::available(Instant now) const {
    const Instant from = std::max(now, latest_now_);
    const Duration missing = full_at(from) - from;
    const std::int64_t missing_tokens = (missing + per_token_ - Duration(1)) / per_token_;
    return std::max<std::int64_t>(tokens_ - missing_tokens, 0);
}

}  // namespace sluice::guard
