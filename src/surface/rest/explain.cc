#include "surface/rest/explain.h"

#include "base/json.h"
#include "surface/common/responses.h"
#include "surface/rest/constraints.h"
#include "surface/rest/recent.h"

#include <string>
#include <utility>

namespace sluice::surface {

namespace {

void write_outlook(JsonWriter& json, const web::ProviderOutlook& outlook) {
    json.begin_object();
    json.field("provider", outlook.name);
    json.field("usable", !outlook.passed_over.has_value());
    if (outlook.outcome) {
        json.field("outcome", to_string(*outlook.outcome));
    }
    if (outlook.passed_over) {
        json.field("detail", *outlook.passed_over);
    }
    if (outlook.kept) {
        json.field("kept", true);
    }
    if (!outlook.key_id.empty()) {
        json.field("key_id", outlook.key_id);
    }
    if (!outlook.egress.empty()) {
        json.field("egress", outlook.egress);
    }
    if (outlook.turn_in > Millis::zero()) {
        json.field("turn_in_ms", outlook.turn_in.count());
    }
    write_constraints(json, outlook.constraints);
    if (!outlook.unit.empty()) {
        json.key("price").begin_object();
        json.field("units", outlook.price.units);
        json.field("unit", outlook.unit);
        json.field("usd", static_cast<double>(outlook.price.micro_usd) / 1e6);
        json.end_object();
    }
    if (outlook.recent.success_ratio) {
        json.key("recent");
        write_recent(json, outlook.recent);
    }
    json.end_object();
}

}  // namespace

io::HttpResponse render_explanation(const web::Explanation& explanation, const RequestId& id) {
    std::string body;
    JsonWriter json(body);
    json.begin_object();
    json.field("object", "explanation");
    json.field("request_id", id.text());
    json.field("lane", to_string(explanation.lane));
    json.field("strategy", to_string(explanation.strategy));
    json.field("deadline_ms", explanation.deadline.count());
    json.key("cache").begin_object();
    json.field("mode", to_string(explanation.cache));
    json.field("entry", to_string(explanation.entry));
    json.end_object();
    json.key("scheduler").begin_object();
    json.field("running", explanation.scheduler.running);
    json.field("queued", explanation.scheduler.queued);
    json.field("concurrency", explanation.concurrency);
    json.end_object();
    json.key("route").begin_array();
    for (const web::ProviderOutlook& outlook : explanation.route) {
        write_outlook(json, outlook);
    }
    json.end_array().end_object();
    return json_response(std::move(body));
}

}  // namespace sluice::surface
