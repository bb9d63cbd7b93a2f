// How an answer or an explanation lists who honours what.
#pragma once

#include "base/json.h"
#include "web/types.h"

#include <vector>

namespace sluice::surface {

// The member "constraints" of the object that is being written; nothing when there are none.
inline void write_constraints(JsonWriter& json, const std::vector<web::Honoured>& constraints) {
    if (constraints.empty()) {
        return;
    }
    json.key("constraints").begin_array();
    for (const web::Honoured& honoured : constraints) {
        json.begin_object()
            .field("constraint", honoured.constraint)
            .field("provider", honoured.provider)
            .field("how", to_string(honoured.how))
            .end_object();
    }
    json.end_array();
}

}  // namespace sluice::surface
