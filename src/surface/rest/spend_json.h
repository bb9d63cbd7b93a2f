// Money as the native API shows it: calls, a provider's own units, US dollars.
#pragma once

#include "access/budget.h"
#include "access/spending.h"
#include "base/json.h"

#include <cstdint>

namespace sluice::surface {

// Dollars for JSON; exact to the millionth below some billions.
double to_usd(std::int64_t micro_usd);

// The members calls, units and cost_usd, inside an object.
void write_spent(JsonWriter& json, const access::Spent& spent);

// An object with what was spent by period and, where there are any, the limits.
void write_standing(JsonWriter& json, const access::Budgets::Standing& standing);

}  // namespace sluice::surface
