// The section "egress": what calls may go out through, and how one of it is chosen. Values; any
// thread.
#pragma once

#include "base/clock.h"
#include "base/config_reader.h"
#include "base/result.h"
#include "base/secret.h"
#include "guard/health.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::io {

enum class EgressPolicy : std::uint8_t {
    kDirect,    // no proxy
    kStatic,    // one endpoint for all calls to a provider
    kGeo,       // one in the request's country
    kSticky,    // one for all calls of a session
    kRotating,  // one after the other
};
std::string_view to_string(EgressPolicy policy);

struct EgressEndpointConfig {
    Secret url;           // scheme://[user:password@]host:port
    std::string address;  // the same without user and password: may be shown
    std::string country;  // ISO 3166-1 alpha-2, lower case; empty: none in particular

    static EgressEndpointConfig read(ConfigReader in);  // egress.endpoints.<name>
};

struct EgressConfig {
    static constexpr std::size_t kMaxEndpoints = 64;

    EgressPolicy policy = EgressPolicy::kDirect;
    std::map<std::string, EgressEndpointConfig, std::less<>> endpoints;
    std::string health_check_url;  // empty: nothing is probed, and every endpoint counts as up
    Millis health_interval{15'000};
    guard::HealthConfig health;

    static EgressConfig read(ConfigReader in);  // the section "egress"
};

// What one user of the egress is configured with: a policy or an endpoint of its own, or neither,
// which means egress.policy.
struct EgressChoice {
    std::optional<EgressPolicy> policy = {};
    std::string endpoint = {};

    bool operator==(const EgressChoice&) const = default;
};

// `word` is a policy's or an endpoint's name, or empty. kInvalidRequest, with a message that says
// what was expected, for any other word and for a policy that `config` has no endpoints for.
Result<EgressChoice> parse_egress_choice(std::string_view word, const EgressConfig& config);

}  // namespace sluice::io
