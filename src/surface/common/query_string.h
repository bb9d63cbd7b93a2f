// The query string of a request, read the same way by every door.
#pragma once

#include "base/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::surface {

struct QueryField {
    std::string name;
    std::string value;  // empty without a '='
};

// The fields in their order, decoded as forms encode them: '+' is a space. Empty pieces between '&'
// are passed over. kInvalidRequest for what is not percent-encoded UTF-8.
Result<std::vector<QueryField>> read_query_string(std::string_view query);

// The first field of that name as browsers mean it, which send whatever was typed: a '%' that
// begins no escape stands for itself, and the bytes need not be UTF-8. Nothing without such a
// field.
std::optional<std::string> first_field(std::string_view form, std::string_view name);

}  // namespace sluice::surface
