#include "access/access.h"
#include "unit/access/access_harness.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::access {
namespace {

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
    bool forwarded = false;
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

        // A proxy in front: what arrives from loopback may come from anywhere.
        {.what = "a proxy is trusted: search", .setup = kProxied, .refused = k401},
        {.what = "a proxy is trusted: status",
         .setup = kProxied,
         .needed = kStatus,
         .refused = k401},
        {.what = "a proxy is trusted: admin", .setup = kProxied, .needed = kAdmin, .refused = k401},
        {.what = "a name of its own: search", .setup = kNamed, .refused = k401},
        {.what = "a name of its own: admin", .setup = kNamed, .needed = kAdmin, .refused = k401},
        {.what = "forwarded: search", .setup = kLoopback, .forwarded = true},
        {.what = "forwarded: status", .setup = kLoopback, .needed = kStatus, .forwarded = true},
        {.what = "forwarded: admin",
         .setup = kLoopback,
         .needed = kAdmin,
         .refused = k401,
         .hint = "administration",
         .forwarded = true},
        {.what = "forwarded, all open: admin",
         .setup = kLoopbackAll,
         .needed = kAdmin,
         .refused = k401,
         .forwarded = true},
        {.what = "forwarded, with a token",
         .setup = kLan,
         .needed = kAdmin,
         .token = "admin",
         .forwarded = true},

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
        {.what = "an allowed host", .setup = kLoopbackAll, .host = "search.example"},
        {.what = "an allowed host, any port", .setup = kLoopbackAll, .host = "Search.Example:8443"},
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
         .setup = kLoopbackAll,
         .host = "search.example.evil.example",
         .refused = kForeign},
        {.what = "an allowed host as a suffix",
         .setup = kLoopbackAll,
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
         .setup = kLoopbackAll,
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
    credentials.client = io::Address::parse("203.0.113.7").value();
    credentials.host = row.host;
    credentials.origin = row.origin;
    credentials.fetch_site = row.site;
    credentials.over_unix_socket = row.unix_socket;
    credentials.forwarded = row.forwarded;
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

}  // namespace
}  // namespace sluice::access
