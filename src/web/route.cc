#include "web/route.h"

#include <algorithm>
#include <string>

namespace sluice::web {

const std::vector<std::string>& names_of_route(const WebConfig& config,
                                               const SearchRequest& request) {
    return request.providers.empty() ? config.route(request.lane) : request.providers;
}

std::vector<Candidate> resolve_route(const ProviderStates& states, const WebConfig& config,
                                     const SearchRequest& request) {
    const std::vector<std::string>& names = names_of_route(config, request);
    std::vector<Candidate> route;
    route.reserve(names.size());
    for (const std::string& name : names) {
        ProviderState* state = states.find(name);
        if (state == nullptr) {
            continue;
        }
        const ProviderSettings& settings = config.provider(name);
        const bool listed = std::any_of(route.begin(), route.end(), [&](const Candidate& other) {
            return other.state == state;
        });
        if (settings.enabled && !listed) {
            route.push_back({state, &settings});
        }
    }
    return route;
}

io::EgressAsk egress_ask(ProviderIndex provider, const SearchRequest& request) {
    return {provider, request.country, request.session_id, request.payer.token_id};
}

}  // namespace sluice::web
