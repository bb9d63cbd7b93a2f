#include "web/charge.h"

#include "io/egress.h"

namespace sluice::web {
namespace {

bool is_success(const Result<io::ClientResponse>& response) {
    return response.ok() && response->status < 300;
}

}  // namespace

bool never_left(const Result<io::ClientResponse>& response) {
    return io::is_fault_of_proxy(response) ||
           (!response.ok() && response.error().blame == Blame::kGateway);
}

bool is_unsent(const Result<io::ClientResponse>& response) {
    return never_left(response) || io::may_go_another_way(response);
}

std::optional<Cost> charge_for(const EndedCall& call) {
    switch (call.outcome) {
        case Outcome::kSuccess:
        case Outcome::kEmpty:
            if (!is_success(call.response)) {
                return std::nullopt;  // emptiness that an error told of
            }
            return call.told ? at_price(call.spec, call.price, *call.told) : call.expected;
        case Outcome::kUnparseable:
            return call.expected;
        case Outcome::kTimeout:
        case Outcome::kCancelled:
            return never_left(call.response) ? std::nullopt : std::optional(call.expected);
        case Outcome::kBlocked:  // in place of an answer that the provider may have given
            return is_success(call.response) ? std::optional(call.expected) : std::nullopt;
        case Outcome::kRateLimited:
        case Outcome::kAuthFailed:
        case Outcome::kQuotaExhausted:
        case Outcome::kPlanLimit:
        case Outcome::kConnectError:
        case Outcome::kServerError:
        case Outcome::kBadRequest:
        case Outcome::kSkippedCircuit:
        case Outcome::kSkippedNoKey:
        case Outcome::kSkippedCapability:
        case Outcome::kSkippedBudget:
            return std::nullopt;
    }
    SLUICE_ASSERT(false && "an Outcome outside its enumeration");
}

}  // namespace sluice::web
