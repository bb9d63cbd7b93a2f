// From a JSON body or a query string to a web::SearchRequest, by the table of search_fields.h.
#pragma once

#include "base/result.h"
#include "web/types.h"

#include <string_view>

namespace sluice::surface {

// All errors are kInvalidRequest and name the field, what was expected, and for an unknown field
// the nearest known one. JSON null is a field that is not given; so is an empty parameter of a
// query string, since many clients send every parameter they know. Any thread.
Result<web::SearchRequest> parse_search_json(std::string_view body);
// `query` is the raw query string: "q=...&max_results=5"; "q" stands for "query".
Result<web::SearchRequest> parse_search_query(std::string_view query);

}  // namespace sluice::surface
