#include "io/client_ip.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace sluice::io {
namespace {

TrustedProxies proxies(const std::vector<std::string_view>& cidrs) {
    std::vector<Network> networks;
    for (const auto cidr : cidrs) {
        networks.push_back(*Network::parse(cidr));
    }
    return TrustedProxies(networks);
}

std::vector<HeaderField> forwarded(const std::vector<std::string_view>& lines) {
    std::vector<HeaderField> headers = {{"Host", "example.com"}};
    for (const auto line : lines) {
        headers.push_back({"X-Forwarded-For", line});
        headers.push_back({"Accept", "*/*"});
    }
    return headers;
}

struct WalkCase {
    std::string_view peer;
    std::vector<std::string_view> lines;
    std::string_view bucket;
};

// Those that end in another bucket than theirs, in words; empty: none.
std::string wrong(const std::vector<WalkCase>& cases) {
    const TrustedProxies trusted = proxies({"10.0.0.0/8", "fd00::/8"});
    std::string found;
    for (const WalkCase& c : cases) {
        const auto headers = forwarded(c.lines);
        const std::string bucket = bucket_of(trusted.client_of(*Address::parse(c.peer), headers));
        if (bucket == c.bucket) {
            continue;
        }
        found.append(c.peer);
        for (const auto line : c.lines) {
            found.append(" [").append(line).append("]");
        }
        found.append(": ").append(bucket).append(", not ").append(c.bucket).append("\n");
    }
    return found;
}

// Guards the rule by which every limit and every log names a client: no sender may choose its name.
TEST(ClientIpTest, TakesTheFirstUntrustedHopFromTheRight) {
    EXPECT_EQ(wrong({
                  {"203.0.113.7", {"198.51.100.1"}, "203.0.113.7"},
                  {"203.0.113.7", {"10.0.0.1"}, "203.0.113.7"},
                  {"10.0.0.1", {}, "10.0.0.1"},
                  {"10.0.0.1", {"198.51.100.1"}, "198.51.100.1"},
                  {"10.0.0.1", {"6.6.6.6, 198.51.100.1"}, "198.51.100.1"},
                  {"10.0.0.1", {"6.6.6.6,198.51.100.1"}, "198.51.100.1"},
                  {"10.0.0.1", {"198.51.100.1, 10.0.0.2"}, "198.51.100.1"},
                  {"10.0.0.1", {"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
                  {"10.0.0.1", {"fd00::7, 10.0.0.2"}, "fd00::/64"},
                  {"::ffff:10.0.0.1", {"::ffff:198.51.100.1"}, "198.51.100.1"},
                  {"10.0.0.1", {"198.51.100.1, ::ffff:10.0.0.9"}, "198.51.100.1"},
                  {"10.0.0.1", {"198.51.100.1", "10.0.0.3", "10.0.0.2"}, "198.51.100.1"},
                  {"10.0.0.1", {"6.6.6.6", "198.51.100.1"}, "198.51.100.1"},
                  {"10.0.0.1", {"198.51.100.1", "6.6.6.6"}, "6.6.6.6"},
                  {"10.0.0.1", {"junk, 198.51.100.1"}, "198.51.100.1"},
              }),
              "");
}

// Guards which spellings of a hop are read.
TEST(ClientIpTest, ReadsPortsAndBrackets) {
    EXPECT_EQ(wrong({
                  {"10.0.0.1", {"198.51.100.1:4711"}, "198.51.100.1"},
                  {"10.0.0.1", {"198.51.100.1:65535"}, "198.51.100.1"},
                  {"10.0.0.1", {" \t198.51.100.1\t "}, "198.51.100.1"},
                  {"10.0.0.1", {"2001:db8:1:2:3::9"}, "2001:db8:1:2::/64"},
                  {"10.0.0.1", {"[2001:db8:1:2:3::9]"}, "2001:db8:1:2::/64"},
                  {"fd00::1", {"[2001:db8:1:2:3::9]:443"}, "2001:db8:1:2::/64"},
                  {"10.0.0.1", {"[::ffff:198.51.100.1]:443"}, "198.51.100.1"},
                  {"10.0.0.1", {"198.51.100.1, 10.0.0.2:80, [fd00::2]:443"}, "198.51.100.1"},
                  // Without brackets the last group is part of the address, never a port.
                  {"10.0.0.1", {"2001:db8::1:4711"}, "2001:db8::/64"},
              }),
              "");
}

// Guards that what can't be read stops the walk and is never stepped over.
TEST(ClientIpTest, StopsAtTheLastGoodHopBeforeAMalformedEntry) {
    for (const std::string_view bad : {"",
                                       " ",
                                       "junk",
                                       "unknown",
                                       "_hidden",
                                       "198.51.100.01",
                                       "198.51.100.256",
                                       "198.51.100",
                                       "fe80::1%eth0",
                                       "[fe80::1%25eth0]",
                                       "proxy.example.com",
                                       "198.51.100.1:",
                                       "198.51.100.1:x",
                                       "198.51.100.1:65536",
                                       "198.51.100.1:-1",
                                       "198.51.100.1:80:80",
                                       "[2001:db8::1",
                                       "2001:db8::1]",
                                       "[2001:db8::1]443",
                                       "[2001:db8::1]:",
                                       "[2001:db8::1]:x",
                                       "[198.51.100.1]",
                                       "[198.51.100.1]:80",
                                       "[]",
                                       "[",
                                       "\"198.51.100.1\"",
                                       "198.51.100.1;",
                                       "198.51.100.1 10.0.0.2",
                                       "for=198.51.100.1",
                                       "198.51.100.1/32"}) {
        const std::string before = "198.51.100.1, " + std::string(bad);
        const std::string between = before + ", 10.0.0.2";
        EXPECT_EQ(wrong({
                      {"10.0.0.1", {bad}, "10.0.0.1"},
                      {"10.0.0.1", {before}, "10.0.0.1"},
                      {"10.0.0.1", {between}, "10.0.0.2"},
                      {"10.0.0.1", {"198.51.100.1", bad, "10.0.0.2"}, "10.0.0.2"},
                  }),
                  "");
    }
}

// Guards the bound on the walk: the 33rd entry is not looked at.
TEST(ClientIpTest, WalksThirtyTwoEntriesAndNoMore) {
    const auto hops = [](int trusted) {
        std::string line = "198.51.100.1";
        for (int i = trusted; i > 0; --i) {
            line += ", 10.0.0." + std::to_string(i);
        }
        return line;
    };
    const std::string just_reached = hops(31);
    const std::string out_of_reach = hops(32);
    EXPECT_EQ(wrong({
                  {"10.9.9.9", {just_reached}, "198.51.100.1"},
                  {"10.9.9.9", {out_of_reach}, "10.0.0.32"},
                  {"10.9.9.9", std::vector<std::string_view>(32, "10.0.0.5"), "10.0.0.5"},
                  {"10.9.9.9", {"198.51.100.1", out_of_reach}, "10.0.0.32"},
              }),
              "");
}

// Guards that header names are found however they are written, and only that header.
TEST(ClientIpTest, ReadsOnlyForwardedFor) {
    const TrustedProxies trusted = proxies({"10.0.0.0/8"});
    const Address peer = *Address::parse("10.0.0.1");
    const std::vector<HeaderField> lower = {{"x-forwarded-for", "198.51.100.1"}};
    const std::vector<HeaderField> other = {{"X-Real-IP", "198.51.100.1"},
                                            {"Forwarded", "for=198.51.100.1"},
                                            {"X-Forwarded-For-Old", "198.51.100.1"}};
    EXPECT_EQ(trusted.client_of(peer, lower).to_string(), "198.51.100.1");
    EXPECT_EQ(trusted.client_of(peer, other), peer);
}

// Guards the default: nobody is trusted, a Unix socket included.
TEST(ClientIpTest, TrustsNobodyUnlessTold) {
    const std::vector<HeaderField> headers = forwarded({"198.51.100.1"});
    EXPECT_EQ(TrustedProxies().client_of(*Address::parse("127.0.0.1"), headers).to_string(),
              "127.0.0.1");
    EXPECT_EQ(proxies({"0.0.0.0/0", "::/0"}).client_of(Address{}, headers), Address{});
}

// Guards how a client is counted: a host that owns a /64 is one client, an IPv4 host is itself.
TEST(ClientIpTest, BucketsV6ByNetwork) {
    const Address v6 = *Address::parse("2001:db8:1:2ff:4:5:6:7");
    EXPECT_EQ(bucket_of(v6), "2001:db8:1:2ff::/64");
    EXPECT_EQ(bucket_of(v6, 56), "2001:db8:1:200::/56");
    EXPECT_EQ(bucket_of(v6, 128), "2001:db8:1:2ff:4:5:6:7/128");
    EXPECT_EQ(bucket_of(*Address::parse("203.0.113.7"), 56), "203.0.113.7");
    EXPECT_EQ(bucket_of(Address{}), "unix");
}

struct ReadCase {
    std::string_view toml;
    std::size_t errors;
};

// Guards that a mistyped network stops the start, since a proxy that is not trusted, or too many
// addresses that are, would go unnoticed.
TEST(ClientIpTest, ReportsNetworksThatCannotBeRead) {
    const ReadCase cases[] = {
        {"[server]\ntrusted_proxy_cidrs = ['10.0.0.0/8', 'fd00::/8', '192.0.2.1']\n", 0},
        {"[server]\ntrusted_proxy_cidrs = []\n", 0},
        {"[server]\ntrusted_proxy_cidrs = ['10.0.0.1/8', 'fd00::/8', 'nonsense']\n", 2},
    };
    for (const ReadCase& c : cases) {
        ConfigLayers layers;
        layers.add_file("sluice.toml", c.toml);
        ConfigReader root(layers);
        ConfigReader server = root.section("server");
        const TrustedProxies read = TrustedProxies::read(server);
        layers.finish();
        ASSERT_EQ(layers.errors().size(), c.errors) << c.toml;
        if (c.errors > 0) {
            EXPECT_EQ(layers.errors().front().key, "server.trusted_proxy_cidrs");
            EXPECT_NE(layers.errors().front().message.find("10.0.0.1/8"), std::string::npos);
        }
        EXPECT_FALSE(read.trusts(*Address::parse("203.0.113.7")));
    }
}

}  // namespace
}  // namespace sluice::io
