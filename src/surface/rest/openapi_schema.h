// The shapes that openapi.json is written in, as tables. Any thread; pure.
#pragma once

#include "base/json.h"

#include <span>
#include <string_view>

namespace sluice::surface {

struct Property {
    std::string_view name;
    std::string_view schema;  // JSON, without the description
    std::string_view description;
};

// A member of "components" "schemas". `required`: a JSON list of names; with one, an empty one too,
// nothing but the properties is allowed.
void write_schema(JsonWriter& json, std::string_view name, std::span<const Property> properties,
                  std::string_view required);

struct QueryParameter {
    std::string_view name;
    std::string_view schema;  // JSON, whole
    std::string_view description;
};

struct Operation {
    std::string_view method;
    std::string_view id;
    std::string_view summary;
    std::string_view body;    // a schema, or empty
    std::string_view status;  // of success
    std::string_view answer;  // a schema, or empty
    std::span<const QueryParameter> parameters = {};
};

// A member of "paths". An id in the path is a parameter.
void write_path(JsonWriter& json, std::string_view path, std::span<const Operation> operations);

}  // namespace sluice::surface
