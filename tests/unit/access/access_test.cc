#include "access/access.h"

#include "base/random.h"
#include "unit/access/access_harness.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace sluice::access {
namespace {

using namespace std::chrono_literals;

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
    EXPECT_TRUE(credentials.forwarded);
    EXPECT_FALSE(read(gateway, {{"host", "localhost"}}, "127.0.0.1").forwarded);
    for (const char* name : {"X-Forwarded-For", "Forwarded", "X-Forwarded-Host",
                             "X-Forwarded-Proto", "X-Real-IP", "Via"}) {
        EXPECT_TRUE(read(gateway, {{name, "x"}}, "192.0.2.1").forwarded) << name;
    }
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
    gateway.access().reconfigure(closed);
    EXPECT_EQ(gateway.access().identify(from("203.0.113.7"), Scope::kSearch).error().code,
              Code::kUnauthenticated);
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
    EXPECT_EQ(gateway.access().identify(from("127.0.0.1"), Scope::kAdmin).error().code,
              Code::kUnauthenticated);
    EXPECT_TRUE(gateway.access().identify(from("127.0.0.1"), Scope::kStatus).ok());
}

// While nobody knows which tokens there are nobody is let in, not even where everything is open
// before the first token; the admin socket's owner may look, and search no sooner than the others.
TEST(Access, WithoutItsTokensNobodyIsLetIn) {
    Gateway gateway(Setup::kLoopback);
    gateway.table().set_unknown();
    Credentials socket = from("127.0.0.1");
    socket.over_unix_socket = true;
    for (const Credentials& credentials : {from("127.0.0.1"), socket}) {
        const auto admitted = gateway.access().admit(credentials, Scope::kSearch);
        ASSERT_FALSE(admitted.ok());
        EXPECT_EQ(admitted.error().code, Code::kUnavailable);
        EXPECT_TRUE(admitted.error().retry_after);
    }
    EXPECT_EQ(gateway.access().identify(from("127.0.0.1"), Scope::kAdmin).error().code,
              Code::kUnavailable);
    EXPECT_TRUE(gateway.access().identify(socket, Scope::kAdmin).ok());
    gateway.table().reload({});
    EXPECT_TRUE(gateway.access().admit(from("127.0.0.1"), Scope::kSearch).ok());
    EXPECT_TRUE(gateway.access().identify(from("127.0.0.1"), Scope::kAdmin).ok());
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
