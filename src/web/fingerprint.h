// What makes two searches the same: the key of the answer cache and of flights.
#pragma once

#include "base/hash.h"
#include "web/types.h"

#include <string_view>

namespace sluice::web {

using Fingerprint = Sha256;

// SHA-256 over every field that changes the result set (query, lane, count, page, locale, country,
// freshness, topic, answer, content, domain filters, explicit route, strategy, safe search) and a
// schema version. trace, session_id and cache do not change it. Letter case of the query does.
// Any thread.
Fingerprint fingerprint(const SearchRequest& request);

// The key of one provider's answer: the provider, the query without regard to the case of its ASCII
// letters, the number of results, and every other field that a provider is given. The words OR, AND
// and NOT are operators in capitals and words in any other case, so they keep theirs. So do letters
// beyond ASCII, which is safe: two spellings of one query are two entries and two calls then, and
// never one entry for two queries. Lane, route and strategy do not change the key. Any thread.
Fingerprint result_fingerprint(std::string_view provider, const SearchRequest& request);

}  // namespace sluice::web
