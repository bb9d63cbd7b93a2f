// One call to one provider: the only place of the web side that talks to a provider, for every
// strategy and door. Belongs to the control loop.
#pragma once

#include "access/budget.h"
#include "base/clock.h"
#include "base/task.h"
#include "io/egress.h"
#include "io/http_client.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "web/call_types.h"
#include "web/config.h"
#include "web/keys.h"
#include "web/provider.h"
#include "web/provider_state.h"
#include "web/route.h"
#include "web/sending.h"
#include "web/types.h"

#include <optional>
#include <vector>

namespace sluice::web {

// Whether the provider could be asked now, as far as a look tells: it has a key that may be used,
// and no circuit or rest keeps calls away.
bool may_be_asked(const ProviderState& state, KeyPool& keys, Instant now);

class ProviderCall {
 public:
    // References outlive it.
    ProviderCall(KeyPool& keys, access::Budgets& budgets, io::HttpClient& http,
                 io::EgressRouter& egress, Clock& clock, const obs::Log& log,
                 obs::Metrics& metrics);

    // In this order: can the provider honour the request; does its circuit let a call through; wait
    // for a turn under its rate; lease a key that is not in `tried_keys` (and add it there);
    // reserve what the call will cost; send; judge; send again where the terms allow that; report
    // what was learned about the key and the provider, and what it cost; release. Everything
    // reserved is given back on every path. Ends by
    // `terms.until`, waiting included, and the provider has at most its own timeout. There is
    // always an attempt to show, whether something was sent or not. What is passed by reference
    // outlives the task.
    Task<CallResult> run(Candidate candidate, const WebConfig& config, const SearchRequest& request,
                         CallTerms terms, std::vector<KeyIndex>& tried_keys);

    bool may_be_asked(const ProviderState& state);

    // When the first resting key of `provider` may be used again; nothing when none rests.
    std::optional<Instant> key_back_at(ProviderIndex provider);
    // Whether those that rest do so since `provider` refused them, and none is left.
    bool has_only_refused_keys(ProviderIndex provider);

 private:
    // What a lease that is not there at once ends with: a key that another process gives, or the
    // first of the resting ones, where it is worth waiting for.
    Task<LeaseResult> lease_later(LeaseStart start, ProviderState& state, CallTerms terms,
                                  const std::vector<KeyIndex>& tried_keys);
    CallResult no_key(ProviderState& state, const NoKey& none);
    CallResult no_turn(Candidate candidate);
    CallResult no_engine(ProviderState& state, KeyLease lease);
    std::optional<Instant> key_soon(ProviderIndex provider, const CallTerms& terms,
                                    const std::vector<KeyIndex>& tried_keys) const;
    bool has_key_by(Instant instant, ProviderIndex provider, const CallTerms& terms,
                    const std::vector<KeyIndex>& tried_keys) const;

    KeyPool& keys_;
    Clock& clock_;
    Sender sender_;
};

}  // namespace sluice::web
