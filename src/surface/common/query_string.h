// The query string of a request, read the same way by every door.
#pragma once

#include "base/result.h"

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

}  // namespace sluice::surface
