#include "web/host.h"

#include "web/canonical_url.h"
#include "web/domains.h"
#include "web/plain_text.h"
#include "web/site.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace sluice::web {
namespace {

using namespace std::string_view_literals;

struct Spelling {
    std::string_view url;
    std::string_view host;  // empty: none that every reader agrees on
};

constexpr Spelling kSpellings[] = {
    {"https://b.com", "b.com"},
    {"https://b.com/", "b.com"},
    {"https://B.COM/x", "b.com"},
    {"https://b.com./", "b.com"},
    {"https://b.com:443/", "b.com"},
    {"https://b.com:/", "b.com"},
    {"https://b.com:00443/", "b.com"},
    {"https://b.com?x=/", "b.com"},
    {"https://b.com#@evil.com", "b.com"},
    {"https://%62.com/", "b.com"},
    {"https://%62%2Ecom/", "b.com"},
    {"https://b%2ecom%2e/", "b.com"},
    {"https://\u{ff42}.com/", "b.com"},
    {"https://b\u{3002}com/", "b.com"},
    {"https://b\u{ff0e}com/", "b.com"},
    {"https://b\u{ff61}com\u{3002}/", "b.com"},
    {"https://%EF%BD%82.com/", "b.com"},
    {"https://b\u{ad}.com/", "b.com"},
    {"https://b.\u{ff23}\u{ff2f}\u{ff2d}/", "b.com"},
    {"https://m\u{fc}nchen.example/", "xn--mnchen-3ya.example"},
    {"https://M\u{dc}NCHEN.example/", "xn--mnchen-3ya.example"},
    {"https://mu\u{308}nchen.example/", "xn--mnchen-3ya.example"},
    {"https://m%C3%BCnchen.example/", "xn--mnchen-3ya.example"},
    {"https://xn--mnchen-3ya.example/", "xn--mnchen-3ya.example"},
    {"https://XN--MNCHEN-3YA.example/", "xn--mnchen-3ya.example"},
    {"https://fa\u{df}.example/", "xn--fa-hia.example"},
    {"https://\u{430}pple.example/", "xn--pple-43d.example"},
    {"https://xn--ls8h.example/", "xn--ls8h.example"},
    {"https://r3---sn-a.m\u{fc}.example/", "r3---sn-a.xn--m-eha.example"},
    {"https://a_b.example/", "a_b.example"},
    {"https://localhost/", "localhost"},
    {"https://192.0.2.7/", "192.0.2.7"},
    {"https://192.0.2.7./", "192.0.2.7"},
    {"https://\u{ff11}92.0.2.7/", "192.0.2.7"},
    {"https://[2001:DB8:0::1]:8443/", "[2001:db8::1]"},
    {"https://3com.example/", "3com.example"},
    {"https://evil.com\\@b.com/", ""},
    {"https://b.com\\@evil.com/", ""},
    {"https://b.com\\evil.com/", ""},
    {"https://\\b.com/", ""},
    {"https://evil.com\\\\b.com", ""},
    {"https://b.com@evil.com/", ""},
    {"https://user:word@b.com/", ""},
    {"https://@b.com/", ""},
    {"https://b.com%40evil.com/", ""},
    {"https://b.com%2Fevil.com/", ""},
    {"https://b.com%5Cevil.com/", ""},
    {"https://b.com%00/", ""},
    {"https://b.com%0A/", ""},
    {"https://b.com%/", ""},
    {"https://b.com%2g/", ""},
    {"https://b%252ecom/", ""},
    {"https://b.com%FF/", ""},
    {"https://b.com:0/", ""},
    {"https://b.com:65536/", ""},
    {"https://b.com:80a/", ""},
    {"https://b.com:-1/", ""},
    {"https://b.com:+80/", ""},
    {"https://b.com:80:80/", ""},
    {"https://b.com../", ""},
    {"https://b..com/", ""},
    {"https://.b.com/", ""},
    {"https://./", ""},
    {"https://\u{ad}.com/", ""},
    {"https://b\u{ff0f}com/", ""},
    {"https://\u{2100}.com/", ""},
    {"https://b\u{202e}.com/", ""},
    {"https://b\u{200d}.com/", ""},
    {"https://b\u{85}.com/", ""},
    {"https://b*.com/", ""},
    {"https://b|.com/", ""},
    {"https://2130706433/", ""},
    {"https://0x7f.1/", ""},
    {"https://0177.0.0.1/", ""},
    {"https://b.com.1/", ""},
    {"https://b.0x/", ""},
    {"https://1.2.3/", ""},
    {"https://[::1/", ""},
    {"https://[1.2.3.4]/", ""},
    {"https://[fe80::1%25eth0]/", ""},
    {"https://[::1]x/", ""},
    {"https:///b.com/", ""},
    {"https://", ""},
};

// A host has one spelling, and what two readers may take for different hosts is given to nobody.
TEST(HostTest, IsOneHoweverItIsSpelled) {
    for (const Spelling& c : kSpellings) {
        const auto usable = usable_url(c.url);
        EXPECT_EQ(usable.has_value(), !c.host.empty()) << c.url;
        if (usable) {
            EXPECT_EQ(host_of(*usable), c.host) << c.url;
            EXPECT_EQ(site_of(*usable), c.host) << c.url;
            EXPECT_EQ(host_of("https://" + std::string(c.host)), c.host);
        }
    }
}

// Filters and the counting of pages go by the one spelling.
TEST(HostTest, NoSpellingGetsPastAFilter) {
    for (const Spelling& c : kSpellings) {
        if (c.host == "b.com") {
            EXPECT_TRUE(is_in_domain(host_of(c.url), "b.com")) << c.url;
            const std::string plain = canonical_url("https://b.com/");
            EXPECT_TRUE(canonical_url(c.url).starts_with(plain)) << canonical_url(c.url);
        }
    }
}

// What a browser would call is what the name says, even where it is not given out.
TEST(HostTest, TheAuthorityEndsWhereBrowsersEndIt) {
    EXPECT_EQ(host_of("https://evil.com\\@b.com/"), "evil.com");
    EXPECT_EQ(host_of("https://b.com@evil.com/"), "evil.com");
    EXPECT_EQ(host_of("https://a@b@evil.com:80/@b.com"), "evil.com");
}

// Longer ones than DNS has are none, and a very long one is not looked at.
TEST(HostTest, IsBounded) {
    const std::string label(63, 'a');
    const std::string longest = label + "." + label + "." + label + "." + std::string(61, 'a');
    EXPECT_EQ(normal_host(longest), longest);
    EXPECT_EQ(normal_host(longest + "a"), std::nullopt);
    EXPECT_EQ(normal_host(label + "a.com"), std::nullopt);
    EXPECT_EQ(normal_host(std::string(100'000, '\xAD')), std::nullopt);
    EXPECT_EQ(normal_host("b\0.com"sv), std::nullopt);
    EXPECT_EQ(normal_host(""), std::nullopt);
}

}  // namespace
}  // namespace sluice::web
