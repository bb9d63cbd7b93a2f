#include "web/hedge_budget.h"

#include "web/metrics.h"

#include <algorithm>

namespace sluice::web {

HedgeBudget::HedgeBudget(obs::Metrics& metrics)
    : started_(metrics.counter(kHedges, {"started"})),
      won_(metrics.counter(kHedges, {"won"})),
      denied_(metrics.counter(kHedges, {"denied"})),
      unused_(metrics.counter(kHedges, {"unused"})) {}

void HedgeBudget::earn(double ratio) {
    credit_ = std::min(credit_ + ratio, kBurst);
}

bool HedgeBudget::spend(double ratio) {
    if (ratio <= 0 || credit_ < 1) {
        denied_.add();
        return false;
    }
    credit_ -= 1;
    started_.add();
    return true;
}

void HedgeBudget::refund() {
    credit_ = std::min(credit_ + 1, kBurst);
    unused_.add();
}

}  // namespace sluice::web
