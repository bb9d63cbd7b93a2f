// The failover strategy: providers in route order, keys inside each, and blame decides what is
// tried next. A key's fault: the next key of the same provider. A provider's fault: the next
// provider. The caller's fault: stop. An empty answer: the next provider; if all are empty the
// answer is empty.
#pragma once

#include "base/task.h"
#include "web/strategy.h"

namespace sluice::web {

// As run_strategy().
Task<StrategyResult> run_failover(const SearchWork& work);

}  // namespace sluice::web
