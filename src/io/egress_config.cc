#include "io/egress_config.h"

#include "base/text.h"
#include "io/url_form.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace sluice::io {

namespace {

using namespace std::chrono_literals;

constexpr std::array kPolicies = {EgressPolicy::kDirect, EgressPolicy::kStatic, EgressPolicy::kGeo,
                                  EgressPolicy::kSticky, EgressPolicy::kRotating};
constexpr std::array<std::string_view, 4> kSchemes = {"http", "https", "socks5", "socks5h"};
constexpr std::string_view kProxyForm =
    "expected the URL of a proxy: http, https, socks5 or socks5h, then "
    "://[user:password@]host:port";

std::optional<EgressPolicy> find_policy(std::string_view word) {
    const auto* const found =
        std::ranges::find(kPolicies, word, [](EgressPolicy policy) { return to_string(policy); });
    return found == kPolicies.end() ? std::nullopt : std::optional(*found);
}

// Of a host, or of a user and a password: what else they hold stands there as %XX.
bool is_plain(std::string_view text) {
    return !text.empty() && has_whole_escapes(text) && std::ranges::all_of(text, [](char c) {
        return c > 0x20 && c < 0x7F && c != '/' && c != '?' && c != '#' && c != '@' && c != '\\';
    });
}

// scheme://host:port of the URL of a proxy; nothing when it is none.
std::optional<std::string> address_of(std::string_view url) {
    const std::size_t scheme_end = url.find("://");
    if (scheme_end == std::string_view::npos) {
        return std::nullopt;
    }
    const std::string scheme = to_lower(url.substr(0, scheme_end));
    std::string_view rest = url.substr(scheme_end + 3);
    if (rest.ends_with('/')) {
        rest.remove_suffix(1);
    }
    const std::size_t at = rest.rfind('@');
    const std::string_view user = at == std::string_view::npos ? "" : rest.substr(0, at);
    const std::string_view host_port = at == std::string_view::npos ? rest : rest.substr(at + 1);
    const std::size_t colon = host_port.rfind(':');
    const bool is_good = std::ranges::find(kSchemes, scheme) != kSchemes.end() &&
                         colon != std::string_view::npos && is_plain(host_port.substr(0, colon)) &&
                         is_port(host_port.substr(colon + 1)) && (user.empty() || is_plain(user));
    return is_good ? std::optional(scheme + "://" + std::string(host_port)) : std::nullopt;
}

bool is_country(std::string_view text) {
    return text.size() == 2 &&
           std::ranges::all_of(text, [](char c) { return c >= 'a' && c <= 'z'; });
}

// What keeps `policy` from being of use; empty when nothing does.
std::string_view what_is_missing(EgressPolicy policy, const EgressConfig& config) {
    if (policy == EgressPolicy::kDirect) {
        return "";
    }
    if (config.endpoints.empty()) {
        return "expected at least one endpoint for this policy: declare "
               "[egress.endpoints.<name>] with its url";
    }
    const bool has_country = std::ranges::any_of(
        config.endpoints, [](const auto& each) { return !each.second.country.empty(); });
    if (policy == EgressPolicy::kGeo && !has_country) {
        return "expected an endpoint with a country for this policy: set "
               "egress.endpoints.<name>.country";
    }
    return "";
}

void read_health(ConfigReader& in, EgressConfig& c) {
    in.text({"health_check_url",
             "asked through each endpoint to see whether it works, 2xx and 3xx are good; empty: no "
             "endpoint is probed, and all count as up",
             {},
             false},
            c.health_check_url);
    in.duration({"health_interval_s", "how often each endpoint is probed", {}, false},
                c.health_interval, 100ms, 1h);
    in.integer({"down_after",
                "failures in a row, of probes or of calls, that take an endpoint out of use",
                {},
                false},
               c.health.down_after, std::size_t{1}, std::size_t{100});
    in.integer({"up_after", "good probes in a row that bring it back", {}, false},
               c.health.up_after, std::size_t{1}, std::size_t{100});
    in.duration({"hold_s", "how long an endpoint stays up or down at least", {}, false},
                c.health.hold, 0ms, 1h);
    if (!c.health_check_url.empty() && !is_http_url(c.health_check_url)) {
        in.fail("health_check_url",
                "expected a URL that begins with http:// or https:// and can be called");
    }
}

}  // namespace

