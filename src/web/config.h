// The web side's settings: routes, lanes, cache, keys and providers. Values; any thread.
#pragma once

#include "base/clock.h"
#include "base/config_reader.h"
#include "guard/backoff.h"
#include "guard/circuit.h"
#include "guard/lanes.h"
#include "io/egress.h"
#include "web/key_runtime.h"
#include "web/price.h"
#include "web/provider.h"
#include "web/types.h"

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::web {

struct CacheConfig {
    Millis ttl{300'000};          // an answer is fresh for so long
    Millis stale_ttl{3'600'000};  // and served as a last resort for so long after that
    Millis negative_ttl{30'000};  // an empty answer is fresh for so long
    std::size_t max_bytes = 256 * 1024 * 1024;
    std::size_t max_entries = 2'000'000;
    bool provider_results_enabled = true;  // keep what providers answered, beneath the answers

    std::size_t compress_over_bytes = 16 * 1024;  // finished answers that are larger
    Millis lock_ttl{3'000};  // how long a replica that dies keeps the others waiting
    // Searches whose callers have all left that may finish what is paid for, to be kept.
    std::size_t max_unattended = 8;

    // How max_bytes and max_entries are shared out.
    std::size_t results_bytes() const { return provider_results_enabled ? max_bytes / 4 : 0; }
    std::size_t answers_bytes() const { return max_bytes - results_bytes(); }
    std::size_t results_entries() const { return provider_results_enabled ? max_entries / 4 : 0; }
    std::size_t answers_entries() const { return max_entries - results_entries(); }

    static CacheConfig read(ConfigReader in);  // the section "cache"
};

struct KeysConfig {
    RuntimeConfig runtime;
    Millis auth_failure_disable{900'000};  // a refused key is left alone for so long
    Millis default_cooldown{30'000};       // a rate-limited key, when the provider names no time
    Millis exhausted_retry{3'600'000};     // a key without quota, when the provider names no time

    static KeysConfig read(ConfigReader in);  // the section "keys"
};

struct MergeConfig {
    std::size_t providers = 3;  // asked at once
    Millis wait{1'000};         // for the others, after the first answer

    static MergeConfig read(ConfigReader in);  // the section "merge"
};

struct HedgeConfig {
    Millis initial_delay{1'500};   // what is slow for a provider that is not known well yet
    double max_extra_ratio = 0.1;  // of the calls that hedged searches make anyway

    static HedgeConfig read(ConfigReader in);  // the section "hedge"
};

struct ProviderSettings {
    bool enabled = true;
    std::string base_url;         // without a trailing slash
    io::EgressChoice egress;      // what its calls go out through
    Millis timeout{};             // of one attempt, from sending to the complete answer
    RateLimit rate;               // of all calls to it, by this process
    Millis results_ttl{300'000};  // how long an answer of it is kept
    Millis max_kept{};            // how long what it found is kept at all; 0: no bound
    std::string account;          // of keys without their own; empty: none
    std::string engine_id;        // of keys without their own, where a provider needs one
    PriceConfig price;

    // The section "providers.<name>".
    static ProviderSettings read(ConfigReader in, const ProviderSpec& spec,
                                 const io::EgressConfig& egress);
};

struct WebConfig {
    std::vector<std::string> route_fast = {"serper", "brave", "google_cse"};
    std::vector<std::string> route_deep = {"tavily", "exa"};
    Strategy fast_strategy = Strategy::kFailover;  // never kOfLane
    Strategy deep_strategy = Strategy::kFailover;
    guard::LanesConfig lanes;
    guard::CircuitConfig circuit;
    guard::BackoffConfig retry;
    CacheConfig cache;
    KeysConfig keys;
    MergeConfig merge;
    HedgeConfig hedge;
    io::EgressConfig egress;
    std::map<std::string, ProviderSettings, std::less<>> providers;  // every built-in one

    static WebConfig read(ConfigReader& in);  // from the top of the file
    // The settings of a provider of this binary; asserted.
    const ProviderSettings& provider(std::string_view name) const;
    // By ProviderIndex: ProviderSettings::account, as KeyPool takes them.
    std::vector<std::string> default_accounts() const;
    // By ProviderIndex: what EgressRouter::configure() is told of each provider.
    std::vector<io::EgressUser> egress_users() const;
    // How the providers are combined: as the request says, else as its lane does. Never kOfLane.
    Strategy strategy(const SearchRequest& request) const;
    const std::vector<std::string>& route(Lane lane) const {
        return lane == Lane::kFast ? route_fast : route_deep;
    }
};

// The scheduler's name for a lane.
guard::LaneKind kind_of(Lane lane);

}  // namespace sluice::web
