#include "web/readiness.h"

#include "web/provider.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace sluice::web {

namespace {

// A key that is busy is back with the end of a call.
bool has_usable_key(const KeyCounts& counts) {
    return counts.available + counts.saturated > 0;
}

bool lacks_engine(ProviderIndex provider, const ProviderSettings& settings, const KeyPool& keys) {
    return all_providers()[provider]->spec().needs_engine && settings.engine_id.empty() &&
           !keys.names_engine(provider);
}

// Why the keys of the provider that are there can't be used, whatever their state; or empty.
std::string mistake_in_setup(ProviderIndex provider, const WebConfig& config, const KeyPool& keys) {
    const std::string_view name = all_providers()[provider]->spec().name;
    const ProviderSettings& settings = config.provider(name);
    const std::string section = "providers." + std::string(name);
    if (!settings.enabled) {
        return section + ".enabled is false";
    }
    if (lacks_engine(provider, settings, keys)) {
        return section + ".engine_id is not set";
    }
    return {};
}

}  // namespace

bool can_search(const WebConfig& config, KeyPool& keys) {
    for (const auto* route : {&config.route_fast, &config.route_deep}) {
        for (const std::string& name : *route) {
            const auto provider = find_provider_index(name);
            if (provider && has_usable_key(keys.counts_of(*provider)) &&
                mistake_in_setup(*provider, config, keys).empty()) {
                return true;
            }
        }
    }
    return false;
}

std::vector<IdleLane> idle_lanes(const WebConfig& config, KeyPool& keys) {
    std::vector<IdleLane> idle;
    for (const Lane lane : {Lane::kFast, Lane::kDeep}) {
        IdleLane found{std::string(to_string(lane)), {}};
        const bool is_served = std::ranges::any_of(config.route(lane), [&](const auto& name) {
            const auto provider = find_provider_index(name);
            if (!provider || keys.counts_of(*provider).active() == 0) {
                return false;
            }
            const std::string mistake = mistake_in_setup(*provider, config, keys);
            found.unused += (found.unused.empty() || mistake.empty() ? "" : ", ") + mistake;
            return mistake.empty();
        });
        if (!is_served) {
            idle.push_back(std::move(found));
        }
    }
    return idle;
}

}  // namespace sluice::web
