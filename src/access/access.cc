#include "access/access.h"

#include "access/metrics.h"
#include "access/origin.h"
#include "access/windows.h"
#include "base/join.h"
#include "base/published.h"
#include "base/text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

namespace sluice::access {

namespace {

// The label "reason" of sluice_access_refused_total.
enum class Refusal : std::uint8_t {
    kNoToken,
    kUnknownToken,
    kExpiredToken,
    kRevokedToken,
    kScope,
    kHost,
    kOrigin,
    kWindow,
};
constexpr std::array<std::string_view, 8> kRefusalNames = {
    "no_token", "unknown_token", "expired_token", "revoked_token",
    "scope",    "host",          "origin",        "window",
};

constexpr Millis kRetryWhileUnknown{1'000};

constexpr std::string_view kHowToSend = "send it as \"Authorization: Bearer <token>\"";
constexpr std::string_view kHowToMake = "\"sluice tokens add\" makes one";

Error refusal(Code code, std::string message) {
    return Error{code, Blame::kCaller, std::move(message), std::nullopt};
}

// What a token that is not accepted is answered with. Nothing of the token is repeated.
std::string_view explain(TokenRefusal reason) {
    switch (reason) {
        case TokenRefusal::kUnknown:
            return "the token is not known here: \"sluice tokens list\" shows which are";
        case TokenRefusal::kExpired:
            return "the token has expired: \"sluice tokens add\" makes another";
        case TokenRefusal::kRevoked:
            return "the token was revoked: \"sluice tokens add\" makes another";
    }
    SLUICE_ASSERT(false && "a TokenRefusal outside its enumeration");
}

Refusal counted_as(TokenRefusal reason) {
    switch (reason) {
        case TokenRefusal::kUnknown:
            return Refusal::kUnknownToken;
        case TokenRefusal::kExpired:
            return Refusal::kExpiredToken;
        case TokenRefusal::kRevoked:
            return Refusal::kRevokedToken;
    }
    SLUICE_ASSERT(false && "a TokenRefusal outside its enumeration");
}

// The token of an Authorization header, or empty: other schemes are not ours to judge, since a
// proxy in front may use them.
std::string_view bearer_of(std::string_view authorization) {
    constexpr std::string_view kScheme = "bearer ";
    if (authorization.size() < kScheme.size() ||
        !equals_ignoring_case(authorization.substr(0, kScheme.size()), kScheme)) {
        return {};
    }
    return trim(authorization.substr(kScheme.size()));
}

Error tokens_unknown() {
    return Error{Code::kUnavailable, Blame::kGateway,
                 "tokens and keys are not known yet: the database can't be used; an operator finds "
                 "the reason in the log",
                 kRetryWhileUnknown};
}

// AccessConfig with everything worked out that a request would have to work out again.
struct Policy {
    AccessConfig config;
    Anonymous anonymous = Anonymous::kNone;
    HostList hosts;

    bool lists_origin(const Origin& origin) const {
        return std::any_of(config.cors_origins.begin(), config.cors_origins.end(),
                           [&origin](const std::string& text) {
                               const auto listed = parse_origin(text);
                               return listed && same_origin(*listed, origin);
                           });
    }
};

// `administers`: whether administration may be open at all for this request.
Scopes anonymous_scopes(Anonymous anonymous, bool administers) {
    switch (anonymous) {
        case Anonymous::kNone:
            return {};
        case Anonymous::kSearch:
            return {Scope::kSearch};
        case Anonymous::kAll:
            return administers ? Scopes{Scope::kSearch, Scope::kStatus, Scope::kAdmin}
                               : Scopes{Scope::kSearch, Scope::kStatus};
    }
    SLUICE_ASSERT(false && "an Anonymous outside its enumeration");
}

std::string explain_missing_token(Scope needed, Anonymous anonymous) {
    if (needed == Scope::kAdmin && anonymous != Anonymous::kNone) {
        return join(
            {"administration needs a token with the scope admin: ", kHowToSend, "; ", kHowToMake});
    }
    if (anonymous == Anonymous::kSearch) {
        return join({"only searching is open without a token (auth.anonymous): ", kHowToSend, "; ",
                     kHowToMake});
    }
    return join({"a token is needed: ", kHowToSend, "; ", kHowToMake});
}

}  // namespace

bool is_reached_from_elsewhere(const AccessConfig& config, bool loopback_only) {
    return !loopback_only || !config.trusted_proxies.empty() || !config.allowed_hosts.empty();
}

Anonymous anonymous_in_force(const AccessConfig& config, bool loopback_only) {
    return config.anonymous.value_or(
        is_reached_from_elsewhere(config, loopback_only) ? Anonymous::kNone : Anonymous::kAll);
}

Payer payer_of(Caller caller) {
    Payer payer;
    payer.token_id = std::move(caller.token_id);
    if (caller.token) {
        payer.limits = caller.token->budget;
    }
    return payer;
}

struct Access::Impl {
    Impl(bool only_loopback, std::vector<std::string> listen, const TokenTable& table,
         const Clock& clock, obs::Metrics& metrics)
        : loopback_only(only_loopback),
          listen_hosts(std::move(listen)),
          tokens(table),
          time(clock) {
        for (std::size_t i = 0; i < refused.size(); ++i) {
            refused[i] = metrics.counter(kRefused, {std::string(kRefusalNames[i])});
        }
    }

