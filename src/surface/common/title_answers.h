// What the doors of title search share: reading the query, what an outcome is as an error, and the
// rate limit as clients read it.
#pragma once

#include "base/result.h"
#include "io/http_message.h"
#include "titles/search.h"

#include <optional>
#include <string>

namespace sluice::surface {

// `request` outlives the search.
titles::TitleRequest title_request(const io::HttpRequest& request, titles::BudgetKind kind);

// Nothing for kFound. Any thread.
std::optional<Error> error_of(const titles::TitleAnswer& answer);

// Appends whole lines, RateLimit-Policy and RateLimit as draft-ietf-httpapi-ratelimit-headers-11
// has them: `"minute";q=20;w=60` is what may be asked in a window of that many seconds, and
// `"minute";r=12;t=34` what is left and when that is over. Nothing when no window was asked.
void append_rate_limit(std::string& headers, const titles::TitleAnswer& answer);

}  // namespace sluice::surface
