// The part of openapi.json about /v1/pages. Any thread; pure.
#pragma once

#include "base/json.h"

namespace sluice::surface {

// Members of "paths".
void write_page_paths(JsonWriter& json);
// Members of "components" "schemas": PageList, Page, PageText, NewPage, PageChange,
// TitleHits, TitleHit.
void write_page_schemas(JsonWriter& json);

}  // namespace sluice::surface
