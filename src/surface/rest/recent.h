// How a provider's calls went lately, as /v1/status and explanations show it.
#pragma once

#include "base/json.h"
#include "web/recent_calls.h"

namespace sluice::surface {

// One object: success_ratio, p50_ms, p95_ms, as far as they are known.
inline void write_recent(JsonWriter& json, const web::RecentCalls::Summary& recent) {
    json.begin_object();
    if (recent.success_ratio) {
        json.field("success_ratio", *recent.success_ratio);
    }
    if (recent.usual && recent.slow) {
        json.field("p50_ms", recent.usual->count());
        json.field("p95_ms", recent.slow->count());
    }
    json.end_object();
}

}  // namespace sluice::surface
