// Metrics of the access side.
#pragma once

#include "obs/metrics.h"

#include <vector>

namespace sluice::access {

extern const obs::MetricSpec kRefused;
extern const obs::MetricSpec kTokens;
extern const obs::MetricSpec kTokenRefreshFailures;
extern const obs::MetricSpec kSpendUsd;            // sluice_access_spend_usd_total{provider}
extern const obs::MetricSpec kSpendUnits;          // sluice_access_spend_units_total{provider}
extern const obs::MetricSpec kBudgetRefused;       // sluice_access_budget_refused_total{budget}
extern const obs::MetricSpec kBudgetOverrun;       // sluice_access_budget_overrun_usd_total{budget}
extern const obs::MetricSpec kBudgetReservations;  // sluice_access_budget_reservations
extern const obs::MetricSpec kBudgetStoreLost;     // sluice_access_budget_store_lost
extern const obs::MetricSpec kBudgetStoreFailures;  // sluice_access_budget_store_failures_total
extern const obs::MetricSpec kBudgetsNotShared;     // sluice_access_budgets_not_shared

std::vector<const obs::MetricSpec*> access_metrics();

}  // namespace sluice::access
