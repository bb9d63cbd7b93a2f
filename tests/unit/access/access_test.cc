#include "access/access.h"

#include "access/metrics.h"
#include "base/random.h"
#include "support/manual_clock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace sluice::access {
namespace {

using namespace std::chrono_literals;

const io::Address kClient = io::Address::parse("203.0.113.7").value();

// What a gateway is set up as. "Lan" listens on 10.0.0.5 too.
enum class Setup {
    kLoopback,        // fresh: no tokens
    kLoopbackTokens,  // the same with tokens
    kLoopbackNone,    // auth.anonymous = "none"
    kLoopbackSearch,  // auth.anonymous = "search"
    kLan,             // tokens, nothing set
    kLanSearch,       // tokens, auth.anonymous = "search"
    kLanAll,          // tokens, auth.anonymous = "all"
    kLanAllFresh,     // the same without tokens
};

bool is_lan(Setup setup) {
    return setup >= Setup::kLan;
}
bool has_tokens(Setup setup) {
    return setup != Setup::kLoopback && setup != Setup::kLanAllFresh;
}

AccessConfig config_of(Setup setup) {
    AccessConfig config;
    config.allowed_hosts = {"search.example"};
    config.cors_origins = {"https://app.example"};
    const auto choose = [&config](Anonymous anonymous) {
        config.anonymous = anonymous;
        config.anonymous_is_set = true;
    };
    switch (setup) {
        case Setup::kLoopback:
        case Setup::kLoopbackTokens:
        case Setup::kLan:
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

// ---- the verdicts -----------------------------------------------------------------------------

struct Row {
    const char* what;
    Setup setup;
    Scope needed = Scope::kSearch;
    std::string_view token = {};  // a name, or the text itself
    std::string_view host = "localhost:8080";
    std::string_view origin = {};
    std::string_view site = {};
    std::optional<Code> refused = {};
    std::string_view hint = {};  // what the message must tell
    bool unix_socket = false;
};

constexpr Code k401 = Code::kUnauthenticated;
constexpr Code k403 = Code::kForbidden;
constexpr Code kForeign = Code::kForeignOrigin;

const std::vector<Row>& rows() {
    using enum Setup;
    using enum Scope;
    static const std::vector<Row> all = {
        // What is open without a token, by setup and scope.
        {.what = "fresh: search", .setup = kLoopback},
        {.what = "fresh: status", .setup = kLoopback, .needed = kStatus},
        {.what = "fresh: admin", .setup = kLoopback, .needed = kAdmin},
        {.what = "tokens exist: search", .setup = kLoopbackTokens},
        {.what = "tokens exist: status", .setup = kLoopbackTokens, .needed = kStatus},
        {.what = "tokens exist: admin closes",
         .setup = kLoopbackTokens,
         .needed = kAdmin,
         .refused = k401,
         .hint = "sluice tokens add"},
        {.what = "none: search", .setup = kLoopbackNone, .refused = k401, .hint = "Bearer"},
        {.what = "none: status", .setup = kLoopbackNone, .needed = kStatus, .refused = k401},
        {.what = "none: admin", .setup = kLoopbackNone, .needed = kAdmin, .refused = k401},
        {.what = "search only: search", .setup = kLoopbackSearch},
        {.what = "search only: status",
         .setup = kLoopbackSearch,
         .needed = kStatus,
         .refused = k401,
         .hint = "auth.anonymous"},
        {.what = "search only: admin",
         .setup = kLoopbackSearch,
         .needed = kAdmin,
         .refused = k401,
         .hint = "administration"},
        {.what = "lan: search", .setup = kLan, .refused = k401, .hint = "sluice tokens add"},
        {.what = "lan: status", .setup = kLan, .needed = kStatus, .refused = k401},
        {.what = "lan: admin", .setup = kLan, .needed = kAdmin, .refused = k401},
        {.what = "lan, search open: search", .setup = kLanSearch},
        {.what = "lan, search open: status",
         .setup = kLanSearch,
         .needed = kStatus,
         .refused = k401},
        {.what = "lan, search open: admin", .setup = kLanSearch, .needed = kAdmin, .refused = k401},
        {.what = "lan, all open: status", .setup = kLanAll, .needed = kStatus},
        {.what = "lan, all open: admin", .setup = kLanAll, .needed = kAdmin, .refused = k401},
        {.what = "lan, all open, no tokens: admin", .setup = kLanAllFresh, .needed = kAdmin},

        // Tokens and their scopes.
        {.what = "search token searches", .setup = kLan, .token = "search"},
        {.what = "search token: status",
         .setup = kLan,
         .needed = kStatus,
         .token = "search",
         .refused = k403,
         .hint = "status"},
        {.what = "search token: admin",
         .setup = kLan,
         .needed = kAdmin,
         .token = "search",
         .refused = k403,
         .hint = "admin"},
        {.what = "status token: status", .setup = kLan, .needed = kStatus, .token = "status"},
        {.what = "status token: search", .setup = kLan, .token = "status", .refused = k403},
        {.what = "admin token: search", .setup = kLan, .token = "admin"},
        {.what = "admin token: status", .setup = kLan, .needed = kStatus, .token = "admin"},
        {.what = "admin token: admin", .setup = kLan, .needed = kAdmin, .token = "admin"},
        {.what = "a token's scopes hold where more is open",
         .setup = kLoopbackTokens,
         .needed = kStatus,
         .token = "search",
         .refused = k403},

        // A wrong token is refused everywhere, also where none would have been asked for.
        {.what = "expired", .setup = kLan, .token = "expired", .refused = k401, .hint = "expired"},
        {.what = "revoked", .setup = kLan, .token = "revoked", .refused = k401, .hint = "revoked"},
        {.what = "unknown",
         .setup = kLan,
         .token = "slc_aaaaaaaa_0123456789012345678901234567890123456789012",
         .refused = k401,
         .hint = "not known"},
        {.what = "malformed", .setup = kLan, .token = "hunter2", .refused = k401},
        {.what = "malformed, open", .setup = kLoopback, .token = "hunter2", .refused = k401},
        {.what = "unknown, open",
         .setup = kLoopback,
         .token = "slc_aaaaaaaa_0123456789012345678901234567890123456789012",
         .refused = k401},
        {.what = "expired, open", .setup = kLoopbackTokens, .token = "expired", .refused = k401},
        {.what = "revoked, open", .setup = kLoopbackTokens, .token = "revoked", .refused = k401},

        // Hosts, while no token is sent.
        {.what = "localhost without a port", .setup = kLoopback, .host = "localhost"},
        {.what = "localhost in capitals", .setup = kLoopback, .host = "LOCALHOST:8080"},
        {.what = "localhost with a dot", .setup = kLoopback, .host = "localhost.:8080"},
        {.what = "below localhost", .setup = kLoopback, .host = "sluice.localhost:8080"},
        {.what = "127.0.0.1", .setup = kLoopback, .host = "127.0.0.1:9999"},
        {.what = "::1", .setup = kLoopback, .host = "[::1]:8080"},
        {.what = "an allowed host", .setup = kLoopback, .host = "search.example"},
        {.what = "an allowed host, any port", .setup = kLoopback, .host = "Search.Example:8443"},
        {.what = "a listen address", .setup = kLanSearch, .host = "10.0.0.5:8080"},
        {.what = "another address",
         .setup = kLanSearch,
         .host = "10.0.0.6:8080",
         .refused = kForeign,
         .hint = "server.allowed_hosts"},
        {.what = "a rebound name",
         .setup = kLoopback,
         .host = "evil.example:8080",
         .refused = kForeign,
         .hint = "evil.example"},
        {.what = "a rebound name for administration",
         .setup = kLoopback,
         .needed = kAdmin,
         .host = "evil.example:8080",
         .refused = kForeign},
        {.what = "an allowed host as a prefix",
         .setup = kLoopback,
         .host = "search.example.evil.example",
         .refused = kForeign},
        {.what = "an allowed host as a suffix",
         .setup = kLoopback,
         .host = "x.search.example",
         .refused = kForeign},
        {.what = "localhost as a prefix",
         .setup = kLoopback,
         .host = "localhost.evil.example",
         .refused = kForeign},
        {.what = "the wildcard address",
         .setup = kLoopback,
         .host = "0.0.0.0:8080",
         .refused = kForeign},
        {.what = "no host", .setup = kLoopback, .host = "", .refused = kForeign},
        {.what = "a malformed host",
         .setup = kLoopback,
         .host = "localhost:8080:1",
         .refused = kForeign},
        {.what = "user information",
         .setup = kLoopback,
         .host = "localhost@evil.example",
         .refused = kForeign},
        {.what = "any host with a token", .setup = kLan, .token = "search", .host = "evil.example"},
        {.what = "closed counts before the host",
         .setup = kLan,
         .host = "evil.example",
         .refused = k401},

        // Pages, while no token is sent.
        {.what = "a page of ours",
         .setup = kLoopback,
         .origin = "http://localhost:8080",
         .site = "same-origin"},
        {.what = "a page of ours, old browser",
         .setup = kLoopback,
         .origin = "http://localhost:8080"},
        {.what = "typed into the address bar", .setup = kLoopback, .site = "none"},
        {.what = "a page behind a TLS proxy",
         .setup = kLoopback,
         .host = "search.example",
         .origin = "https://search.example",
         .site = "same-origin"},
        {.what = "a listed origin",
         .setup = kLoopback,
         .origin = "https://app.example",
         .site = "cross-site"},
        {.what = "a listed origin, its port written out",
         .setup = kLoopback,
         .origin = "https://app.example:443"},
        {.what = "a listed origin under a rebound name",
         .setup = kLoopback,
         .host = "evil.example",
         .origin = "https://app.example",
         .refused = kForeign},
        {.what = "a foreign origin",
         .setup = kLoopback,
         .origin = "https://evil.example",
         .site = "cross-site",
         .refused = kForeign,
         .hint = "server.cors_origins"},
        {.what = "a foreign origin, old browser",
         .setup = kLoopback,
         .origin = "https://evil.example",
         .refused = kForeign},
        {.what = "a listed origin over plain HTTP",
         .setup = kLoopback,
         .origin = "http://app.example",
         .refused = kForeign},
        {.what = "another port of this machine",
         .setup = kLoopback,
         .origin = "http://localhost:3000",
         .site = "same-site",
         .refused = kForeign},
        {.what = "an opaque origin", .setup = kLoopback, .origin = "null", .refused = kForeign},
        {.what = "a malformed origin",
         .setup = kLoopback,
         .origin = "localhost:8080",
         .refused = kForeign},
        {.what = "a foreign image tag",
         .setup = kLoopback,
         .site = "cross-site",
         .refused = kForeign},
        {.what = "a sibling's image tag",
         .setup = kLoopback,
         .site = "same-site",
         .refused = kForeign},
        {.what = "a word that is not known",
         .setup = kLoopback,
         .site = "cross-galaxy",
         .refused = kForeign},
        {.what = "our origin, but said to be cross-site",
         .setup = kLoopback,
         .origin = "http://localhost:8080",
         .site = "cross-site",
         .refused = kForeign},
        {.what = "a foreign page with a token",
         .setup = kLan,
         .token = "search",
         .origin = "https://evil.example",
         .site = "cross-site"},
        {.what = "a foreign page with a wrong token",
         .setup = kLoopback,
         .token = "hunter2",
         .origin = "https://evil.example",
         .refused = k401},

        // The Unix socket.
        {.what = "the socket searches", .setup = kLan, .host = "", .unix_socket = true},
        {.what = "the socket administers",
         .setup = kLan,
         .needed = kAdmin,
         .host = "",
         .unix_socket = true},
        {.what = "the socket with anonymous none",
         .setup = kLoopbackNone,
         .needed = kAdmin,
         .unix_socket = true},
    };
    return all;
}

Credentials credentials_of(const Row& row, std::string_view token) {
    Credentials credentials;
    credentials.token = token;
    credentials.client = kClient;
    credentials.host = row.host;
    credentials.origin = row.origin;
    credentials.fetch_site = row.site;
    credentials.over_unix_socket = row.unix_socket;
    return credentials;
}

// Who may do what: the whole table, through identify() and admit() alike. Messages say what to do
// and repeat nothing of a token.
TEST(Access, Verdicts) {
    ASSERT_GE(rows().size(), 60U);
    for (const Row& row : rows()) {
        SCOPED_TRACE(row.what);
        Gateway gateway(row.setup);
        const std::string token = gateway.token(row.token);
        const Credentials credentials = credentials_of(row, token);
        const auto identified = gateway.access().identify(credentials, row.needed);
        const auto admitted = gateway.access().admit(credentials, row.needed);
        ASSERT_EQ(identified.ok(), !row.refused.has_value())
            << (identified.ok() ? "" : identified.error().message);
        ASSERT_EQ(admitted.ok(), identified.ok());
        if (identified.ok()) {
            EXPECT_TRUE(identified->scopes.allows(row.needed));
            EXPECT_EQ(identified->token_id.empty(), token.empty());
            continue;
        }
        EXPECT_EQ(identified.error().code, *row.refused);
        EXPECT_EQ(admitted.error().code, *row.refused);
        EXPECT_EQ(identified.error().blame, Blame::kCaller);
        EXPECT_NE(identified.error().message.find(row.hint), std::string::npos)
            << identified.error().message;
        if (!token.empty()) {
            EXPECT_EQ(identified.error().message.find(token), std::string::npos);
        }
    }
}

// The word under which each refusal is counted, once per request.
TEST(Access, RefusalsAreCounted) {
    struct Counted {
        std::string_view token;
        Scope needed;
        std::string_view host;
        std::string_view origin;
        const char* reason;
    };
    constexpr Counted kRows[] = {
        {"", Scope::kAdmin, "localhost", "", "no_token"},
        {"hunter2", Scope::kSearch, "localhost", "", "unknown_token"},
        {"expired", Scope::kSearch, "localhost", "", "expired_token"},
        {"revoked", Scope::kSearch, "localhost", "", "revoked_token"},
        {"search", Scope::kAdmin, "localhost", "", "scope"},
        {"", Scope::kSearch, "evil.example", "", "host"},
        {"", Scope::kSearch, "localhost", "https://evil.example", "origin"},
    };
    Gateway gateway(Setup::kLoopbackTokens);
    for (const Counted& row : kRows) {
        SCOPED_TRACE(row.reason);
        const std::string token = gateway.token(row.token);
        Credentials credentials;
        credentials.token = token;
        credentials.host = row.host;
        credentials.origin = row.origin;
        EXPECT_FALSE(gateway.access().admit(credentials, row.needed).ok());
        EXPECT_EQ(gateway.refused(row.reason), 1);
    }
}

// ---- who the caller is ------------------------------------------------------------------------

Credentials from(std::string_view client, std::string_view token = {}) {
    Credentials credentials;
    credentials.token = token;
    credentials.client = io::Address::parse(client).value();
    credentials.host = "localhost";
    return credentials;
}

// What outlives the request says who it was, and what client windows count by.
TEST(Access, CallersAreDescribed) {
    Gateway gateway(Setup::kLoopbackTokens);
    const std::string token = gateway.token("status");
    const Caller named =
        gateway.access().identify(from("203.0.113.7", token), Scope::kStatus).value();
    EXPECT_EQ(named.token_id, token.substr(4, 8));
    EXPECT_EQ(named.scopes, Scopes{Scope::kStatus});
    EXPECT_EQ(named.bucket, "203.0.113.7");

    const Caller anonymous =
        gateway.access().identify(from("2001:db8:1:2:3::9"), Scope::kSearch).value();
    EXPECT_EQ(anonymous.token_id, "");
    EXPECT_EQ(anonymous.scopes, (Scopes{Scope::kSearch, Scope::kStatus}));
    EXPECT_EQ(anonymous.bucket, "2001:db8:1:2::/64");
}

// ---- windows ----------------------------------------------------------------------------------

int passes(Gateway& gateway, const Credentials& credentials, int tries = 20) {
    int passed = 0;
    for (int i = 0; i < tries; ++i) {
        passed += gateway.access().admit(credentials, Scope::kSearch).ok() ? 1 : 0;
    }
    return passed;
}

AccessConfig limited(std::int64_t per_client, std::int64_t per_token) {
    AccessConfig config;
    config.client_requests_per_minute = per_client;
    config.token_requests_per_minute = per_token;
    return config;
}

// Which limit holds for whom.
TEST(Access, LimitsByCaller) {
    struct LimitRow {
        const char* what;
        std::int64_t per_client;
        std::int64_t per_token;
        std::string_view token;
        int passes;  // of 20
    };
    constexpr LimitRow kRows[] = {
        {"no limits", 0, 0, "", 20},
        {"anonymous", 5, 2, "", 5},
        {"the setting's for tokens", 0, 7, "search", 7},
        {"both, the client's is lower", 5, 7, "search", 5},
        {"a limit of the token's own", 0, 7, "limited", 3},
        {"a token's own, without a setting", 0, 0, "limited", 3},
        {"a token without a limit", 0, 7, "unlimited", 20},
        {"a token without a limit, a client with one", 5, 7, "unlimited", 5},
    };
    for (const LimitRow& row : kRows) {
        SCOPED_TRACE(row.what);
        Gateway gateway(Setup::kLoopbackTokens, limited(row.per_client, row.per_token));
        const std::string token = gateway.token(row.token);
        EXPECT_EQ(passes(gateway, from("203.0.113.7", token)), row.passes);
        EXPECT_EQ(gateway.refused("window"), 20 - row.passes);
    }
}

// Addresses are counted apart, a /64 together, and identify() counts nothing.
TEST(Access, ClientsAreCountedByBucket) {
    Gateway gateway(Setup::kLoopback, limited(2, 0));
    EXPECT_EQ(passes(gateway, from("203.0.113.7")), 2);
    EXPECT_EQ(passes(gateway, from("203.0.113.8")), 2);
    EXPECT_EQ(passes(gateway, from("2001:db8::1")), 2);
    EXPECT_EQ(passes(gateway, from("2001:db8::2")), 0);
    EXPECT_TRUE(gateway.access().identify(from("2001:db8::2"), Scope::kSearch).ok());
}

// A refusal says when the minute is over, and then there is room again.
TEST(Access, AFullWindowOpensAgain) {
    Gateway gateway(Setup::kLoopback, limited(1, 0));
    gateway.clock().advance(59s);
    ASSERT_EQ(passes(gateway, from("203.0.113.7"), 1), 1);
    const auto refused = gateway.access().admit(from("203.0.113.7"), Scope::kSearch);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::kRateLimited);
    EXPECT_EQ(refused.error().retry_after, Millis{1000});
    gateway.clock().advance(999ms);
    EXPECT_EQ(passes(gateway, from("203.0.113.7"), 1), 0);
    gateway.clock().advance(1ms);
    EXPECT_EQ(passes(gateway, from("203.0.113.7"), 1), 1);
}

// The socket is not counted, and a refused request takes nothing from its client's window.
TEST(Access, WhatIsNotCounted) {
    Gateway gateway(Setup::kLoopbackTokens, limited(2, 2));
    Credentials socket;
    socket.over_unix_socket = true;
    EXPECT_EQ(passes(gateway, socket), 20);
    EXPECT_EQ(passes(gateway, from("203.0.113.7", "hunter2")), 0);
    Credentials foreign = from("203.0.113.7");
    foreign.host = "evil.example";
    EXPECT_EQ(passes(gateway, foreign), 0);
    EXPECT_EQ(passes(gateway, from("203.0.113.7")), 2);
}

// ---- requests ---------------------------------------------------------------------------------

Credentials read(Gateway& gateway, const std::vector<io::HeaderField>& headers,
                 std::string_view peer = "203.0.113.7") {
    io::HttpRequest request;
    request.headers = headers;
    request.peer = io::Address::parse(peer).value();
    return gateway.access().credentials_of(request);
}

// Where a token may stand. Other schemes of Authorization are the business of a proxy in front.
TEST(Access, TokensAreFoundInHeaders) {
    struct HeaderRow {
        const char* what;
        std::vector<io::HeaderField> headers;
        std::string_view token;
    };
    const HeaderRow table[] = {
        {"none", {}, ""},
        {"bearer", {{"Authorization", "Bearer abc"}}, "abc"},
        {"case does not matter", {{"AUTHORIZATION", "bEARER abc"}}, "abc"},
        {"more blanks", {{"authorization", "Bearer   abc"}}, "abc"},
        {"an API key", {{"X-Api-Key", "abc"}}, "abc"},
        {"both: Authorization counts", {{"x-api-key", "k"}, {"Authorization", "Bearer b"}}, "b"},
        {"Basic is not ours", {{"Authorization", "Basic dTpw"}}, ""},
        {"Basic and a key", {{"Authorization", "Basic dTpw"}, {"X-Api-Key", "k"}}, "k"},
        {"no token after the scheme", {{"Authorization", "Bearer"}}, ""},
        {"the first of two", {{"X-Api-Key", "one"}, {"X-Api-Key", "two"}}, "one"},
        {"a scheme that begins alike", {{"Authorization", "Bearers abc"}}, ""},
    };
    Gateway gateway(Setup::kLoopback);
    for (const HeaderRow& row : table) {
        EXPECT_EQ(read(gateway, row.headers).token, row.token) << row.what;
    }
}

// The other headers, and the client behind proxies that are trusted.
TEST(Access, RequestsAreRead) {
    AccessConfig config;
    config.trusted_proxies = io::TrustedProxies({io::Network::parse("10.0.0.0/8").value()});
    Gateway gateway(Setup::kLan, std::move(config));
    const Credentials credentials = read(gateway,
                                         {{"host", "search.example"},
                                          {"origin", "https://app.example"},
                                          {"Sec-Fetch-Site", "cross-site"},
                                          {"X-Forwarded-For", "198.51.100.1"}},
                                         "10.0.0.1");
    EXPECT_EQ(credentials.host, "search.example");
    EXPECT_EQ(credentials.origin, "https://app.example");
    EXPECT_EQ(credentials.fetch_site, "cross-site");
    EXPECT_EQ(credentials.client, io::Address::parse("198.51.100.1"));
    EXPECT_FALSE(credentials.over_unix_socket);
    const Credentials direct = read(gateway, {{"X-Forwarded-For", "198.51.100.1"}}, "192.0.2.1");
    EXPECT_EQ(direct.client, io::Address::parse("192.0.2.1"));

    io::HttpRequest request;
    request.over_unix_socket = true;
    EXPECT_TRUE(gateway.access().credentials_of(request).over_unix_socket);
}

// CORS answers with the origin as it was sent, if it is listed, and with nothing otherwise.
TEST(Access, OnlyListedOriginsAreAllowed) {
    Gateway gateway(Setup::kLan);
    struct OriginRow {
        std::string_view origin;
        bool allowed;
    };
    constexpr OriginRow kRows[] = {
        {"https://app.example", true},
        {"https://APP.example:443", true},
        {"http://app.example", false},
        {"https://app.example.evil.example", false},
        {"https://evil.example", false},
        {"null", false},
        {"", false},
    };
    for (const OriginRow& row : kRows) {
        Credentials credentials;
        credentials.origin = row.origin;
        EXPECT_EQ(gateway.access().allowed_origin(credentials),
                  row.allowed ? row.origin : std::string_view())
            << row.origin;
    }
}

// ---- changes under way ------------------------------------------------------------------------

// SIGHUP: new rules for the next request, counts that go on.
TEST(Access, ReconfigureAppliesToTheNextRequest) {
    Gateway gateway(Setup::kLoopback, limited(3, 0));
    EXPECT_EQ(passes(gateway, from("203.0.113.7")), 3);
    gateway.access().reconfigure(limited(5, 0));
    EXPECT_EQ(passes(gateway, from("203.0.113.7")), 2);
    AccessConfig closed;
    closed.anonymous = Anonymous::kNone;
    closed.anonymous_is_set = true;
    gateway.access().reconfigure(closed);
    EXPECT_EQ(gateway.access().identify(from("203.0.113.7"), Scope::kSearch).error().code, k401);
}

// The first token closes administration for everybody who has none, at once.
TEST(Access, TheFirstTokenClosesAdministration) {
    Gateway gateway(Setup::kLoopback);
    EXPECT_TRUE(gateway.access().identify(from("127.0.0.1"), Scope::kAdmin).ok());
    SeededRandom random(9);
    const TokenText text = make_token_text(random);
    StoredToken token;
    token.record.id = text.id;
    token.record.scopes = {Scope::kSearch};
    token.digest = text.digest;
    gateway.table().reload({token});
    EXPECT_EQ(gateway.access().identify(from("127.0.0.1"), Scope::kAdmin).error().code, k401);
    EXPECT_TRUE(gateway.access().identify(from("127.0.0.1"), Scope::kStatus).ok());
}

// Requests on several cores meet a reload of both tokens and settings.
TEST(Access, CoresMeetAReload) {
    Gateway gateway(Setup::kLoopbackTokens, limited(1'000'000, 1'000'000));
    const std::string token = gateway.token("search");
    std::atomic<int> refused = 0;
    std::atomic<int> running = 3;
    std::vector<std::thread> cores;
    for (int i = 0; i < 3; ++i) {
        cores.emplace_back([&] {
            for (int round = 0; round < 1000; ++round) {
                const bool ok =
                    gateway.access().admit(from("203.0.113.7", token), Scope::kSearch).ok() &&
                    gateway.access().admit(from("203.0.113.8"), Scope::kSearch).ok();
                refused += ok ? 0 : 1;
            }
            running -= 1;
        });
    }
    while (running > 0) {
        gateway.access().reconfigure(limited(1'000'000, 1'000'000));
    }
    for (std::thread& core : cores) {
        core.join();
    }
    EXPECT_EQ(refused, 0);
}

}  // namespace
}  // namespace sluice::access
