// The OpenAPI 3.1 description of the native API, from the same table of fields that requests are
// parsed by.
#pragma once

#include <string>
#include <string_view>

namespace sluice::surface {

// JSON, indented by two spaces, ending in a line break. api/openapi/sluice.json is this text.
std::string render_openapi(std::string_view version);

}  // namespace sluice::surface
