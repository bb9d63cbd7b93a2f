// Which addresses count as the same page, and which must not.
#include "web/canonical_url.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace sluice::web {
namespace {

struct Pair {
    const char* a;
    const char* b;
};

// What differs only in spelling is one page.
TEST(CanonicalUrlTest, TheSamePage) {
    for (const Pair& pair : std::vector<Pair>{
             {"http://example.org/a", "https://example.org/a"},
             {"https://www.example.org/a", "https://example.org/a"},
             {"https://Example.ORG/a", "https://example.org/a"},
             {"https://example.org./a", "https://example.org/a"},
             {"http://example.org:80/a", "https://example.org/a"},
             {"https://example.org:443/a", "https://example.org/a"},
             {"https://me@example.org/a", "https://example.org/a"},
             {"https://example.org/", "https://example.org"},
             {"https://example.org/a/", "https://example.org/a"},
             {"https://example.org/a/./b/../c", "https://example.org/a/c"},
             {"https://example.org/%7Ejoe/%41", "https://example.org/~joe/A"},
             {"https://example.org/%c3%bc", "https://example.org/\xc3\xbc"},
             {"https://example.org/a#part", "https://example.org/a"},
             {"https://example.org/a?", "https://example.org/a"},
             {"https://example.org/?b=2&a=1", "https://example.org/?a=1&b=2"},
             {"https://example.org/?q=a+b", "https://example.org/?q=a%20b"},
             {"https://example.org/?utm_source=x&id=7&gclid=y", "https://example.org/?id=7"},
             {"https://example.org/a?UTM_Medium=mail", "https://example.org/a"},
             {"https://[2001:DB8::1]:443/a", "https://[2001:db8::1]/a"},
             {"https://%65xample.org/a", "https://example.org/a"},
             {"https://m\xc3\xbcnchen.example/a", "https://XN--MNCHEN-3YA.example/a"},
             {"https://example.org\\a\\..\\b", "https://example.org/b"},
         }) {
        EXPECT_EQ(canonical_url(pair.a), canonical_url(pair.b)) << pair.a << "\n" << pair.b;
    }
}

// What may be another page stays another one.
TEST(CanonicalUrlTest, AnotherPage) {
    for (const Pair& pair : std::vector<Pair>{
             {"https://example.org/a", "https://example.org/A"},
             {"https://example.org/a", "https://example.com/a"},
             {"https://example.org/a", "https://blog.example.org/a"},
             {"https://example.org/a", "https://example.org:8080/a"},
             {"https://example.org/?id=7", "https://example.org/?id=8"},
             {"https://example.org/?q=a%2Bb", "https://example.org/?q=a+b"},
             {"https://example.org/a%2Fb", "https://example.org/a/b"},
             {"https://example.org/?a=1&a=2", "https://example.org/?a=2&a=1"},
             {"https://example.org/#!one", "https://example.org/#!two"},
             {"https://www.com/", "https://com/"},
         }) {
        EXPECT_NE(canonical_url(pair.a), canonical_url(pair.b)) << pair.a << "\n" << pair.b;
    }
}

// One look is enough: a second one changes nothing, however odd the address is.
TEST(CanonicalUrlTest, SettlesAtOnce) {
    for (const char* url :
         {"https://example.org:80:80/", "https://www.www.example.org/", "http://h:443", "://",
          "https://example.org/%%32e%%32e/x", "https://example.org/%252e", "https:///a//../b//",
          "https://a.:.:80./", "https://example.org/?&&=&a&utm_", "not a url", "", "https://[::1/x",
          "https://h/#!#!%", "https://h/a?b?c#d?e"}) {
        const std::string once = canonical_url(url);
        EXPECT_EQ(canonical_url(once), once) << url;
    }
}

}  // namespace
}  // namespace sluice::web
