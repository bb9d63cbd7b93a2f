// A gateway's access with its surroundings, set up in the ways that the rules tell apart.
#pragma once

#include "access/access.h"
#include "access/metrics.h"
#include "access/tokens.h"
#include "base/random.h"
#include "support/manual_clock.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::access {

// What a gateway is set up as. "Lan" listens on 10.0.0.5 too.
enum class Setup {
    kLoopback,        // fresh: no tokens
    kLoopbackTokens,  // the same with tokens
    kLoopbackNone,    // auth.anonymous = "none"
    kLoopbackSearch,  // auth.anonymous = "search"
    kLoopbackAll,     // fresh, auth.anonymous = "all", a name besides those of loopback
    kNamed,           // fresh, and a name besides those of loopback
    kProxied,         // fresh, with a proxy in front that is trusted
    kLan,             // tokens, nothing set
    kLanSearch,       // tokens, auth.anonymous = "search"
    kLanAll,          // tokens, auth.anonymous = "all"
    kLanAllFresh,     // the same without tokens
};

inline bool is_lan(Setup setup) {
    return setup >= Setup::kLan;
}
inline bool has_tokens(Setup setup) {
    return setup != Setup::kLoopback && setup != Setup::kLoopbackAll && setup != Setup::kNamed &&
           setup != Setup::kProxied && setup != Setup::kLanAllFresh;
}

inline AccessConfig config_of(Setup setup) {
    AccessConfig config;
    config.cors_origins = {"https://app.example"};
    const auto choose = [&config](Anonymous anonymous) { config.anonymous = anonymous; };
    switch (setup) {
        case Setup::kLoopback:
        case Setup::kLoopbackTokens:
        case Setup::kLan:
            break;
        case Setup::kNamed:
            config.allowed_hosts = {"search.example"};
            break;
        case Setup::kProxied:
            config.trusted_proxies =
                io::TrustedProxies({io::Network::parse("127.0.0.0/8").value()});
            break;
        case Setup::kLoopbackAll:
            config.allowed_hosts = {"search.example"};
            choose(Anonymous::kAll);
            break;
        case Setup::kLoopbackNone:
            choose(Anonymous::kNone);
            break;
        case Setup::kLoopbackSearch:
        case Setup::kLanSearch:
            choose(Anonymous::kSearch);
            break;
        case Setup::kLanAll:
        case Setup::kLanAllFresh:
            choose(Anonymous::kAll);
            break;
    }
    return config;
}

// An Access with its surroundings, and tokens by name: "search", "status", "admin", "expired",
// "revoked", "limited" (3 a minute), "unlimited" (no limit, whatever the setting says).
class Gateway {
 public:
    explicit Gateway(Setup setup) : Gateway(setup, config_of(setup)) {}
    Gateway(Setup setup, AccessConfig config)
        : access_(std::move(config), !is_lan(setup),
                  is_lan(setup) ? std::vector<std::string>{"127.0.0.1", "10.0.0.5"}
                                : std::vector<std::string>{"127.0.0.1"},
                  table_, clock_, metrics_) {
        if (has_tokens(setup)) {
            make_tokens();
        }
    }

    Access& access() { return access_; }
    test::ManualClock& clock() { return clock_; }
    TokenTable& table() { return table_; }
    std::string token(std::string_view name) const {
        const auto found = tokens_.find(name);
        return found == tokens_.end() ? std::string(name) : found->second;
    }
    double refused(const std::string& reason) {
        return metrics_.counter(kRefused, {reason}).value();
    }

 private:
    void make_tokens() {
        SeededRandom random(1);
        std::vector<StoredToken> stored;
        const auto mint = [&](const std::string& name, Scopes scopes) -> TokenRecord& {
            const TokenText text = make_token_text(random);
            tokens_[name] = text.token.reveal();
            StoredToken& token = stored.emplace_back();
            token.record.id = text.id;
            token.record.label = name;
            token.record.scopes = scopes;
            token.digest = text.digest;
            return token.record;
        };
        mint("search", {Scope::kSearch});
        mint("status", {Scope::kStatus});
        mint("admin", {Scope::kAdmin});
        mint("expired", {Scope::kAdmin}).expires_at = clock_.wall_now();
        mint("revoked", {Scope::kAdmin}).revoked_at = clock_.wall_now();
        mint("limited", {Scope::kSearch}).requests_per_minute = 3;
        mint("unlimited", {Scope::kSearch}).requests_per_minute = 0;
        table_.reload(std::move(stored));
    }

    test::ManualClock clock_;
    obs::Metrics metrics_;
    TokenTable table_;
    std::map<std::string, std::string, std::less<>> tokens_;
    Access access_;
};

}  // namespace sluice::access
