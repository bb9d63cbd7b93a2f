// What the sender of a request would like to get.
#pragma once

#include "io/http_message.h"

namespace sluice::surface {

// Whether a page suits better than JSON, as it does somebody with a browser: `Accept` names HTML,
// and neither JSON nor anything at all is liked better. Any thread.
bool prefers_html(const io::HttpRequest& request);

}  // namespace sluice::surface
