// What openapi.json says about /v1/status. Any thread; pure.
#pragma once

#include "base/json.h"

namespace sluice::surface {

// Members of "paths".
void write_status_path(JsonWriter& json);
// Members of "components" "schemas": Status and what it is made of.
void write_status_schemas(JsonWriter& json);

}  // namespace sluice::surface
