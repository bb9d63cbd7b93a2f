#include "io/url_form.h"

#include <gtest/gtest.h>

namespace sluice::io {
namespace {

TEST(UrlForm, WhatCanBeCalled) {
    for (const char* url :
         {"http://a", "https://api.example.org/v1", "http://127.0.0.1:65535/x", "http://[::1]:8080",
          "http://[::1]/x", "http://user:pa%20ss@host:1/", "https://host/%C3%B6?k=v#f"}) {
        EXPECT_TRUE(is_http_url(url)) << url;
    }
}

TEST(UrlForm, WhatCanNot) {
    for (const char* url : {"",
                            "host",
                            "ftp://host",
                            "http://",
                            "https:///path",
                            "http://host:99999/",
                            "http://host:0/",
                            "http://host:/",
                            "http://host:8a/",
                            "http://:80/",
                            "http://[::1/",
                            "http://[]:80/",
                            "http://a\r\nX: y/",
                            "http://a b/",
                            "http://a/\t",
                            "http://h\xC3\xB6st/",
                            "http://host/%ZZ",
                            "http://host/%2",
                            "http://us%er@host/",
                            "http://user@"}) {
        EXPECT_FALSE(is_http_url(url)) << url;
    }
}

TEST(UrlForm, Escapes) {
    EXPECT_TRUE(has_whole_escapes(""));
    EXPECT_TRUE(has_whole_escapes("%41%4a%4A"));
    EXPECT_FALSE(has_whole_escapes("%"));
    EXPECT_FALSE(has_whole_escapes("a%4"));
    EXPECT_FALSE(has_whole_escapes("%G0"));
}

}  // namespace
}  // namespace sluice::io