std::string_view to_string(EgressPolicy policy) {
    switch (policy) {
        case EgressPolicy::kDirect:
            return "direct";
        case EgressPolicy::kStatic:
            return "static";
        case EgressPolicy::kGeo:
            return "geo";
        case EgressPolicy::kSticky:
            return "sticky";
        case EgressPolicy::kRotating:
            return "rotating";
    }
    SLUICE_ASSERT(false && "an EgressPolicy outside its enumeration");
}

EgressEndpointConfig EgressEndpointConfig::read(ConfigReader in) {
    EgressEndpointConfig c;
    in.secret(
        {"url",
         "a proxy of yours: http, https, socks5 (names are resolved here) or socks5h (there), "
         "as scheme://[user:password@]host:port",
         {},
         false},
        c.url);
    in.text({"country",
             "where it comes out, as two letters (ISO 3166-1), for the policy geo",
             {},
             false},
            c.country);
    c.country = to_lower(c.country);
    if (!c.country.empty() && !is_country(c.country)) {
        in.fail("country", "expected two letters, such as \"de\"");
    }
    c.address = address_of(c.url.reveal()).value_or("");
    return c;
}

EgressConfig EgressConfig::read(ConfigReader in) {
    EgressConfig c;
    std::vector<std::pair<std::string_view, EgressPolicy>> words;
    for (const EgressPolicy policy : kPolicies) {
        words.emplace_back(to_string(policy), policy);
    }
    in.choice({"policy", "how what a call goes out through is chosen", {}, false}, c.policy, words);
    read_health(in, c);
    EgressEndpointConfig::read(in.template_section("endpoints"));
    ConfigReader endpoints = in.section("endpoints");
    for (const std::string& name : in.names("endpoints")) {
        ConfigReader section = endpoints.section(name);
        EgressEndpointConfig endpoint = EgressEndpointConfig::read(section);
        if (find_policy(name)) {
            section.fail("url", "expected another name for the endpoint: '" + name +
                                    "' is the name of a policy");
        } else if (endpoint.address.empty()) {
            section.fail("url", std::string(kProxyForm));
        }
        c.endpoints.emplace(name, std::move(endpoint));
    }
    if (c.endpoints.size() > kMaxEndpoints) {
        in.fail("endpoints", "expected at most " + std::to_string(kMaxEndpoints) + " endpoints");
    }
    if (const std::string_view missing = what_is_missing(c.policy, c); !missing.empty()) {
        in.fail("policy", std::string(missing));
    }
    return c;
}

Result<EgressChoice> parse_egress_choice(std::string_view word, const EgressConfig& config) {
    const auto refuse = [](std::string message) {
        return Error{Code::kInvalidRequest, Blame::kGateway, std::move(message), {}};
    };
    if (word.empty()) {
        return EgressChoice{};
    }
    if (const std::optional<EgressPolicy> policy = find_policy(word)) {
        if (const std::string_view missing = what_is_missing(*policy, config); !missing.empty()) {
            return refuse(std::string(missing));
        }
        return EgressChoice{policy, {}};
    }
    if (config.endpoints.contains(word)) {
        return EgressChoice{{}, std::string(word)};
    }
    std::vector<std::string_view> known;
    for (const auto& [name, endpoint] : config.endpoints) {
        known.push_back(name);
    }
    std::ranges::transform(kPolicies, std::back_inserter(known),
                           [](EgressPolicy policy) { return to_string(policy); });
    std::string message =
        "expected a policy (direct, static, geo, sticky, rotating) or the name of "
        "an endpoint below egress.endpoints";
    if (const auto guess = nearest(word, known)) {
        message += "; did you mean '" + std::string(*guess) + "'?";
    }
    return refuse(std::move(message));
}

}  // namespace sluice::io
