// The merge strategy: several providers of the route at once, their lists made one by web/fusion.h.
// The first answer within the deadline is enough; the others have merge.wait_s more. A provider
// that can't be asked, or has nothing while nobody has answered, is replaced by the next of the
// route. The caller's fault, said by anyone of them, stops everything: what was found before it is
// served, degraded, and else the refusal.
#pragma once

#include "base/task.h"
#include "web/strategy.h"

#include <string_view>

namespace sluice::web {

// Who gave a merged answer; each hit has its own provider.
inline constexpr std::string_view kMergeProvider = "merge";

// As run_strategy(). An answer is degraded when one of the asked failed.
Task<StrategyResult> run_merge(const SearchWork& work);

}  // namespace sluice::web
