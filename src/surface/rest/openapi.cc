#include "surface/rest/openapi.h"

#include "base/json.h"
#include "surface/common/errors.h"
#include "surface/rest/openapi_keys.h"
#include "surface/rest/openapi_pages.h"
#include "surface/rest/openapi_status.h"
#include "surface/rest/search_fields.h"
#include "web/types.h"

#include <string>

namespace sluice::surface {

namespace {

// Line breaks and two spaces per level, so that a change of the file is a readable diff.
std::string indent(std::string_view compact) {
    std::string out;
    std::size_t depth = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < compact.size(); ++i) {
        const char c = compact[i];
        if (in_string) {
            out.push_back(c);
            if (c == '\\') {
                out.push_back(compact[++i]);
            } else if (c == '"') {
                in_string = false;
            }
            continue;
        }
        const bool closes_empty =
            i + 1 < compact.size() && (compact[i + 1] == '}' || compact[i + 1] == ']');
        switch (c) {
            case '"':
                in_string = true;
                out.push_back(c);
                break;
            case '{':
            case '[':
                out.push_back(c);
                depth += 1;
                if (closes_empty) {
                    out.push_back(compact[++i]);
                    depth -= 1;
                } else {
                    out.append("\n").append(depth * 2, ' ');
                }
                break;
            case '}':
            case ']':
                depth -= 1;
                out.append("\n").append(depth * 2, ' ').push_back(c);
                break;
            case ',':
                out.append(",\n").append(depth * 2, ' ');
                break;
            case ':':
                out.append(": ");
                break;
            default:
                out.push_back(c);
        }
    }
    out.push_back('\n');
    return out;
}

void write_schema(JsonWriter& json, const SearchField& field) {
    json.begin_object();
    switch (field.type) {
        case FieldType::kText:
            json.field("type", "string");
            break;
        case FieldType::kInteger:
            json.field("type", "integer").field("minimum", field.min).field("maximum", field.max);
            break;
        case FieldType::kBoolean:
            json.field("type", "boolean");
            break;
        case FieldType::kTextList:
            json.field("type", "array")
                .key("items")
                .begin_object()
                .field("type", "string")
                .end_object();
            break;
    }
    if (!field.choices.empty()) {
        json.key("enum").begin_array();
        for (std::string_view choice : field.choices) {
            json.value(choice);
        }
        json.end_array();
    }
    json.field("description", field.help).end_object();
}

void write_json_response(JsonWriter& json, std::string_view status, std::string_view description,
                         std::string_view media_type, std::string_view schema) {
    json.key(status).begin_object().field("description", description);
    json.key("content").begin_object().key(media_type).begin_object();
    json.key("schema").begin_object();
    json.field("$ref", "#/components/schemas/" + std::string(schema));
    json.end_object().end_object().end_object().end_object();
}

// Two shapes: the results, or with `explain` what would be done.
void write_search_success(JsonWriter& json) {
    json.key("200").begin_object();
    json.field("description",
               "The results, where an empty list is an answer too; with `explain` what would be "
               "done.");
    json.key("content").begin_object().key("application/json").begin_object();
    json.key("schema").begin_object().key("oneOf").begin_array();
    for (const std::string_view schema : {"SearchAnswer", "Explanation"}) {
        json.begin_object();
        json.field("$ref", "#/components/schemas/" + std::string(schema));
        json.end_object();
    }
    json.end_array().end_object().end_object().end_object().end_object();
}

void write_search_responses(JsonWriter& json) {
    json.key("responses").begin_object();
    write_search_success(json);
    write_json_response(json, "default", "An error; `code` and `blame` say which and whose.",
                        "application/problem+json", "Problem");
    json.end_object();
}

void write_search(JsonWriter& json) {
    json.key("/v1/search").begin_object();
    json.key("post").begin_object().field("operationId", "search");
    json.field("summary", "Search the web through the providers of a lane.");
    json.key("requestBody").begin_object().field("required", true);
    json.key("content").begin_object().key("application/json").begin_object();
    json.key("schema")
        .begin_object()
        .field("$ref", "#/components/schemas/SearchRequest")
        .end_object();
    json.end_object().end_object().end_object();
    write_search_responses(json);
    json.end_object();
    json.key("get").begin_object().field("operationId", "searchByQuery");
    json.field("summary", "The same by query string; `q` stands for `query`, lists have commas.");
    json.key("parameters").begin_array();
    for (const SearchField& field : search_fields()) {
        json.begin_object();
        json.field("name", field.name == "query" ? std::string_view("q") : field.name);
        json.field("in", "query").field("required", field.name == "query");
        if (field.type == FieldType::kTextList) {
            json.field("style", "form").field("explode", false);
        }
        json.key("schema");
        write_schema(json, field);
        json.end_object();
    }
    json.end_array();
    write_search_responses(json);
    json.end_object().end_object();
}

// `parameters` is a JSON array, or empty.
void write_plain_path(JsonWriter& json, std::string_view path, std::string_view operation,
                      std::string_view summary, std::string_view media_type,
                      std::string_view parameters = {}) {
    json.key(path).begin_object().key("get").begin_object();
    json.field("operationId", operation).field("summary", summary);
    if (!parameters.empty()) {
        json.key("parameters").raw(parameters);
    }
    json.key("responses")
        .begin_object()
        .key("200")
        .begin_object()
        .field("description", "As the summary says.");
    json.key("content").begin_object().key(media_type).begin_object().end_object().end_object();
    json.end_object();
    write_json_response(json, "default", "An error.", "application/problem+json", "Problem");
    json.end_object().end_object().end_object();
}

void write_property(JsonWriter& json, std::string_view name, std::string_view type,
                    std::string_view description) {
    json.key(name)
        .begin_object()
        .field("type", type)
        .field("description", description)
        .end_object();
}

void write_request_schema(JsonWriter& json) {
    json.key("SearchRequest")
        .begin_object()
        .field("type", "object")
        .field("additionalProperties", false);
    json.key("required").begin_array().value("query").end_array();
    json.key("properties").begin_object();
    for (const SearchField& field : search_fields()) {
        json.key(field.name);
        write_schema(json, field);
    }
    json.end_object().end_object();
}

void write_constraint_list(JsonWriter& json) {
    json.key("constraints")
        .begin_object()
        .field("type", "array")
        .field("description",
               "How each constraint of the request was honoured; absent without any.");
    json.key("items")
        .begin_object()
        .field("$ref", "#/components/schemas/Constraint")
        .end_object()
        .end_object();
}

void write_answer_schema(JsonWriter& json) {
    json.key("SearchAnswer")
        .begin_object()
        .field("type", "object")
        .key("properties")
        .begin_object();
    write_property(json, "request_id", "string", "Names this request in logs.");
    write_property(json, "cached", "boolean", "Whether the answer came from the cache.");
    write_property(json, "stale", "boolean",
                   "Whether it is past its age, since every provider failed.");
    write_property(json, "age_s", "integer",
                   "How old the answer is, where it was made before this request.");
    write_property(json, "degraded", "boolean",
                   "Set when a provider failed that an empty or merged answer would have needed.");
    write_property(json, "elapsed_ms", "number", "From the request's head to the answer.");
    write_property(json, "object", "string", "Always `search`.");
    write_property(json, "query", "string", "The query, trimmed.");
    write_property(json, "lane", "string", "The lane that served it.");
    write_property(json, "provider", "string", "Who gave the results.");
    write_property(json, "answer", "string",
                   "A short written answer, where one was asked for and given.");
    json.key("results").begin_object().field("type", "array").key("items").begin_object();
    json.field("$ref", "#/components/schemas/Hit").end_object().end_object();
    write_constraint_list(json);
    write_property(json, "queued_ms", "integer",
                   "With `trace`: how long the search waited for a place in its lane.");
    json.key("attempts")
        .begin_object()
        .field("type", "array")
        .field("description", "With `trace`: every call to a provider, in order.");
    json.key("items")
        .begin_object()
        .field("$ref", "#/components/schemas/Attempt")
        .end_object()
        .end_object();
    json.end_object().end_object();
}

void write_outlook_schema(JsonWriter& json) {
    json.key("Outlook").begin_object().field("type", "object").key("properties").begin_object();
    write_property(json, "provider", "string", "A name of the route.");
    write_property(json, "usable", "boolean", "Whether it would be asked at its turn.");
    write_property(json, "outcome", "string",
                   "What `attempts` would call its being passed over, where it would be there.");
    write_property(json, "detail", "string", "Why it would be passed over.");
    write_property(json, "kept", "boolean",
                   "Set when its answer is there from before: no call would be made.");
    write_property(json, "key_id", "string", "Which key it would be asked with, by its id.");
    write_property(json, "egress", "string",
                   "What the call would go out through: an endpoint's name, or direct.");
    write_constraint_list(json);
    write_property(json, "turn_in_ms", "integer",
                   "How long the call would wait for its turn under the provider's rate.");
    json.key("price").begin_object().field("type", "object").key("properties").begin_object();
    write_property(json, "units", "integer", "What the call would cost in the provider's unit.");
    write_property(json, "unit", "string", "That unit.");
    write_property(json, "usd", "number", "The same in US dollars.");
    json.end_object().end_object();
    json.key("recent").begin_object().field("type", "object").key("properties").begin_object();
    write_property(json, "success_ratio", "number", "Of its recent calls, those that succeeded.");
    write_property(json, "p50_ms", "integer", "Half of its recent answers came within.");
    write_property(json, "p95_ms", "integer", "95 of 100 of them did.");
    json.end_object().end_object();
    json.end_object().end_object();
}

void write_usage_path(JsonWriter& json) {
    struct Parameter {
        std::string_view name;
        std::string_view description;
    };
    constexpr Parameter kParameters[] = {
        {"by", "One row a `provider`, `token`, `key` or `day`."},
        {"since", "The first day (UTC), such as 2026-11-30; default: 30 days with `until`."},
        {"until", "The last day; default: today."},
        {"provider", "Of this provider only, by day."},
        {"token", "Of this token only, by its id."},
        {"key", "Of this key only, by its id."},
    };
    json.key("/v1/usage").begin_object().key("get").begin_object();
    json.field("operationId", "usage");
    json.field("summary", "What was spent: everything for an admin, its own for a token.");
    json.key("parameters").begin_array();
    for (const Parameter& parameter : kParameters) {
        json.begin_object().field("name", parameter.name).field("in", "query");
        json.field("description", parameter.description);
        json.key("schema").begin_object().field("type", "string").end_object().end_object();
    }
    json.end_array();
    json.key("responses").begin_object();
    write_json_response(json, "200",
                        "Of this process exact to the last call. With a PostgreSQL other replicas "
                        "count as they wrote last, which runs ahead of what they spent: by up to a "
                        "hundredth of a budget, or by two seconds of calls.",
                        "application/json", "Usage");
    write_json_response(json, "default", "An error; `code` and `blame` say which and whose.",
                        "application/problem+json", "Problem");
    json.end_object().end_object().end_object();
}

void write_spent_properties(JsonWriter& json) {
    write_property(json, "calls", "integer",
                   "Paid calls; of other replicas those that they wrote down ahead, too.");
    write_property(json, "units", "integer", "In the providers' own units.");
    write_property(json, "cost_usd", "number", "In US dollars.");
}

void write_usage_schema(JsonWriter& json) {
    json.key("Usage").begin_object().field("type", "object").key("properties").begin_object();
    write_property(json, "object", "string", "Always `usage`.");
    write_property(json, "by", "string", "What a row is of.");
    write_property(json, "since", "string", "The first day.");
    write_property(json, "until", "string", "The last day.");
    json.key("rows").begin_object().field("type", "array");
    json.key("items").begin_object().field("type", "object").key("properties").begin_object();
    write_property(json, "day", "string", "Of a report by day.");
    write_property(json, "provider", "string", "Of a report by provider or by key.");
    write_property(json, "token", "string", "By its id; empty: callers without one.");
    write_property(json, "key", "string", "By its id.");
    write_spent_properties(json);
    json.end_object().end_object().end_object();
    json.key("sum").begin_object().field("type", "object").key("properties").begin_object();
    write_spent_properties(json);
    json.end_object().end_object();
    write_property(json, "truncated", "boolean", "Whether rows were left out; not from the sum.");
    json.end_object().end_object();
}

void write_explanation_schema(JsonWriter& json) {
    json.key("Explanation").begin_object().field("type", "object").key("properties").begin_object();
    write_property(json, "object", "string", "Always `explanation`.");
    write_property(json, "request_id", "string", "Names this request in logs.");
    write_property(json, "lane", "string", "The lane that would serve it.");
    write_property(json, "strategy", "string", "How the providers would be combined.");
    write_property(json, "deadline_ms", "integer", "By when the search would have ended.");
    json.key("cache").begin_object().field("type", "object").key("properties").begin_object();
    write_property(json, "mode", "string", "As in the request.");
    write_property(json, "entry", "string", "What is there: `fresh`, `stale` or `none`.");
    json.end_object().end_object();
    json.key("scheduler").begin_object().field("type", "object").key("properties").begin_object();
    write_property(json, "running", "integer", "Searches that run in the lane.");
    write_property(json, "queued", "integer", "Searches that wait for a place in it.");
    write_property(json, "concurrency", "integer", "How many may run at once.");
    json.end_object().end_object();
    json.key("route").begin_object().field("type", "array");
    json.field("description", "Every name of the route, in order.");
    json.key("items").begin_object().field("$ref", "#/components/schemas/Outlook").end_object();
    json.end_object();
    json.end_object().end_object();
}

void write_hit_schema(JsonWriter& json) {
    json.key("Hit").begin_object().field("type", "object").key("properties").begin_object();
    write_property(json, "url", "string", "As the provider gave it.");
    write_property(json, "title", "string", "Plain text.");
    write_property(json, "snippet", "string", "Plain text; may be empty.");
    write_property(json, "rank", "integer", "From 1.");
    write_property(json, "provider", "string", "Who found it.");
    write_property(json, "site", "string", "Host in ASCII and lower case, without a leading www.");
    write_property(json, "score", "number",
                   "The provider's own; not comparable between providers.");
    write_property(json, "published_at", "string", "RFC 3339, where it is known.");
    write_property(json, "content", "string",
                   "Text of the page, where it was asked for and given.");
    json.key("origins").begin_object().field("type", "array");
    json.field("description", "Of a merged answer: who found the page, and at which place.");
    json.key("items").begin_object().field("type", "object").key("properties").begin_object();
    write_property(json, "provider", "string", "Who found it.");
    write_property(json, "rank", "integer", "From 1, in that provider's list.");
    json.end_object().end_object().end_object();
    json.end_object().end_object();
}

void write_constraint_schema(JsonWriter& json) {
    json.key("Constraint").begin_object().field("type", "object").key("properties").begin_object();
    write_property(json, "constraint", "string", "The field of the request.");
    write_property(json, "provider", "string", "Whose results it narrowed.");
    json.key("how").begin_object().field("type", "string").key("enum").begin_array();
    for (const web::Honour how : {web::Honour::kProvider, web::Honour::kOperator,
                                  web::Honour::kFilter, web::Honour::kShortened}) {
        json.value(to_string(how));
    }
    json.end_array()
        .field("description",
               "By the provider itself, by an operator in the query, by leaving hits out here, or "
               "only in part.")
        .end_object();
    json.end_object().end_object();
}

void write_attempt_schema(JsonWriter& json) {
    json.key("Attempt").begin_object().field("type", "object").key("properties").begin_object();
    write_property(json, "provider", "string", "Who was called or passed over.");
    json.key("key_id")
        .begin_object()
        .key("type")
        .begin_array()
        .value("string")
        .value("null")
        .end_array();
    json.field("description", "Which key, by its id; null when none was taken.").end_object();
    write_property(json, "egress", "string",
                   "What the call went out through: an endpoint's name, or direct; absent when "
                   "none was made.");
    write_property(json, "outcome", "string", "How it ended.");
    write_property(json, "blame", "string", "Whose fault a failure was.");
    write_property(json, "status", "integer", "HTTP status, where there was an answer.");
    write_property(json, "latency_ms", "integer", "How long it took.");
    write_property(json, "waited_ms", "integer",
                   "How long it waited before the call, for the provider's rate or for a key.");
    write_property(json, "units", "integer",
                   "What the provider charged in its own unit; absent: nothing.");
    write_property(json, "cost_usd", "number", "The same in US dollars.");
    write_property(json, "detail", "string", "The provider's own words, shortened.");
    json.end_object().end_object();
}

void write_problem_schema(JsonWriter& json) {
    json.key("Problem").begin_object().field("type", "object").key("properties").begin_object();
    write_property(json, "type", "string", "A URN that names the code.");
    write_property(json, "title", "string", "The same for every error of the code.");
    write_property(json, "status", "integer", "The HTTP status.");
    write_property(json, "detail", "string", "What was wrong this time.");
    json.key("code").begin_object().field("type", "string").key("enum").begin_array();
    for (const ErrorRow& row : all_error_rows()) {
        json.value(to_string(row.code));
    }
    json.end_array().end_object();
    write_property(json, "request_id", "string", "Names this request in logs.");
    json.key("blame").begin_object().field("type", "string").key("enum").begin_array();
    for (Blame blame :
         {Blame::kCaller, Blame::kKey, Blame::kProvider, Blame::kGateway, Blame::kTenant}) {
        json.value(to_string(blame));
    }
    json.end_array().end_object();
    write_property(json, "retry_after_ms", "integer", "When trying again makes sense.");
    json.end_object().end_object();
}

}  // namespace

