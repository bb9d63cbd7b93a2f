#include "surface/rest/keys.h"

#include "base/rfc3339.h"
#include "surface/common/errors.h"
#include "surface/common/responses.h"
#include "surface/rest/key_request.h"

#include <optional>
#include <utility>
#include <vector>

namespace sluice::surface {

namespace {

std::string id_of(const io::HttpRequest& request, std::string_view pattern) {
    return std::string(path_parameter(pattern, request.path).value_or(""));
}

std::string render_record(const web::KeyReport& report, const Moment& moment) {
    std::string body;
    JsonWriter json(body);
    write_key_record(json, report, moment);
    return body;
}

Moment moment_of(const Clock& clock) {
    return {clock.now(), clock.wall_now()};
}

Task<io::HttpResponse> render_list(Task<std::vector<web::KeyReport>> work, const Clock& clock) {
    const std::vector<web::KeyReport> reports = co_await std::move(work);
    std::string body;
    JsonWriter json(body);
    json.begin_object().key("keys").begin_array();
    for (const web::KeyReport& report : reports) {
        write_key_record(json, report, moment_of(clock));
    }
    json.end_array().end_object();
    co_return json_response(std::move(body));
}

Task<io::HttpResponse> render_one(Task<Result<web::KeyReport>> work, int status, RequestId id,
                                  const Clock& clock) {
    const Result<web::KeyReport> report = co_await std::move(work);
    if (!report.ok()) {
        co_return problem(report.error(), id);
    }
    io::HttpResponse response = json_response(render_record(*report, moment_of(clock)));
    response.status = status;
    if (status == 201) {
        response.headers += "Location: /v1/keys/" + report->record.id + "\r\n";
    }
    co_return response;
}

Task<io::HttpResponse> render_removed(Task<Status> work, RequestId id) {
    const Status removed = co_await std::move(work);
    if (!removed.ok()) {
        co_return problem(removed.error(), id);
    }
    io::HttpResponse response;
    response.status = 204;
    response.headers = "Cache-Control: no-store\r\n";
    co_return response;
}

Task<io::HttpResponse> render_test(Task<Result<web::KeyTest>> work, std::string key_id,
                                   RequestId id) {
    const Result<web::KeyTest> test = co_await std::move(work);
    if (!test.ok()) {
        co_return problem(test.error(), id);
    }
    std::string body;
    JsonWriter json(body);
    json.begin_object().field("id", key_id).field("result", to_string(test->verdict));
    json.field("outcome", to_string(test->outcome));
    if (test->status != 0) {
        json.field("status", test->status);
    }
    json.field("latency_ms", test->latency.count());
    if (!test->detail.empty()) {
        json.field("detail", test->detail);
    }
    json.end_object();
    co_return json_response(std::move(body));
}

}  // namespace

KeysDoor::KeysDoor(web::KeyAdmin& keys, access::Access& access, const Clock& clock)
    : keys_(keys), access_(access), clock_(clock) {}

Result<access::Caller> KeysDoor::require_admin(const io::HttpRequest& request) const {
    return access_.identify(access_.credentials_of(request), access::Scope::kAdmin);
}

io::HttpReply KeysDoor::list(const io::HttpRequest& request) {
    const auto caller = require_admin(request);
    if (!caller.ok()) {
        return problem(caller.error(), request.context.id);
    }
    return render_list(keys_.list(), clock_);
}

io::HttpReply KeysDoor::add(const io::HttpRequest& request) {
    const auto caller = require_admin(request);
    if (!caller.ok()) {
        return problem(caller.error(), request.context.id);
    }
    if (const auto error = check_json_body(request)) {
        return problem(*error, request.context.id);
    }
    Result<web::NewKey> key = parse_new_key(request.body);
    if (!key.ok()) {
        return problem(key.error(), request.context.id);
    }
    return render_one(keys_.add(*std::move(key)), 201, request.context.id, clock_);
}

io::HttpReply KeysDoor::get(const io::HttpRequest& request) {
    const auto caller = require_admin(request);
    if (!caller.ok()) {
        return problem(caller.error(), request.context.id);
    }
    return render_one(keys_.get(id_of(request, kKeyPath)), 200, request.context.id, clock_);
}

io::HttpReply KeysDoor::change(const io::HttpRequest& request) {
    const auto caller = require_admin(request);
    if (!caller.ok()) {
        return problem(caller.error(), request.context.id);
    }
    if (const auto error = check_json_body(request)) {
        return problem(*error, request.context.id);
    }
    Result<web::KeyChange> change = parse_key_change(request.body);
    if (!change.ok()) {
        return problem(change.error(), request.context.id);
    }
    return render_one(keys_.change(id_of(request, kKeyPath), *std::move(change)), 200,
                      request.context.id, clock_);
}

io::HttpReply KeysDoor::remove(const io::HttpRequest& request) {
    const auto caller = require_admin(request);
    if (!caller.ok()) {
        return problem(caller.error(), request.context.id);
    }
    return render_removed(keys_.remove(id_of(request, kKeyPath)), request.context.id);
}

io::HttpReply KeysDoor::test(const io::HttpRequest& request) {
    auto caller = require_admin(request);
    if (!caller.ok()) {
        return problem(caller.error(), request.context.id);
    }
    std::string id = id_of(request, kKeyTestPath);
    return render_test(keys_.test(id, access::payer_of(*std::move(caller))), id,
                       request.context.id);
}

std::vector<Route> key_routes(KeysDoor& keys) {
    using io::HttpRequest;
    using io::Method;
    return {
        {Method::kGet, "/v1/keys", [&](const HttpRequest& r) { return keys.list(r); }},
        {Method::kPost, "/v1/keys", [&](const HttpRequest& r) { return keys.add(r); }},
        {Method::kGet, std::string(kKeyPath), [&](const HttpRequest& r) { return keys.get(r); }},
        {Method::kPatch, std::string(kKeyPath),
         [&](const HttpRequest& r) { return keys.change(r); }},
        {Method::kDelete, std::string(kKeyPath),
         [&](const HttpRequest& r) { return keys.remove(r); }},
        {Method::kPost, std::string(kKeyTestPath),
         [&](const HttpRequest& r) { return keys.test(r); }},
    };
}

void write_key_record(JsonWriter& json, const web::KeyReport& report, const Moment& moment) {
    const web::KeyRecord& record = report.record;
    const web::KeyHealth& health = report.health;
    json.begin_object().field("id", record.id).field("provider", record.provider);
    json.field("label", record.label).field("account", record.account);
    json.field("last4", record.last4).field("state", to_string(record.state));
    json.field("status", to_string(health.status)).key("until");
    if (health.until) {
        json.value(rfc3339(moment.wall + (*health.until - moment.now)));
    } else {
        json.null();
    }
    json.field("in_flight", health.in_flight).field("max_in_flight", health.max_in_flight);
    json.field("weight", record.weight);
    if (record.quota) {
        json.key("quota").begin_object().field("limit", record.quota->limit);
        json.field("per", period_text(*record.quota)).end_object();
    }
    json.field("used", health.used);
    if (!record.engine_id.empty()) {
        json.field("engine_id", record.engine_id);
    }
    json.key("last_outcome");
    if (health.last_outcome) {
        json.value(to_string(*health.last_outcome));
    } else {
        json.null();
    }
    json.field("created_at", rfc3339(record.created_at)).end_object();
}

}  // namespace sluice::surface
