#include "access/metrics.h"

namespace sluice::access {

const obs::MetricSpec kRefused = {
    obs::MetricType::kCounter,
    "sluice_access_refused_total",
    "Requests that were refused because of who sent them, by reason.",
    {"reason"},
};

const obs::MetricSpec kTokens = {
    obs::MetricType::kGauge,
    "sluice_access_tokens",
    "API tokens that are not revoked.",
    {},
};

const obs::MetricSpec kTokenRefreshFailures = {
    obs::MetricType::kCounter,
    "sluice_access_token_refresh_failures_total",
    "Times that the token store could not be read; the tokens last known stay in force.",
    {},
};

const obs::MetricSpec kSpendUsd = {
    obs::MetricType::kCounter,
    "sluice_access_spend_usd_total",
    "US dollars that calls to a provider cost, by its own word or by the price table.",
    {"provider"},
};

const obs::MetricSpec kSpendUnits = {
    obs::MetricType::kCounter,
    "sluice_access_spend_units_total",
    "Units that calls to a provider cost: its credits, searches or requests.",
    {"provider"},
};

const obs::MetricSpec kBudgetRefused = {
    obs::MetricType::kCounter,
    "sluice_access_budget_refused_total",
    "Calls that were not made, by the budget that had no room: gateway, provider, token, key; or "
    "store, when spending could not be written down.",
    {"budget"},
};

const obs::MetricSpec kBudgetOverrun = {
    obs::MetricType::kCounter,
    "sluice_access_budget_overrun_usd_total",
    "US dollars that providers charged past a budget, since they charged more than their price "
    "list "
    "says, by the budget.",
    {"budget"},
};

const obs::MetricSpec kBudgetReservations = {
    obs::MetricType::kGauge,
    "sluice_access_budget_reservations",
    "Calls under way that money is kept for.",
    {},
};

const obs::MetricSpec kBudgetStoreLost = {
    obs::MetricType::kGauge,
    "sluice_access_budget_store_lost",
    "1 while spending can't be written down, else 0.",
    {},
};

const obs::MetricSpec kBudgetStoreFailures = {
    obs::MetricType::kCounter,
    "sluice_access_budget_store_failures_total",
    "Writes of spending that failed or took too long.",
    {},
};

const obs::MetricSpec kBudgetsNotShared = {
    obs::MetricType::kGauge,
    "sluice_access_budgets_not_shared",
    "1 while Redis can't say what other replicas spend, or keep what this one does, else 0.",
    {},
};

std::vector<const obs::MetricSpec*> access_metrics() {
    return {&kRefused,
            &kTokens,
            &kTokenRefreshFailures,
            &kSpendUsd,
            &kSpendUnits,
            &kBudgetRefused,
            &kBudgetOverrun,
            &kBudgetReservations,
            &kBudgetStoreLost,
            &kBudgetStoreFailures,
            &kBudgetsNotShared};
}

}  // namespace sluice::access
