// Whose fault is an upstream's answer? The one place where a provider's answer becomes results or a
// verdict, before anything is retried. Rules: the provider's own rows first, then the generic table:
// 429 cools the key, 401 and 403 quarantine it, 402 exhausts it, 5xx and 408/425 are the provider's,
// 400 and 422 with a JSON body are the caller's, and any other 4xx, any HTML or challenge page, any
// 3xx and a 2xx that can't be read are the provider's.
#pragma once

#include "web/provider.h"

#include <variant>

namespace sluice::web {

using Judgement = std::variant<ProviderAnswer, Verdict>;

// Reads `response` with `reader` (one per thread). `wall_now` is for Retry-After dates, which are
// clamped to [1 s, 24 h]. A result list may be empty: that is kEmpty only where a provider signals
// emptiness by an error; otherwise an empty ProviderAnswer.
Judgement judge(const Provider& provider, const io::ClientResponse& response, JsonReader& reader,
                WallTime wall_now);

// The verdict on a call that got no answer at all (HttpClient's error).
Verdict judge_transport_error(const Error& error);

}  // namespace sluice::web
