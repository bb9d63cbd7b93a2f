#include "surface/rest/openapi_schema.h"

#include <string>

namespace sluice::surface {

namespace {

void write_reference(JsonWriter& json, std::string_view media_type, std::string_view schema) {
    json.key("content").begin_object().key(media_type).begin_object().key("schema");
    json.begin_object().field("$ref", "#/components/schemas/" + std::string(schema)).end_object();
    json.end_object().end_object();
}

void write_parameters(JsonWriter& json, bool has_id, std::span<const QueryParameter> query) {
    if (!has_id && query.empty()) {
        return;
    }
    json.key("parameters").begin_array();
    if (has_id) {
        json.raw(R"({"name":"id","in":"path","required":true,"schema":{"type":"string"}})");
    }
    for (const QueryParameter& parameter : query) {
        json.begin_object().field("name", parameter.name).field("in", "query");
        json.field("description", parameter.description);
        json.key("schema").raw(parameter.schema).end_object();
    }
    json.end_array();
}

}  // namespace

void write_schema(JsonWriter& json, std::string_view name, std::span<const Property> properties,
                  std::string_view required) {
    json.key(name).begin_object().field("type", "object");
    if (!required.empty()) {
        json.field("additionalProperties", false).key("required").raw(required);
    }
    json.key("properties").begin_object();
    for (const Property& property : properties) {
        std::string schema = "{";
        schema.append(property.schema).append(",\"description\":");
        append_json_string(schema, property.description);
        json.key(property.name).raw(schema + "}");
    }
    json.end_object().end_object();
}

void write_path(JsonWriter& json, std::string_view path, std::span<const Operation> operations) {
    json.key(path).begin_object();
    for (const Operation& operation : operations) {
        json.key(operation.method).begin_object().field("operationId", operation.id);
        json.field("summary", operation.summary);
        write_parameters(json, path.find('{') != std::string_view::npos, operation.parameters);
        if (!operation.body.empty()) {
            json.key("requestBody").begin_object().field("required", true);
            write_reference(json, "application/json", operation.body);
            json.end_object();
        }
        json.key("responses").begin_object().key(operation.status).begin_object();
        json.field("description", "Done.");
        if (!operation.answer.empty()) {
            write_reference(json, "application/json", operation.answer);
        }
        json.end_object().key("default").begin_object().field("description", "An error.");
        write_reference(json, "application/problem+json", "Problem");
        json.end_object().end_object().end_object();
    }
    json.end_object();
}

}  // namespace sluice::surface