std::string render_openapi(std::string_view version) {
    std::string compact;
    JsonWriter json(compact);
    json.begin_object().field("openapi", "3.1.0");
    json.key("info").begin_object().field("title", "Sluice").field("version", version);
    json.field("description", "One door for every search.").end_object();
    json.key("paths").begin_object();
    write_search(json);
    write_status_path(json);
    write_usage_path(json);
    write_key_paths(json);
    write_page_paths(json);
    write_plain_path(json, "/healthz", "healthz", "200 as long as the process answers.",
                     "application/json");
    write_plain_path(json, "/readyz", "readyz",
                     "200 when what this gateway is there for can be served.", "application/json",
                     R"([{"name":"need","in":"query","description":"One of the two alone.",)"
                     R"("schema":{"type":"string","enum":["web","titles"]}}])");
    write_plain_path(json, "/metrics", "metrics", "Prometheus text format.", "text/plain");
    write_plain_path(json, "/openapi.json", "openapi", "This description.", "application/json");
    json.end_object();
    json.key("components").begin_object();
    json.key("securitySchemes").begin_object();
    json.key("bearer").begin_object().field("type", "http").field("scheme", "bearer").end_object();
    json.key("apiKey").begin_object().field("type", "apiKey").field("in", "header");
    json.field("name", "X-Api-Key").end_object().end_object();
    json.key("schemas").begin_object();
    write_request_schema(json);
    write_answer_schema(json);
    write_explanation_schema(json);
    write_usage_schema(json);
    write_outlook_schema(json);
    write_hit_schema(json);
    write_constraint_schema(json);
    write_attempt_schema(json);
    write_problem_schema(json);
    write_key_schemas(json);
    write_page_schemas(json);
    write_status_schemas(json);
    json.end_object().end_object();
    json.key("security").begin_array();
    json.begin_object().end_object();
    json.begin_object().key("bearer").begin_array().end_array().end_object();
    json.begin_object().key("apiKey").begin_array().end_array().end_object();
    json.end_array().end_object();
    return indent(compact);
}

}  // namespace sluice::surface
