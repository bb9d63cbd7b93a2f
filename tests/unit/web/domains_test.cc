#include "web/domains.h"

#include <gtest/gtest.h>

namespace sluice::web {
namespace {

// What can be registered ends one label before a public suffix, also one of several labels.
TEST(Domains, RegistrableDomain) {
    EXPECT_EQ(registrable_domain("example.org"), "example.org");
    EXPECT_EQ(registrable_domain("a.b.example.org"), "example.org");
    EXPECT_EQ(registrable_domain("news.example.co.uk"), "example.co.uk");
    EXPECT_EQ(registrable_domain("someone.github.io"), "someone.github.io");
    EXPECT_EQ(registrable_domain("co.uk"), "");
    EXPECT_EQ(registrable_domain("org"), "");
    EXPECT_EQ(registrable_domain(""), "");
    EXPECT_EQ(registrable_domain("192.0.2.7"), "");
    EXPECT_EQ(registrable_domain("[2001:db8::1]"), "");
}

// A domain is itself and what is below it, by whole labels.
TEST(Domains, ItselfAndBelow) {
    EXPECT_TRUE(is_in_domain("example.org", "example.org"));
    EXPECT_TRUE(is_in_domain("a.b.example.org", "example.org"));
    EXPECT_FALSE(is_in_domain("badexample.org", "example.org"));
    EXPECT_FALSE(is_in_domain("example.org", "a.example.org"));
    EXPECT_FALSE(is_in_domain("example.org.evil.example", "example.org"));
    EXPECT_TRUE(is_in_domain("someone.github.io", "github.io"));
    EXPECT_FALSE(is_in_domain("", "example.org"));
    EXPECT_FALSE(is_in_domain("example.org", ""));
}

// "www." is no difference, unless it is the name that was registered.
TEST(Domains, WwwIsTheSameSite) {
    EXPECT_TRUE(is_in_domain("example.org", "www.example.org"));
    EXPECT_TRUE(is_in_domain("www.example.org", "example.org"));
    EXPECT_TRUE(is_in_domain("blog.example.org", "www.example.org"));
    EXPECT_FALSE(is_in_domain("other.co.uk", "www.co.uk"));
    EXPECT_TRUE(is_in_domain("www.co.uk", "www.co.uk"));
}

TEST(Domains, AnyOfAList) {
    EXPECT_TRUE(is_in_any_domain("a.example.org", {"example.com", "example.org"}));
    EXPECT_FALSE(is_in_any_domain("a.example.net", {"example.com", "example.org"}));
    EXPECT_FALSE(is_in_any_domain("a.example.net", {}));
}

}  // namespace
}  // namespace sluice::web
