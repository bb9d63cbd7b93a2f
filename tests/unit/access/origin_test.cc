#include "access/origin.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

namespace sluice::access {
namespace {

// What a Host header may look like, and what must not be taken for one.
TEST(Origin, HostsAreReadStrictly) {
    struct Row {
        std::string_view text;
        std::optional<std::string_view> host;  // nothing: refused
        int port;                              // -1: none
    };
    constexpr Row kRows[] = {
        {"localhost", "localhost", -1},
        {"localhost:8080", "localhost", 8080},
        {"LocalHost:1", "LocalHost", 1},
        {"localhost.", "localhost", -1},
        {"localhost.:80", "localhost", 80},
        {"search_box.lan", "search_box.lan", -1},
        {"127.0.0.1:65535", "127.0.0.1", 65535},
        {"[::1]", "::1", -1},
        {"[::1]:443", "::1", 443},
        {"", std::nullopt, -1},
        {":80", std::nullopt, -1},
        {".", std::nullopt, -1},
        {"localhost..", std::nullopt, -1},
        {".localhost", std::nullopt, -1},
        {"a..localhost", std::nullopt, -1},
        {"localhost:", std::nullopt, -1},
        {"localhost:x", std::nullopt, -1},
        {"localhost:80:90", std::nullopt, -1},
        {"localhost:65536", std::nullopt, -1},
        {"localhost:-1", std::nullopt, -1},
        {"localhost:+1", std::nullopt, -1},
        {"user@localhost", std::nullopt, -1},
        {"localhost/x", std::nullopt, -1},
        {"local host", std::nullopt, -1},
        {" localhost", std::nullopt, -1},
        {"localhost,evil.example", std::nullopt, -1},
        {"l\xc3\xb6"
         "calhost",
         std::nullopt, -1},
        {"::1", std::nullopt, -1},
        {"[::1", std::nullopt, -1},
        {"[::1]x", std::nullopt, -1},
        {"[::1]80", std::nullopt, -1},
        {"[]", std::nullopt, -1},
        {"[localhost]", std::nullopt, -1},
        {"[127.0.0.1]", std::nullopt, -1},
        {"[fe80::1%25eth0]", std::nullopt, -1},
    };
    for (const Row& row : kRows) {
        SCOPED_TRACE(row.text);
        const auto parsed = parse_host(row.text);
        ASSERT_EQ(parsed.has_value(), row.host.has_value());
        if (parsed) {
            EXPECT_EQ(parsed->host, *row.host);
            EXPECT_EQ(parsed->port ? *parsed->port : -1, row.port);
        }
    }
    EXPECT_FALSE(parse_host(std::string(254, 'a')).has_value());
    EXPECT_TRUE(parse_host(std::string(253, 'a')).has_value());
}

// Origins have a scheme and no path; the scheme's own port is filled in.
TEST(Origin, OriginsAreReadStrictly) {
    struct Row {
        std::string_view text;
        bool good;
        std::string_view host;
        int port;
    };
    constexpr Row kRows[] = {
        {"http://localhost:3000", true, "localhost", 3000},
        {"https://app.example", true, "app.example", 443},
        {"http://app.example", true, "app.example", 80},
        {"HTTPS://app.example", true, "app.example", 443},
        {"http://[::1]:8080", true, "::1", 8080},
        {"chrome-extension://abcdefgh", true, "abcdefgh", -1},
        {"", false, "", -1},
        {"null", false, "", -1},
        {"*", false, "", -1},
        {"app.example", false, "", -1},
        {"://app.example", false, "", -1},
        {"https://", false, "", -1},
        {"https://app.example/", false, "", -1},
        {"https://app.example/x", false, "", -1},
        {"https://user@app.example", false, "", -1},
        {"ht tp://app.example", false, "", -1},
        {"https://app.example https://b.example", false, "", -1},
    };
    for (const Row& row : kRows) {
        SCOPED_TRACE(row.text);
        const auto parsed = parse_origin(row.text);
        ASSERT_EQ(parsed.has_value(), row.good);
        if (parsed) {
            EXPECT_EQ(parsed->host, row.host);
            EXPECT_EQ(parsed->port ? *parsed->port : -1, row.port);
        }
    }
}

// Two spellings of one origin are one; a different scheme, host or port is another.
TEST(Origin, SameOrigins) {
    struct Row {
        std::string_view a;
        std::string_view b;
        bool same;
    };
    constexpr Row kRows[] = {
        {"https://a.example", "https://a.example", true},
        {"https://a.example", "HTTPS://A.Example:443", true},
        {"https://a.example", "https://a.example.", true},
        {"http://[::1]:80", "http://[0:0::1]", true},
        {"https://a.example", "http://a.example", false},
        {"https://a.example", "https://a.example:8443", false},
        {"https://a.example", "https://b.example", false},
        {"https://a.example", "https://a.example.evil.example", false},
        {"https://a.example", "https://evil-a.example", false},
    };
    for (const Row& row : kRows) {
        EXPECT_EQ(same_origin(parse_origin(row.a).value(), parse_origin(row.b).value()), row.same)
            << row.a << " and " << row.b;
    }
}

// A page belongs to the host it was served under: host and port, whatever TLS ended before us.
TEST(Origin, PagesOfAHost) {
    struct Row {
        std::string_view origin;
        std::string_view host;
        bool own;
    };
    constexpr Row kRows[] = {
        {"http://localhost:8080", "localhost:8080", true},
        {"http://LOCALHOST:8080", "localhost:8080", true},
        {"http://localhost", "localhost", true},
        {"http://localhost", "localhost:80", true},
        {"https://search.example", "search.example", true},
        {"https://search.example", "search.example:443", true},
        {"http://[::1]:8080", "[::1]:8080", true},
        {"http://localhost:3000", "localhost:8080", false},
        {"http://localhost", "localhost:8080", false},
        {"http://127.0.0.1:8080", "localhost:8080", false},
        {"https://search.example", "search.example:80", false},
        {"http://evil.example:8080", "localhost:8080", false},
    };
    for (const Row& row : kRows) {
        EXPECT_EQ(is_origin_of(parse_origin(row.origin).value(), parse_host(row.host).value()),
                  row.own)
            << row.origin << " under " << row.host;
    }
}

// Only names that no DNS server decides about are loopback names.
TEST(Origin, LoopbackNames) {
    for (const std::string_view name : {"localhost", "LOCALHOST", "app.localhost", "a.b.localhost",
                                        "127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"}) {
        EXPECT_TRUE(is_loopback_name(name)) << name;
    }
    for (const std::string_view name :
         {"", ".localhost", "localhost.example", "notlocalhost", "localhost.localdomain", "0.0.0.0",
          "10.0.0.1", "::", "::2", "127.0.0.1.example", "127.1"}) {
        EXPECT_FALSE(is_loopback_name(name)) << name;
    }
}

// Listed hosts are matched whole and without regard to case or spelling of an address.
TEST(Origin, HostLists) {
    const HostList list({"Search.Example", "box.", "10.0.0.7", "[fd00::7]", "fd00::8", "0.0.0.0",
                         "::", "bad host", "with-port:80", ""});
    for (const std::string_view host : {"search.example", "SEARCH.example", "box", "10.0.0.7",
                                        "fd00::7", "fd00:0::7", "fd00::8"}) {
        EXPECT_TRUE(list.contains(host)) << host;
    }
    for (const std::string_view host : {"", "a.search.example", "search.example.evil", "10.0.0.8",
                                        "0.0.0.0", "::", "bad host", "with-port"}) {
        EXPECT_FALSE(list.contains(host)) << host;
    }
}

}  // namespace
}  // namespace sluice::access
