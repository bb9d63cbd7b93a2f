#include "web/charge.h"

namespace sluice::web {

bool never_left(const Result<io::ClientResponse>& response) {
    return !response.ok() && response.error().blame == Blame::kGateway;
}

std::optional<Cost> charge_for(const EndedCall& call) {
    switch (call.outcome) {
        case Outcome::kSuccess:
        case Outcome::kEmpty:
            if (!call.response.ok() || call.response->status >= 300) {
                return std::nullopt;  // emptiness that an error told of
            }
            return call.told ? at_price(call.spec, call.price, *call.told) : call.expected;
        case Outcome::kUnparseable:
            return call.expected;
        case Outcome::kTimeout:
        case Outcome::kCancelled:
            return never_left(call.response) ? std::nullopt : std::optional(call.expected);
        case Outcome::kRateLimited:
        case Outcome::kAuthFailed:
        case Outcome::kQuotaExhausted:
        case Outcome::kPlanLimit:
        case Outcome::kConnectError:
        case Outcome::kServerError:
        case Outcome::kBadRequest:
        case Outcome::kBlocked:
        case Outcome::kSkippedCircuit:
        case Outcome::kSkippedNoKey:
        case Outcome::kSkippedCapability:
        case Outcome::kSkippedBudget:
            return std::nullopt;
    }
    SLUICE_ASSERT(false && "an Outcome outside its enumeration");
}

}  // namespace sluice::web
