#include "sim/payers.h"

#include "access/tokens.h"

#include <utility>

namespace sluice::sim {

using access::Period;

namespace {

// About what a call costs.
constexpr std::uint64_t kMicroUsdPerCall = 5'000;

access::OwnLimits own(const access::Limits& limits) {
    access::OwnLimits own;
    for (const Period period : access::kEachPeriod) {
        const std::size_t i = index_of(period);
        if (limits.calls[i] != 0) {
            own.calls[i] = limits.calls[i];
        }
        if (limits.micro_usd[i] != 0) {
            own.micro_usd[i] = limits.micro_usd[i];
        }
    }
    return own;
}

}  // namespace

access::Limits random_limits(Random& random, std::int64_t most) {
    const auto calls = static_cast<std::uint64_t>(most);
    access::Limits limits;
    for (const Period period : access::kEachPeriod) {
        if (random.below(4) == 0) {
            limits.calls[index_of(period)] = static_cast<std::int64_t>(1 + random.below(calls));
        }
        if (random.below(4) == 0) {
            limits.micro_usd[index_of(period)] =
                static_cast<std::int64_t>((1 + random.below(calls)) * kMicroUsdPerCall);
        }
    }
    return limits;
}

Payers::Payers(test::WebHarness& harness, Random& random) {
    payers_.emplace_back();
    std::vector<access::StoredToken> tokens;
    while (payers_.size() < kCount) {
        access::TokenText text = access::make_token_text(random);
        access::StoredToken stored;
        stored.record.id = text.id;
        stored.record.scopes = {access::Scope::kSearch};
        if (random.below(2) == 0) {
            stored.record.budget = own(random_limits(random, 200));
        }
        stored.digest = text.digest;
        payers_.push_back({text.id, std::move(text.token), stored.record.budget});
        tokens.push_back(std::move(stored));
    }
    harness.tokens.reload(std::move(tokens));
}

}  // namespace sluice::sim
