#include "surface/rest/openapi_status.h"

#include "surface/rest/openapi_schema.h"

#include <string_view>

namespace sluice::surface {

namespace {

constexpr std::string_view kText = R"("type":"string")";
constexpr std::string_view kCount = R"("type":"integer","minimum":0)";
constexpr std::string_view kAmount = R"("type":"number","minimum":0)";
constexpr std::string_view kFlag = R"("type":"boolean")";
constexpr std::string_view kByProviderCircuit =
    R"("type":"object","additionalProperties":{"$ref":"#/components/schemas/CircuitStatus"})";
constexpr std::string_view kByProviderKeys =
    R"("type":"object","additionalProperties":{"$ref":"#/components/schemas/KeyCounts"})";
constexpr std::string_view kByProvider =
    R"("type":"object","additionalProperties":{"$ref":"#/components/schemas/ProviderStatus"})";

constexpr std::string_view kByEndpoint =
    R"("type":"object","additionalProperties":{"$ref":"#/components/schemas/EndpointStatus"})";

constexpr Property kStatus[] = {
    {"version", kText, "Of this binary."},
    {"uptime_s", kCount, "Seconds since the process started."},
    {"scheduler", R"("$ref":"#/components/schemas/SchedulerStatus")", "The lanes."},
    {"circuits", kByProviderCircuit, "By provider: whether it is left alone after failures."},
    {"egress", R"("$ref":"#/components/schemas/EgressStatus")", "What calls go out through."},
    {"cache", R"("$ref":"#/components/schemas/CacheStatus")", "The answers that are kept."},
    {"redis", R"("$ref":"#/components/schemas/RedisStatus")", "What replicas share."},
    {"database", R"("$ref":"#/components/schemas/DatabaseStatus")", "Where keys and tokens are."},
    {"keys", kByProviderKeys, "By provider: how its keys fare."},
    {"providers", kByProvider, "By provider: how its calls go and what they cost."},
    {"spend", R"("$ref":"#/components/schemas/Standing")", "Of everything together."},
};

constexpr Property kScheduler[] = {
    {"fast", R"("$ref":"#/components/schemas/LaneStatus")", "Quick links."},
    {"deep", R"("$ref":"#/components/schemas/LaneStatus")", "Slower answers."},
    {"flights", kCount, "Searches under way, each for all who ask the same."},
};

constexpr Property kLane[] = {
    {"running", kCount, "Searches that run in the lane."},
    {"queued", kCount, "Searches that wait for a place in it."},
    {"concurrency", kCount, "How many may run at once."},
};

constexpr Property kCircuit[] = {
    {"state", R"("type":"string","enum":["closed","open","half_open"])",
     "Open: no call is made. Half open: one call is made to see."},
    {"reopens_at", kText, "When the next call may be made, RFC 3339; left out while closed."},
    {"reason", kText, "The failure that opened it; left out while closed."},
};

constexpr Property kEgress[] = {
    {"policy", kText, "How an endpoint is chosen, where a provider has no choice of its own."},
    {"endpoints", kByEndpoint, "By name; empty where none is declared."},
};

constexpr Property kEndpoint[] = {
    {"address", kText, "Of the proxy, without user and password."},
    {"country", kText, "Where it comes out; left out when that is not said."},
    {"state", R"("type":"string","enum":["up","down"])",
     "Down: it failed too often and is passed over while another one is up."},
    {"since", kText, "When it came into that state, RFC 3339."},
    {"last_error", kText, "Its last failure, whenever that was; left out when there was none."},
    {"calls", kCount, "Calls through it since the start."},
    {"failures", kCount, "Those that failed because of it."},
};

constexpr Property kCache[] = {
    {"entries", kCount, "Answers that are kept."},
    {"bytes", kCount, "What they occupy."},
    {"max_bytes", kCount, "What they and the providers' results may occupy."},
    {"evictions", kCount, "Answers that had to make room."},
};

constexpr Property kRedis[] = {
    {"state", R"("type":"string","enum":["off","up","down"])",
     "Off: there is none. Down: it is tried again and again."},
    {"required", kFlag, "Whether searches are refused while it is down; left out when off."},
    {"refusing", kFlag,
     "True while it is required and down, or refuses to write: searches that are not in this "
     "process's memory are refused. Left out where it is not required."},
    {"server", kText, "Its host and port; left out when off."},
    {"reason", kText, "Why it is down; else left out."},
};

constexpr Property kDatabase[] = {
    {"kind", R"("type":"string","enum":["sqlite","postgresql"])",
     "Sqlite: files of the data directory."},
    {"state", R"("type":"string","enum":["up","down"])",
     "Down: it is tried again and again; left out for files."},
    {"server", kText, "Its host and port; left out for files."},
    {"reason", kText, "Why it is down; else left out."},
};

constexpr Property kKeyCounts[] = {
    {"available", kCount, "May be used."},
    {"cooling", kCount, "Rest after a limit of their rate."},
    {"exhausted", kCount, "Have no quota left."},
    {"quarantined", kCount, "Were refused."},
    {"saturated", kCount, "Have as many calls under way as they may."},
    {"disabled", kCount, "An operator does not want them used."},
    {"in_flight", kCount, "Calls under way with any of them."},
};

constexpr Property kProvider[] = {
    {"enabled", kFlag, "Whether searches may ask it."},
    {"recent", R"("$ref":"#/components/schemas/Recent")", "Of its last calls."},
    {"spend", R"("$ref":"#/components/schemas/Standing")", "What it charged."},
};

constexpr Property kRecent[] = {
    {"success_ratio", R"("type":"number","minimum":0,"maximum":1)", "Left out without calls."},
    {"p50_ms", kCount, "Half of its answers took no longer; left out until enough is known."},
    {"p95_ms", kCount, "95 of 100 of its answers took no longer; left out with the other."},
};

constexpr Property kStanding[] = {
    {"day", R"("$ref":"#/components/schemas/Spent")", "Today, by UTC."},
    {"month", R"("$ref":"#/components/schemas/Spent")", "This month, by UTC."},
    {"total", R"("$ref":"#/components/schemas/Spent")", "In all."},
    {"limits", R"("$ref":"#/components/schemas/Limits")", "Left out when nothing is limited."},
};

constexpr Property kSpent[] = {
    {"calls", kCount, "Calls that were paid for."},
    {"units", kCount, "In the provider's own units."},
    {"cost_usd", kAmount, "In US dollars."},
};

constexpr Property kLimits[] = {
    {"usd_day", kAmount, "US dollars a day."},    {"usd_month", kAmount, "US dollars a month."},
    {"usd_total", kAmount, "US dollars in all."}, {"calls_day", kCount, "Calls a day."},
    {"calls_month", kCount, "Calls a month."},    {"calls_total", kCount, "Calls in all."},
};

constexpr Operation kOperations[] = {
    {"get", "status", "Lanes, circuits, cache, keys, providers and what was spent.", "", "200",
     "Status"},
};

}  // namespace

void write_status_path(JsonWriter& json) {
    write_path(json, "/v1/status", kOperations);
}

void write_status_schemas(JsonWriter& json) {
    write_schema(
        json, "Status", kStatus,
        R"(["version","uptime_s","scheduler","circuits","egress","cache","redis","database",)"
        R"("keys","providers","spend"])");
    write_schema(json, "SchedulerStatus", kScheduler, R"(["fast","deep","flights"])");
    write_schema(json, "LaneStatus", kLane, R"(["running","queued","concurrency"])");
    write_schema(json, "CircuitStatus", kCircuit, R"(["state"])");
    write_schema(json, "EgressStatus", kEgress, R"(["policy","endpoints"])");
    write_schema(json, "EndpointStatus", kEndpoint,
                 R"(["address","state","since","calls","failures"])");
    write_schema(json, "CacheStatus", kCache, R"(["entries","bytes","max_bytes","evictions"])");
    write_schema(json, "RedisStatus", kRedis, R"(["state"])");
    write_schema(json, "DatabaseStatus", kDatabase, R"(["kind"])");
    write_schema(json, "KeyCounts", kKeyCounts,
                 R"(["available","cooling","exhausted","quarantined","saturated","disabled",)"
                 R"("in_flight"])");
    write_schema(json, "ProviderStatus", kProvider, R"(["enabled","recent","spend"])");
    write_schema(json, "Recent", kRecent, "[]");
    write_schema(json, "Standing", kStanding, R"(["day","month","total"])");
    write_schema(json, "Spent", kSpent, R"(["calls","units","cost_usd"])");
    write_schema(json, "Limits", kLimits, "[]");
}

}  // namespace sluice::surface
