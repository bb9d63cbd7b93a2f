// Whose fault is an upstream's answer? The one place where a provider's answer becomes results or a
// verdict, before anything is retried. The provider's own rows come first, then the generic table:
//
//   429                          cools the key, whatever the body
//   401, 403                     quarantine the key
//   402                          the key is exhausted
//   400, 422 with a JSON body    the caller's
//   any other 4xx                the provider's; so is every 4xx but 429 with an empty or an HTML
//                                body, which something in front of the provider wrote: such an
//                                answer never costs a key anything nor the caller the search
//   407                          ours: the way out is at fault, neither a key nor the provider
//   3xx, 5xx                     the provider's
//   2xx that can't be read       the provider's, challenge pages included
#pragma once

#include "web/provider.h"

#include <span>
#include <variant>

namespace sluice::web {

using Judgement = std::variant<ProviderAnswer, Verdict>;

// What no provider's own row may say about an answer, and what is said in its place.
struct GuardRow {
    Statuses status;
    bool (*forbids)(Effect effect, BodyKind body);
    Effect effect;
    Outcome outcome;
};

// How a call without any answer is called. It is the provider's fault, whatever kept it.
struct TransportRow {
    Code code;
    Outcome outcome;
};

// The tables that hold for every provider. Tests pass others, to see that each row is needed.
struct BlameTables {
    std::span<const BlameRow> generic;        // for what the provider's own rows leave open
    std::span<const GuardRow> guards;         // for what they say
    std::span<const TransportRow> transport;  // what no row names is a connect_error
};
BlameTables blame_tables();

// A call as it was made: what its answer is judged against. Refers to objects of the caller.
struct Asked {
    const Provider& provider;
    const SearchRequest& request;  // as it was sent
    const ProviderKey& key;
    const QueryText* query = nullptr;  // the caller's, where more was sent; null: it is the same
};

// Reads `response` with `reader` (one per thread; what it read before becomes invalid). `wall_now`
// is for Retry-After dates and quota resets. A penalty that the provider's own row leaves open is
// what Retry-After asks for, clamped to [1 s, 24 h]. A result list may be empty: that is kEmpty
// only where a provider signals emptiness by an error; otherwise an empty ProviderAnswer.
Judgement judge(const Asked& asked, const io::ClientResponse& response, JsonReader& reader,
                WallTime wall_now, const BlameTables& tables = blame_tables());

// The verdict on a call that got no answer at all (HttpClient's error). A cancelled call is
// nobody's fault: its outcome is kCancelled, and the effect of that verdict must not be applied.
Verdict judge_transport_error(const Error& error, const BlameTables& tables = blame_tables());

}  // namespace sluice::web
