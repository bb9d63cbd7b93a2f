// The answer to a search request that says `explain`.
#pragma once

#include "base/request_context.h"
#include "io/http_message.h"
#include "web/explain.h"

namespace sluice::surface {

// Any thread. 200 with the explanation as JSON; it holds no secret and no query.
io::HttpResponse render_explanation(const web::Explanation& explanation, const RequestId& id);

}  // namespace sluice::surface
