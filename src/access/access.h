// What every door asks first: who is this, may they, and is there room in their windows. Called on
// any thread; takes no lock that an I/O operation is done under, and does no I/O.
#pragma once

#include "access/spending.h"
#include "access/tokens.h"
#include "base/clock.h"
#include "base/config_reader.h"
#include "base/result.h"
#include "io/client_ip.h"
#include "io/http_message.h"
#include "obs/metrics.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::access {

enum class Anonymous : unsigned char { kNone, kSearch, kAll };

struct AccessConfig {
    std::optional<Anonymous> anonymous = {};      // nothing: anonymous_in_force() decides
    std::vector<std::string> allowed_hosts = {};  // besides loopback names and the listen addresses
    std::vector<std::string> cors_origins = {};
    io::TrustedProxies trusted_proxies = {};
    std::int64_t client_requests_per_minute = 0;  // per client bucket; 0: no limit
    std::int64_t token_requests_per_minute = 0;   // per token that has no limit of its own; 0: none

    static AccessConfig read(ConfigReader& in);  // reads from "auth", "server" and "limits"
};

// Whether the settings say that others than programs of this machine reach the gateway: by a
// listener of its own (`loopback_only` is false), or by a proxy in front of it.
bool is_reached_from_elsewhere(const AccessConfig& config, bool loopback_only);

// What is open without a token: as set, else everything where nobody else reaches the gateway, and
// nothing where somebody does.
Anonymous anonymous_in_force(const AccessConfig& config, bool loopback_only);

// What a request says about its sender. Made by credentials_of(); views live as long as the
// request.
struct Credentials {
    std::string_view token;         // from "Authorization: Bearer" or "X-Api-Key"; empty: none
    io::Address client;             // behind trusted proxies
    std::string_view host;          // Host header
    std::string_view origin;        // Origin header, or empty
    std::string_view fetch_site;    // Sec-Fetch-Site header, or empty
    bool forwarded = false;         // a proxy handed it on, by its headers
    bool over_unix_socket = false;  // the admin socket: full rights by file permission
};

// Who passed. Small and copied into whatever outlives the request.
struct Caller {
    std::string token_id;                           // empty: anonymous or the admin socket
    std::shared_ptr<const TokenRecord> token = {};  // null: likewise
    Scopes scopes;
    std::string bucket;  // what client windows count by
};

// As budgets know a caller.
Payer payer_of(Caller caller);

class RequestWindows;

class Access {
 public:
    // References outlive it. `loopback_only`: every listener is bound to a loopback address.
    Access(AccessConfig config, bool loopback_only, std::vector<std::string> listen_hosts,
           const TokenTable& tokens, const Clock& clock, obs::Metrics& metrics);
    ~Access();

    Credentials credentials_of(const io::HttpRequest& request) const;

    // Identifies the caller and checks `needed`. Errors: kUnauthenticated (blame kCaller),
    // kForbidden (the token lacks the scope), kForeignOrigin (Host not expected, or a cross-site
    // page, while anonymous access would let it in); kUnavailable while the tokens are not known,
    // for all but the admin socket.
    Result<Caller> identify(const Credentials& credentials, Scope needed) const;

    // identify(), then one request from the caller's windows: kRateLimited with retry_after set
    // when one is full (nothing is counted then), and kUnavailable for the admin socket, too.
    Result<Caller> admit(const Credentials& credentials, Scope needed);

    // Whether tokens are known, so that callers can be told apart.
    bool knows_tokens() const;

    // What admit() counts in. For who shares it with other replicas.
    RequestWindows& windows();

    // The origin to allow by CORS for this request ("https://app.example"), or empty.
    std::string_view allowed_origin(const Credentials& credentials) const;

    // For SIGHUP: takes effect for requests that begin afterwards. Thread-safe.
    void reconfigure(AccessConfig config);

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::access
