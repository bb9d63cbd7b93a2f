// The hedge strategy: failover that does not wait for a slow one. When a provider takes longer than
// 95 of 100 of its recent successes took, the next of the route is asked as well, and the first
// answer wins; the other call is cancelled. At most two are under way, and web/hedge_budget.h
// bounds how many second calls are made at all.
#pragma once

#include "base/task.h"
#include "web/strategy.h"

namespace sluice::web {

// As run_strategy().
Task<StrategyResult> run_hedge(const SearchWork& work);

}  // namespace sluice::web
