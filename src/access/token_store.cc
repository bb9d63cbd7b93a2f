#include "access/token_store.h"

#include "base/text.h"

#include <utility>

namespace sluice::access {

namespace {

Error invalid(std::string message) {
    return Error{Code::kInvalidRequest, Blame::kCaller, std::move(message), std::nullopt};
}

}  // namespace

Status validate(const NewToken& token, WallTime now) {
    if (token.scopes.empty()) {
        return invalid("a token needs at least one scope: search, status or admin");
    }
    if (token.label.size() > kMaxTokenLabelBytes) {
        return invalid("a token's label is at most " + std::to_string(kMaxTokenLabelBytes) +
                       " bytes");
    }
    // Labels are printed by commands: what could steer a terminal stays out.
    if (!is_valid_utf8(token.label) || has_control_characters(token.label)) {
        return invalid("a token's label is UTF-8 text without control characters");
    }
    if (token.expires_at && *token.expires_at <= now) {
        return invalid("a token cannot expire in the past");
    }
    if (token.requests_per_minute &&
        (*token.requests_per_minute < 0 || *token.requests_per_minute > kMaxRequestsPerMinute)) {
        return invalid("a token's requests per minute are 0 (no limit) to " +
                       std::to_string(kMaxRequestsPerMinute));
    }
    for (std::size_t i = 0; i < kPeriods; ++i) {
        const std::int64_t calls = token.budget.calls[i].value_or(0);
        const std::int64_t micro_usd = token.budget.micro_usd[i].value_or(0);
        if (calls < 0 || calls > kMaxBudgetCalls || micro_usd < 0 ||
            micro_usd > kMaxBudgetUsd * kMicroUsd) {
            return invalid("a token's budget is 0 (no limit) to " + std::to_string(kMaxBudgetUsd) +
                           " dollars or " + std::to_string(kMaxBudgetCalls) + " calls");
        }
    }
    return {};
}

}  // namespace sluice::access
