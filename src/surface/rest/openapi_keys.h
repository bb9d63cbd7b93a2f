// What openapi.json says about the doors to the keys. Any thread; pure.
#pragma once

#include "base/json.h"

namespace sluice::surface {

// Members of "paths".
void write_key_paths(JsonWriter& json);
// Members of "components" "schemas": Key, NewKey, KeyChange, KeyTest.
void write_key_schemas(JsonWriter& json);

}  // namespace sluice::surface
