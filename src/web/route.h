// Which providers a request may ask, in order. Belongs to the control loop.
#pragma once

#include "io/egress.h"
#include "web/config.h"
#include "web/provider_state.h"
#include "web/types.h"

#include <string>
#include <vector>

namespace sluice::web {

// One provider of a route. Both pointers are never null; the settings live as long as the WebConfig
// that they were found in.
struct Candidate {
    ProviderState* state = nullptr;
    const ProviderSettings* settings = nullptr;
};

// The request's own providers, else its lane's, as they are named.
const std::vector<std::string>& names_of_route(const WebConfig& config,
                                               const SearchRequest& request);

// The request's own providers, else its lane's: those of this binary that are enabled, each once.
std::vector<Candidate> resolve_route(const ProviderStates& states, const WebConfig& config,
                                     const SearchRequest& request);

// What the egress is asked for a call to `provider` on behalf of `request`, which it refers to.
io::EgressAsk egress_ask(ProviderIndex provider, const SearchRequest& request);

}  // namespace sluice::web
