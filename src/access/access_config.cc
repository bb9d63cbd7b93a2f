#include "access/access.h"
#include "access/origin.h"
#include "access/token_store.h"

#include <optional>
#include <utility>

namespace sluice::access {

namespace {

constexpr std::size_t kMaxListed = 256;  // allowed hosts, and as many origins

void read_anonymous(ConfigReader auth, AccessConfig& config) {
    auth.choice({.key = "anonymous",
                 .help = "what is open without a token; auto is all while every listener is on "
                         "loopback and no trusted_proxy_cidrs or allowed_hosts name a proxy in "
                         "front, else none",
                 .needs_restart = false},
                config.anonymous,
                {{"auto", std::nullopt},
                 {"none", Anonymous::kNone},
                 {"search", Anonymous::kSearch},
                 {"all", Anonymous::kAll}});
}

struct ListRule {
    std::string_view key;
    bool (*fits)(std::string_view entry);
    std::string_view expected;
};

// Keeps the entries that fit and reports the others.
void check_list(ConfigReader& in, const ListRule& rule, std::vector<std::string>& list) {
    if (list.size() > kMaxListed) {
        in.fail(rule.key, "expected at most " + std::to_string(kMaxListed) + " entries");
        list.resize(kMaxListed);
    }
    std::vector<std::string> good;
    for (std::string& entry : list) {
        if (rule.fits(entry)) {
            good.push_back(std::move(entry));
            continue;
        }
        in.fail(rule.key,
                "expected " + std::string(rule.expected) + " instead of \"" + entry + "\"");
    }
    list = std::move(good);
}

void read_server(ConfigReader server, AccessConfig& config) {
    server.list({.key = "allowed_hosts",
                 .help = "names under which clients without a token may reach the gateway, besides "
                         "loopback names and the listen addresses",
                 .needs_restart = false},
                config.allowed_hosts);
    check_list(server,
               {"allowed_hosts", [](std::string_view entry) { return HostList::is_host(entry); },
                "a host name or an address, without a port,"},
               config.allowed_hosts);
    server.list({.key = "cors_origins",
                 .help = "origins whose pages may call the gateway from a browser, such as "
                         "https://app.example",
                 .needs_restart = false},
                config.cors_origins);
    check_list(
        server,
        {"cors_origins", [](std::string_view entry) { return parse_origin(entry).has_value(); },
         "an origin such as https://app.example or http://localhost:3000, without a path,"},
        config.cors_origins);
    config.trusted_proxies = io::TrustedProxies::read(server);
}

void read_limits(ConfigReader limits, AccessConfig& config) {
    limits.integer({.key = "client_requests_per_minute",
                    .help = "requests that one client address may make in a minute; 0: no limit",
                    .needs_restart = false},
                   config.client_requests_per_minute, std::int64_t{0}, kMaxRequestsPerMinute);
    limits.integer({.key = "token_requests_per_minute",
                    .help = "requests that one token may make in a minute, unless it has a limit "
                            "of its own; 0: no limit",
                    .needs_restart = false},
                   config.token_requests_per_minute, std::int64_t{0}, kMaxRequestsPerMinute);
}

}  // namespace

AccessConfig AccessConfig::read(ConfigReader& in) {
    AccessConfig config;
    read_anonymous(in.section("auth"), config);
    read_server(in.section("server"), config);
    read_limits(in.section("limits"), config);
    return config;
}

}  // namespace sluice::access
