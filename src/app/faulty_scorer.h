// Lets scorings of title searches go wrong as a script says, so that site owners see what visitors
// see then.
#pragma once

#include "io/fault_script.h"
#include "obs/metrics.h"
#include "titles/search.h"

namespace sluice::app {

// In front of `inner`. A delay keeps the thread taken, and ends early for a caller who leaves; a
// failure is an exception. Scorings are counted as they begin, over all searches, from 1; what is
// in the cache is none. `metrics` outlives it.
titles::TitleScorer faulty_scorer(titles::TitleScorer inner, const io::FaultScript& script,
                                  obs::Metrics& metrics);

}  // namespace sluice::app
