// The elements of a JSON array as a list that a test can look into.
#pragma once

#include "base/json.h"

#include <optional>
#include <vector>

namespace sluice::test {

// Of nothing, and of what is no array: none.
inline std::vector<JsonValue> listed(const std::optional<JsonValue>& array) {
    const JsonElements elements = array ? array->elements() : JsonElements();
    return {elements.begin(), JsonElements::end()};
}

}  // namespace sluice::test
