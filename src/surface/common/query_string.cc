#include "surface/common/query_string.h"

#include "base/text.h"
#include "surface/common/responses.h"

#include <algorithm>
#include <utility>

namespace sluice::surface {

Result<std::vector<QueryField>> read_query_string(std::string_view query) {
    std::vector<QueryField> fields;
    while (!query.empty()) {
        const std::string_view pair = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(pair.size() + 1, query.size()));
        if (pair.empty()) {
            continue;
        }
        const std::size_t equals = std::min(pair.find('='), pair.size());
        auto name = percent_decode(pair.substr(0, equals), PlusIsSpace::kYes);
        auto value =
            percent_decode(pair.substr(std::min(equals + 1, pair.size())), PlusIsSpace::kYes);
        if (!name || !value || !is_valid_utf8(*name) || !is_valid_utf8(*value)) {
            return invalid_request("the query string is not percent-encoded UTF-8");
        }
        fields.push_back({*std::move(name), *std::move(value)});
    }
    return fields;
}

}  // namespace sluice::surface
