#include "surface/rest/ops.h"

#include "base/json.h"
#include "surface/common/errors.h"
#include "surface/rest/openapi.h"
#include "web/provider.h"

#include <chrono>
#include <utility>

namespace sluice::surface {

namespace {

constexpr std::string_view kJsonHeaders =
    "Content-Type: application/json\r\nCache-Control: no-store\r\n";

io::HttpResponse json_response(std::string body) {
    io::HttpResponse response;
    response.headers = kJsonHeaders;
    response.lead = std::move(body);
    response.lead += '\n';
    return response;
}

void write_counts(JsonWriter& json, const web::KeyPool::Counts& counts) {
    json.begin_object();
    json.field("available", counts.available);
    json.field("cooling", counts.cooling);
    json.field("exhausted", counts.exhausted);
    json.field("quarantined", counts.quarantined);
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

// Whether some provider that a route names could be called now.
bool any_usable(const web::Search::Overview& overview, const web::WebConfig& config) {
    for (const auto* route : {&config.route_fast, &config.route_deep}) {
        for (const std::string& name : *route) {
            const auto settings = config.providers.find(name);
            const auto counts = overview.keys.find(name);
            if (settings != config.providers.end() && settings->second.enabled &&
                counts != overview.keys.end() && counts->second.available > 0) {
                return true;
            }
        }
    }
    return false;
}

}  // namespace

OpsDoor::OpsDoor(web::Search& search, access::Access& access, const obs::Metrics& metrics,
                 const Clock& clock, std::string version)
    : search_(search),
      access_(access),
      metrics_(metrics),
      clock_(clock),
      version_(std::move(version)),
      started_(clock.now()),
      openapi_(std::make_shared<const io::HttpBody>(render_openapi(version_))) {}

io::HttpReply OpsDoor::healthz(const io::HttpRequest&) {
    return json_response(R"({"status":"ok"})");
}

io::HttpReply OpsDoor::readyz(const io::HttpRequest& request) {
    if (draining_.load(std::memory_order_relaxed)) {
        return problem(Error{Code::kUnavailable, Blame::kGateway, "shutting down", Millis(1'000)},
                       request.context.id);
    }
    return render_readyz(request.context.id);
}

Task<io::HttpResponse> OpsDoor::render_readyz(RequestId id) {
    const web::Search::Overview overview = co_await search_.overview();
    if (!any_usable(overview, search_.config())) {
        const Error error{Code::kNoUsableKey,
                          Blame::kKey,
                          "no enabled provider of a route has a usable key; set for example "
                          "SERPER_API_KEYS or TAVILY_API_KEYS and start again",
                          {}};
        co_return problem(error, id);
    }
    co_return json_response(R"({"status":"ready"})");
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
    const web::WebConfig& config = search_.config();
    std::string body;
    JsonWriter json(body);
    json.begin_object();
    json.field("version", version_);
    json.field("uptime_s",
               std::chrono::duration_cast<std::chrono::seconds>(clock_.now() - started_).count());
    json.key("scheduler").begin_object();
    json.key("fast");
    write_lane(json, overview.fast, config.lanes.fast);
    json.key("deep");
    write_lane(json, overview.deep, config.lanes.deep);
    json.field("flights", overview.flights);
    json.end_object();
    json.key("cache").begin_object();
    json.field("entries", overview.cache.entries);
    json.field("bytes", overview.cache.bytes);
    json.field("max_bytes", config.cache.max_bytes);
    json.field("evictions", overview.cache.evictions);
    json.end_object();
    json.key("keys").begin_object();
    for (const auto& [provider, counts] : overview.keys) {
        json.key(provider);
        write_counts(json, counts);
    }
    json.end_object();
    json.key("providers").begin_object();
    for (const web::Provider* provider : web::all_providers()) {
        json.key(provider->spec().name).begin_object();
        json.field("enabled", config.providers.find(provider->spec().name)->second.enabled);
        json.end_object();
    }
    json.end_object().end_object();
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
    std::string body;
    JsonWriter(body).begin_object().field("purged", search_.purge_cache()).end_object();
    return json_response(std::move(body));
}

void OpsDoor::start_draining() {
    draining_.store(true, std::memory_order_relaxed);
}

}  // namespace sluice::surface
