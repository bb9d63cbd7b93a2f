// Why a provider is passed over, in the words that traces, errors and explanations use. Belongs to
// the control loop.
#pragma once

#include "access/budget.h"
#include "base/clock.h"
#include "base/result.h"
#include "web/call_types.h"
#include "web/key_runtime.h"
#include "web/provider_state.h"
#include "web/types.h"

#include <optional>
#include <string>
#include <string_view>

namespace sluice::web {

struct Skip {
    Outcome outcome = Outcome::kSkippedCapability;
    std::string detail = {};
    std::optional<Blame> blame =
        {};  // whose fault it is that a provider which could answer is not asked
};

// It can't honour a constraint of the request.
Skip skip_for_constraint(std::string_view constraint);
// Its circuit is open, or another call is the probe.
Skip skip_for_circuit(const ProviderState& state, const Clock& clock);
// It refuses every key for a while.
Skip skip_for_rest(const ProviderState& state, const Clock& clock);
// Its rate of calls leaves no turn in time.
Skip skip_for_rate(const ProviderState& state, const RateLimit& limit, const Clock& clock);
Skip skip_for_key(const NoKey& none);
// The same with what is known of the provider's keys: whether they rest since they were refused.
Skip skip_for_key(const NoKey& none, const KeyCounts& counts);
// Its time was over before what it uses up was written down.
Skip skip_for_time();
// Nobody waits for the answer any more.
Skip skip_for_absence();
// What the call costs may not be spent.
Skip skip_for_budget(const access::BudgetRefusal& refusal);
// It searches by an engine, and neither the key nor the settings name one.
Skip skip_for_engine(const ProviderState& state);

// The end of a call that is not made for that reason, which is counted.
CallResult passed_over(ProviderState& state, Skip skip);

}  // namespace sluice::web
