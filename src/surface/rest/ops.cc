#include "surface/rest/ops.h"

#include "base/json.h"
#include "base/rfc3339.h"
#include "surface/common/errors.h"
#include "surface/common/query_string.h"
#include "surface/common/responses.h"
#include "surface/rest/openapi.h"
#include "surface/rest/recent.h"
#include "surface/rest/spend_json.h"
#include "web/provider.h"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace sluice::surface {

namespace {

// By then another gateway has this one's place, or this one has started again.
constexpr Millis kRetryWhileDraining{1'000};

constexpr const char* kReady = R"({"status":"ready"})";

void write_counts(JsonWriter& json, const web::KeyCounts& counts) {
    json.begin_object();
    json.field("available", counts.available);
    json.field("cooling", counts.cooling);
    json.field("exhausted", counts.exhausted);
    json.field("quarantined", counts.quarantined);
    json.field("saturated", counts.saturated);
    json.field("disabled", counts.disabled);
    json.field("in_flight", counts.in_flight);
    json.end_object();
}

void write_lane(JsonWriter& json, const guard::LaneStats& stats, const guard::LaneConfig& config) {
    json.begin_object();
    json.field("running", stats.running);
    json.field("queued", stats.queued);
    json.field("concurrency", config.concurrency);
    json.end_object();
}

void write_scheduler(JsonWriter& json, const web::Search::Overview& overview,
                     const guard::LanesConfig& lanes) {
    json.begin_object();
    json.key("fast");
    write_lane(json, overview.fast, lanes.fast);
    json.key("deep");
    write_lane(json, overview.deep, lanes.deep);
    json.field("flights", overview.flights);
    json.end_object();
}

void write_cache(JsonWriter& json, const web::AnswerCache::Size& size,
                 const web::CacheConfig& cache) {
    json.begin_object();
    json.field("entries", size.entries);
    json.field("bytes", size.bytes);
    json.field("max_bytes", cache.max_bytes);
    json.field("evictions", size.evictions);
    json.end_object();
}

void write_providers(JsonWriter& json, const web::Search::Overview& overview,
                     const web::WebConfig& config) {
    json.begin_object();
    for (const auto& provider : overview.providers) {
        json.key(provider.name).begin_object();
        json.field("enabled", config.provider(provider.name).enabled);
        json.key("recent");
        write_recent(json, provider.recent);
        json.key("spend");
        write_standing(json, provider.spend);
        json.end_object();
    }
    json.end_object();
}

void write_circuits(JsonWriter& json, const web::Search::Overview& overview, WallTime wall_now) {
    json.begin_object();
    for (const auto& provider : overview.providers) {
        const web::ProviderState::CircuitView& circuit = provider.circuit;
        json.key(provider.name).begin_object();
        json.field("state", to_string(circuit.state));
        if (circuit.reopens_in) {
            json.field("reopens_at",
                       rfc3339(wall_now + *circuit.reopens_in, DateDigits::kMilliseconds));
        }
        if (!circuit.reason.empty()) {
            json.field("reason", circuit.reason);
        }
        json.end_object();
    }
    json.end_object();
}

void write_redis(JsonWriter& json, const std::optional<web::Search::Overview::Redis>& redis) {
    json.begin_object();
    json.field("state", !redis ? "off" : redis->view.is_up ? "up" : "down");
    if (redis && redis->required) {
        json.field("refusing", redis->refusing);
    }
    if (redis) {
        json.field("required", redis->required).field("server", redis->view.server);
        if (!redis->view.reason.empty()) {
            json.field("reason", redis->view.reason);
        }
    }
    json.end_object();
}

Task<io::PostgresClient::View> look_at(const io::PostgresClient& database) {
    co_return database.view();
}

// `view`: nothing for files.
void write_database(JsonWriter& json, const std::optional<io::PostgresClient::View>& view) {
    json.begin_object();
    json.field("kind", view ? "postgresql" : "sqlite");
    if (view) {
        json.field("state", view->is_up ? "up" : "down").field("server", view->server);
        if (!view->reason.empty()) {
            json.field("reason", view->reason);
        }
    }
    json.end_object();
}

void write_egress(JsonWriter& json, const io::EgressView& egress) {
    json.begin_object().field("policy", to_string(egress.policy));
    json.key("endpoints").begin_object();
    for (const io::EgressView::Endpoint& endpoint : egress.endpoints) {
        json.key(endpoint.name).begin_object();
        json.field("address", endpoint.address);
        if (!endpoint.country.empty()) {
            json.field("country", endpoint.country);
        }
        json.field("state", endpoint.up ? "up" : "down");
        json.field("since", rfc3339(endpoint.since, DateDigits::kMilliseconds));
        if (!endpoint.last_error.empty()) {
            json.field("last_error", endpoint.last_error);
        }
        json.field("calls", endpoint.calls);
        json.field("failures", endpoint.failures);
        json.end_object();
    }
    json.end_object().end_object();
}

web::KeyCounts sum_of(const std::map<std::string, web::KeyCounts>& keys) {
    web::KeyCounts all;
    for (const auto& [provider, counts] : keys) {
        all.available += counts.available + counts.saturated;
        all.cooling += counts.cooling;
        all.exhausted += counts.exhausted;
        all.quarantined += counts.quarantined;
        all.disabled += counts.disabled;
    }
    return all;
}

bool is_without_keys(const web::KeyCounts& all) {
    return all.active() + all.disabled == 0;
}

// What is wrong with the keys of all providers together, and what to do about it.
std::string why_no_key(const web::KeyCounts& all) {
    if (is_without_keys(all)) {
        return "there is no key; add one with `sluice keys add`, or set " + web::key_variables() +
               " and start again";
    }
    if (all.active() == 0) {
        return "every key is disabled; `sluice keys enable ID` uses one again";
    }
    if (all.available > 0) {
        return "there are keys, but for no provider that is enabled, in a route, and set up: see "
               "providers.<name>.enabled and, where one searches by an engine, .engine_id";
    }
    return std::to_string(all.cooling) + " cooling, " + std::to_string(all.exhausted) +
           " exhausted, " + std::to_string(all.quarantined) + " quarantined, " +
           std::to_string(all.disabled) + " disabled; `sluice keys list` says until when";
}

}  // namespace

OpsDoor::OpsDoor(web::Search& search, access::Access& access, const io::PostgresClient* database,
                 const obs::Metrics& metrics, const Clock& clock, std::string version,
                 TitlesServed titles)
    : search_(search),
      access_(access),
      database_(database),
      metrics_(metrics),
      clock_(clock),
      version_(std::move(version)),
      titles_(titles),
      started_(clock.now()),
      openapi_(std::make_shared<const io::HttpBody>(render_openapi(version_))) {}

io::HttpReply OpsDoor::healthz(const io::HttpRequest&) {
    return json_response(R"({"status":"ok"})");
}

io::HttpReply OpsDoor::readyz(const io::HttpRequest& request) {
    if (draining_.load(std::memory_order_relaxed)) {
        return problem(
            Error{Code::kUnavailable, Blame::kGateway, "shutting down", kRetryWhileDraining},
            request.context.id);
    }
    const std::string need = first_field(request.query, "need").value_or("");
    if (!need.empty() && need != "web" && need != "titles") {
        return problem(invalid_request("need: expected web or titles"), request.context.id);
    }
    return render_readyz(need == "web"      ? Need::kWeb
                         : need == "titles" ? Need::kTitles
                                            : Need::kWhatItIsFor,
                         request.context.id);
}

Task<io::HttpResponse> OpsDoor::render_readyz(Need need, RequestId id) {
    if (!access_.knows_tokens()) {
        const Error error{Code::kUnavailable,
                          Blame::kGateway,
                          "tokens and keys are not known yet: the database can't be used; "
                          "the log says why, as start_incomplete",
                          {}};
        co_return problem(error, id);
    }
    if (need == Need::kTitles) {
        const std::optional<Error> error = co_await titles_trouble();
        co_return error ? problem(*error, id) : json_response(kReady);
    }
    const std::optional<WebTrouble> trouble = co_await web_trouble();
    if (!trouble) {
        co_return json_response(kReady);
    }
    if (need == Need::kWeb || titles_ == TitlesServed::kNo || !trouble->is_without_keys) {
        co_return problem(trouble->error, id);
    }
    if (const std::optional<Error> error = co_await titles_trouble()) {
        co_return problem(*error, id);
    }
    std::string body;
    JsonWriter json(body);
    json.begin_object().field("status", "ready").key("without").begin_object();
    json.field("web", trouble->error.message).end_object().end_object();
    co_return json_response(std::move(body));
}

Task<std::optional<Error>> OpsDoor::titles_trouble() {
    if (titles_ == TitlesServed::kNo) {
        co_return Error{Code::kUnavailable, Blame::kGateway, "titles.enabled is false", {}};
    }
    if (database_ != nullptr) {
        const io::PostgresClient::View view =
            co_await run_on(database_->executor(), look_at(*database_));
        if (!view.is_up) {
            co_return Error{Code::kUnavailable,
                            Blame::kGateway,
                            "pages are in a database that can't be used; /v1/status says why",
                            {}};
        }
    }
    co_return std::nullopt;
}

// Anybody may ask this, and often: what costs more is only looked at to explain a refusal.
Task<std::optional<OpsDoor::WebTrouble>> OpsDoor::web_trouble() {
    const web::Search::Readiness readiness = co_await search_.readiness();
    std::optional<WebTrouble> trouble;
    if (readiness.lacks_redis) {
        trouble.emplace();
        trouble->error =
            Error{Code::kUnavailable,
                  Blame::kGateway,
                  "redis is required and can't be used: it is down, as /v1/status says, or "
                  "refuses to write, as one without memory does",
                  {}};
    } else if (readiness.is_unpaid) {
        trouble.emplace();
        trouble->error =
            Error{Code::kUnavailable,
                  Blame::kGateway,
                  "spending can't be written down, and budgets.on_store_loss is refuse; the "
                  "log says why, as budget_store_lost",
                  {}};
    } else if (!readiness.can_search) {
        const web::Search::Overview overview = co_await search_.overview();
        const web::KeyCounts all = sum_of(overview.keys);
        trouble.emplace();
        trouble->is_without_keys = is_without_keys(all);
        trouble->error =
            Error{Code::kNoUsableKey,
                  Blame::kKey,
                  "no enabled provider of a route has a usable key: " + why_no_key(all),
                  {}};
    }
    co_return trouble;
}

io::HttpReply OpsDoor::status(const io::HttpRequest& request) {
    auto caller = access_.identify(access_.credentials_of(request), access::Scope::kStatus);
    if (!caller.ok()) {
        return problem(caller.error(), request.context.id);
    }
    return render_status();
}

Task<io::HttpResponse> OpsDoor::render_status() {
    const web::Search::Overview overview = co_await search_.overview();
    std::optional<io::PostgresClient::View> database;
    if (database_ != nullptr) {
        database = co_await run_on(database_->executor(), look_at(*database_));
    }
    const std::shared_ptr<const web::WebConfig> config = search_.config();
    std::string body;
    JsonWriter json(body);
    json.begin_object();
    json.field("version", version_);
    json.field("uptime_s",
               std::chrono::duration_cast<std::chrono::seconds>(clock_.now() - started_).count());
    json.key("scheduler");
    write_scheduler(json, overview, config->lanes);
    json.key("circuits");
    write_circuits(json, overview, clock_.wall_now());
    json.key("egress");
    write_egress(json, overview.egress);
    json.key("cache");
    write_cache(json, overview.cache, config->cache);
    json.key("redis");
    write_redis(json, overview.redis);
    json.key("database");
    write_database(json, database);
    json.key("keys").begin_object();
    for (const auto& [provider, counts] : overview.keys) {
        json.key(provider);
        write_counts(json, counts);
    }
    json.end_object();
    json.key("providers");
    write_providers(json, overview, *config);
    json.key("spend");
    write_standing(json, overview.spend);
    json.end_object();
    co_return json_response(std::move(body));
}

io::HttpReply OpsDoor::metrics(const io::HttpRequest& request) {
    auto caller = access_.identify(access_.credentials_of(request), access::Scope::kStatus);
    if (!caller.ok()) {
        return problem(caller.error(), request.context.id);
    }
    io::HttpResponse response;
    response.headers =
        "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\nCache-Control: no-store\r\n";
    response.lead = metrics_.expose();
    return response;
}

io::HttpReply OpsDoor::openapi(const io::HttpRequest&) {
    io::HttpResponse response;
    response.headers = "Content-Type: application/json\r\nCache-Control: max-age=300\r\n";
    response.body = openapi_;
    return response;
}

io::HttpReply OpsDoor::purge_cache(const io::HttpRequest&) {
    if (search_.shares()) {
        return purge_both();
    }
    return purge_here(std::nullopt);
}

Task<io::HttpResponse> OpsDoor::purge_both() {
    // Redis first: what is here would be filled from it again.
    const bool shared = co_await search_.purge_shared();
    co_return purge_here(shared);
}

io::HttpResponse OpsDoor::purge_here(std::optional<bool> shared) {
    std::string body;
    const web::Search::Purged purged = search_.purge_cache();
    JsonWriter json(body);
    json.begin_object();
    json.field("purged", purged.answers).field("purged_results", purged.results);
    if (shared) {
        json.field("shared", *shared);
    }
    json.end_object();
    return json_response(std::move(body));
}

void OpsDoor::start_draining() {
    draining_.store(true, std::memory_order_relaxed);
}

}  // namespace sluice::surface
