// What makes two searches the same: the key of the answer cache and of flights.
#pragma once

#include "base/hash.h"
#include "web/types.h"

namespace sluice::web {

using Fingerprint = Sha256;

// SHA-256 over every field that changes the result set (query, lane, count, page, locale, country,
// freshness, topic, answer, content, domain filters, explicit route, strategy, safe search) and a
// schema version. trace, session_id and cache do not change it. Letter case of the query does.
// Any thread.
Fingerprint fingerprint(const SearchRequest& request);

}  // namespace sluice::web
