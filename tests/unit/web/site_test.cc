#include "web/site.h"

#include <gtest/gtest.h>

namespace sluice::web {
namespace {

// The site is what people know a page by: the host alone, without what varies between links to it.
TEST(SiteTest, OfUrls) {
    struct Case {
        std::string_view url;
        std::string_view site;
    };
    const Case cases[] = {
        {"https://example.org", "example.org"},
        {"https://example.org/a/b?c#d", "example.org"},
        {"https://example.org?c=/x", "example.org"},
        {"https://example.org#d", "example.org"},
        {"http://example.org:8080/", "example.org"},
        {"https://WWW.Example.ORG/", "example.org"},
        {"https://www.example.org", "example.org"},
        {"https://www.www.example.org", "www.example.org"},
        {"https://wwwexample.org", "wwwexample.org"},
        {"https://www./", "www"},
        {"https://user:secret@example.org/", "example.org"},
        {"https://user@host@example.org/", "example.org"},
        {"https://example.org/@name", "example.org"},
        {"https://example.org/?to=https://other.example", "example.org"},
        {"https://[2001:db8::1]/a", "[2001:db8::1]"},
        {"https://[2001:DB8::1]:8443/a", "[2001:db8::1]"},
        {"https://m\xC3\xBCnchen.example/", "xn--mnchen-3ya.example"},
        {"https:///path", ""},
        {"https://", ""},
        {"example.org/a", ""},
        {"", ""},
    };
    for (const Case& c : cases) {
        EXPECT_EQ(site_of(c.url), c.site) << c.url;
    }
}

}  // namespace
}  // namespace sluice::web