    // A caller who passed, and what its windows allow.
    struct Identity {
        Caller caller;
        std::int64_t token_limit = 0;
        std::int64_t client_limit = 0;
    };

    std::shared_ptr<const Policy> make_policy(AccessConfig config) const {
        std::vector<std::string> hosts = listen_hosts;
        hosts.insert(hosts.end(), config.allowed_hosts.begin(), config.allowed_hosts.end());
        const Anonymous anonymous = anonymous_in_force(config, loopback_only);
        return std::make_shared<const Policy>(
            Policy{std::move(config), anonymous, HostList(hosts)});
    }

    Error refuse(Refusal reason, Code code, std::string message) const {
        refused[static_cast<std::size_t>(reason)].add();
        return refusal(code, std::move(message));
    }

    Result<Identity> identify(const Credentials& credentials, Scope needed) const;
    Result<Identity> by_token(const Policy& policy, const Credentials& credentials,
                              Scope needed) const;
    Result<Identity> anonymously(const Policy& policy, const Credentials& credentials,
                                 Scope needed) const;
    Status check_page(const Policy& policy, const Credentials& credentials) const;

    const bool loopback_only;
    const std::vector<std::string> listen_hosts;
    const TokenTable& tokens;
    const Clock& time;
    std::array<obs::Counter, kRefusalNames.size()> refused;
    Published<Policy> policy;
    RequestWindows windows;
};

Result<Access::Impl::Identity> Access::Impl::identify(const Credentials& credentials,
                                                      Scope needed) const {
    // Who can open the socket's file may do everything, and is not counted.
    if (credentials.over_unix_socket) {
        Identity operator_of_this_machine;
        operator_of_this_machine.caller.scopes = {Scope::kAdmin};
        operator_of_this_machine.caller.bucket = "unix";
        return operator_of_this_machine;
    }
    if (!tokens.is_known()) {
        return tokens_unknown();
    }
    const auto current = policy.get();
    if (!credentials.token.empty()) {
        return by_token(*current, credentials, needed);
    }
    return anonymously(*current, credentials, needed);
}

Result<Access::Impl::Identity> Access::Impl::by_token(const Policy& current,
                                                      const Credentials& credentials,
                                                      Scope needed) const {
    // A wrong token is refused where none would have been let in: its owner thinks that it works.
    const TokenVerdict verdict = tokens.verify(credentials.token, time.wall_now());
    if (!verdict.record) {
        return refuse(counted_as(verdict.refusal), Code::kUnauthenticated,
                      std::string(explain(verdict.refusal)));
    }
    const TokenRecord& record = *verdict.record;
    if (!record.scopes.allows(needed)) {
        return refuse(Refusal::kScope, Code::kForbidden,
                      join({"the token lacks the scope ", to_string(needed),
                            ": \"sluice tokens add\" makes one that has it"}));
    }
    Identity identity;
    identity.caller.token_id = record.id;
    identity.caller.scopes = record.scopes;
    identity.caller.bucket = io::bucket_of(credentials.client);
    identity.token_limit =
        record.requests_per_minute.value_or(current.config.token_requests_per_minute);
    identity.client_limit = current.config.client_requests_per_minute;
    identity.caller.token = verdict.record;
    return identity;
}

Result<Access::Impl::Identity> Access::Impl::anonymously(const Policy& current,
                                                         const Credentials& credentials,
                                                         Scope needed) const {
    // Whoever made a token meant to close something: administration at the least. And who came
    // through a proxy is not known to sit at this machine, though the connection begins there.
    const Scopes scopes =
        anonymous_scopes(current.anonymous, !credentials.forwarded && !tokens.any_active());
    if (!scopes.allows(needed)) {
        return refuse(Refusal::kNoToken, Code::kUnauthenticated,
                      explain_missing_token(needed, current.anonymous));
    }
    // Only here: a page can make a browser send a request, but not a token that it does not know.
    TRY_STATUS(check_page(current, credentials));
    Identity identity;
    identity.caller.scopes = scopes;
    identity.caller.bucket = io::bucket_of(credentials.client);
    identity.client_limit = current.config.client_requests_per_minute;
    return identity;
}

// Refuses what a browser was talked into by a foreign page: by a name of the page's own that DNS
// points here (an unexpected Host), or by a plain request across sites.
Status Access::Impl::check_page(const Policy& current, const Credentials& credentials) const {
    const auto host = parse_host(credentials.host);
    if (!host || !(is_loopback_name(host->host) || current.hosts.contains(host->host))) {
        const std::string named =
            host ? join({"the host \"", host->host, "\" is not expected here: "})
                 : std::string("the Host header names no host: ");
        return refuse(Refusal::kHost, Code::kForeignOrigin,
                      join({named, "add it to server.allowed_hosts, or send a token"}));
    }
    const auto origin = parse_origin(credentials.origin);
    if (origin && current.lists_origin(*origin)) {
        return {};
    }
    const bool foreign_origin =
        !credentials.origin.empty() && !(origin && is_origin_of(*origin, *host));
    // Browsers send "none" for what the person typed. A word that is not known yet is foreign.
    const std::string_view site = credentials.fetch_site;
    const bool foreign_site = !site.empty() && site != "same-origin" && site != "none";
    if (foreign_origin || foreign_site) {
        return refuse(Refusal::kOrigin, Code::kForeignOrigin,
                      "pages of another origin may not come in without a token: list the origin in "
                      "server.cors_origins, or send a token");
    }
    return {};
}

Access::Access(AccessConfig config, bool loopback_only, std::vector<std::string> listen_hosts,
               const TokenTable& tokens, const Clock& clock, obs::Metrics& metrics)
    : impl_(
          std::make_unique<Impl>(loopback_only, std::move(listen_hosts), tokens, clock, metrics)) {
    reconfigure(std::move(config));
}

Access::~Access() = default;

void Access::reconfigure(AccessConfig config) {
    impl_->policy.set(impl_->make_policy(std::move(config)));
}

Credentials Access::credentials_of(const io::HttpRequest& request) const {
    Credentials credentials;
    std::string_view api_key;
    struct Wanted {
        std::string_view name;
        std::string_view* value;
    };
    std::string_view authorization;
    const std::array wanted = {
        Wanted{"authorization", &authorization},
        Wanted{"x-api-key", &api_key},
        Wanted{"host", &credentials.host},
        Wanted{"origin", &credentials.origin},
        Wanted{"sec-fetch-site", &credentials.fetch_site},
    };
    for (const io::HeaderField& field : request.headers) {
        for (const Wanted& header : wanted) {
            // Of several fields of one name the first counts, as for every reader of headers here.
            if (header.value->data() == nullptr && equals_ignoring_case(field.name, header.name)) {
                *header.value = field.value;
            }
        }
    }
    credentials.token = bearer_of(authorization);
    if (credentials.token.empty()) {
        credentials.token = api_key;
    }
    credentials.client =
        impl_->policy.get()->config.trusted_proxies.client_of(request.peer, request.headers);
    credentials.forwarded = io::is_forwarded(request.headers);
    credentials.over_unix_socket = request.over_unix_socket;
    return credentials;
}

Result<Caller> Access::identify(const Credentials& credentials, Scope needed) const {
    TRY(auto identity, impl_->identify(credentials, needed));
    return std::move(identity.caller);
}

Result<Caller> Access::admit(const Credentials& credentials, Scope needed) {
    if (!knows_tokens()) {
        return tokens_unknown();
    }
    TRY(auto identity, impl_->identify(credentials, needed));
    WindowRequest request;
    request.token_id = identity.caller.token_id;
    request.token_limit = identity.token_limit;
    request.client = identity.caller.bucket;
    request.client_limit = identity.client_limit;
    if (auto taken = impl_->windows.take(request, impl_->time.wall_now()); !taken.ok()) {
        impl_->refused[static_cast<std::size_t>(Refusal::kWindow)].add();
        return std::move(taken).error();
    }
    return std::move(identity.caller);
}

bool Access::knows_tokens() const {
    return impl_->tokens.is_known();
}

RequestWindows& Access::windows() {
    return impl_->windows;
}

std::string_view Access::allowed_origin(const Credentials& credentials) const {
    const auto origin = parse_origin(credentials.origin);
    if (!origin || !impl_->policy.get()->lists_origin(*origin)) {
        return {};
    }
    return credentials.origin;
}

}  // namespace sluice::access
