#include "surface/rest/spend_json.h"

#include <string>

namespace sluice::surface {

double to_usd(std::int64_t micro_usd) {
    return static_cast<double>(micro_usd) / static_cast<double>(access::kMicroUsd);
}

void write_spent(JsonWriter& json, const access::Spent& spent) {
    json.field("calls", spent.calls).field("units", spent.units);
    json.field("cost_usd", to_usd(spent.micro_usd));
}

void write_standing(JsonWriter& json, const access::Budgets::Standing& standing) {
    json.begin_object();
    for (const access::Period period : access::kEachPeriod) {
        json.key(to_string(period)).begin_object();
        write_spent(json, standing.spent[index_of(period)]);
        json.end_object();
    }
    if (standing.limits.any()) {
        json.key("limits").begin_object();
        for (const access::Period period : access::kEachPeriod) {
            const std::string name(to_string(period));
            if (const std::int64_t usd = standing.limits.micro_usd[index_of(period)]; usd > 0) {
                json.field("usd_" + name, to_usd(usd));
            }
            if (const std::int64_t calls = standing.limits.calls[index_of(period)]; calls > 0) {
                json.field("calls_" + name, calls);
            }
        }
        json.end_object();
    }
    json.end_object();
}

}  // namespace sluice::surface
