// Themes and assets: a cookie that holds one word, a way back that never leads away, files whose
// names say what is in them.
#include "request.h"
#include "surface/common/query_string.h"
#include "surface/pages/assets.h"
#include "surface/pages/theme.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::surface {
namespace {

using namespace std::chrono_literals;

Theme theme_with_cookie(const std::string& value) {
    TestRequest request(io::Method::kGet, "/", Instant());
    request.header("Cookie", value);
    return theme_of(request.get());
}

TEST(PagesTheme, IsReadFromTheCookie) {
    EXPECT_EQ(theme_with_cookie("theme=dark"), Theme::kDark);
    EXPECT_EQ(theme_with_cookie("a=b; theme=light; c=d"), Theme::kLight);
    EXPECT_EQ(theme_with_cookie("nottheme=dark"), Theme::kAuto);
    EXPECT_EQ(theme_with_cookie("theme=\"><script>"), Theme::kAuto);
    EXPECT_EQ(theme_with_cookie(""), Theme::kAuto);
    EXPECT_EQ(theme_of(TestRequest(io::Method::kGet, "/", Instant()).get()), Theme::kAuto);
}

TEST(PagesTheme, LeadsBackToOurPagesOnly) {
    for (const char* local : {"/", "/?page=2&sort=title", "/p/caf%C3%A9", "/search?q=a+b"}) {
        EXPECT_TRUE(is_local_page(local)) << local;
    }
    for (const char* other : {"", "//evil.example", "/\\evil.example", "https://evil.example/",
                              "/theme/dark", "/p/../healthz", "/p/\r\nSet-Cookie: a=b", "/p/ä",
                              "/p/a b", "/metrics", "p/a", "/search/../..//evil.example"}) {
        EXPECT_FALSE(is_local_page(other)) << other;
    }
    EXPECT_FALSE(is_local_page("/p/" + std::string(5'000, 'a')));
}

TEST(PagesTheme, SetsAndTakesAwayTheCookie) {
    const io::HttpResponse dark = theme_response(Theme::kDark, "/p/a");
    EXPECT_EQ(dark.status, 303);
    EXPECT_TRUE(has_header(dark, "Location: /p/a"));
    EXPECT_TRUE(has_header(
        dark, "Set-Cookie: theme=dark; Max-Age=31536000; Path=/; SameSite=Lax; HttpOnly"));
    const io::HttpResponse none = theme_response(Theme::kAuto, "//evil.example");
    EXPECT_TRUE(has_header(none, "Location: /"));
    EXPECT_TRUE(
        has_header(none, "Set-Cookie: theme=auto; Max-Age=0; Path=/; SameSite=Lax; HttpOnly"));
}

TEST(PagesAssets, AreKeptForEver) {
    const Assets assets;
    const std::string path(assets.path_of("pages.css"));
    EXPECT_TRUE(path.starts_with("/assets/pages-")) << path;
    const auto response = assets.get(path);
    ASSERT_TRUE(response);
    EXPECT_TRUE(has_header(*response, "Cache-Control: public, max-age=31536000, immutable"));
    EXPECT_TRUE(has_header(*response, "Content-Type: text/css; charset=utf-8"));
    EXPECT_FALSE(assets.get("/assets/pages.css"));
    EXPECT_FALSE(assets.get("/assets/pages-000000000000.css"));
}

// A countdown is a style sheet of numbers, and of no other numbers than there are waits.
TEST(PagesAssets, CountWithoutAScript) {
    const Assets assets;
    const std::string path = assets.countdown_path(34s);
    const auto sheet = assets.get(path);
    ASSERT_TRUE(sheet) << path;
    EXPECT_NE(sheet->lead.find("from { --left: 34; }"), std::string::npos) << sheet->lead;
    EXPECT_NE(sheet->lead.find("left 34s steps(34) 0s forwards"), std::string::npos);
    // Minutes of a long wait: 12:30 is 13 of them, the first of which is half over.
    const auto minutes = assets.get(assets.countdown_path(750s));
    ASSERT_TRUE(minutes);
    EXPECT_NE(minutes->lead.find("left 780s steps(13) -30s forwards"), std::string::npos)
        << minutes->lead;
    EXPECT_EQ(assets.countdown_path(0s), assets.countdown_path(1s));
    EXPECT_EQ(assets.countdown_path(9'999s), assets.countdown_path(3'600s));
    const std::string start = path.substr(0, path.size() - 6);
    for (const char* end : {"0.css", "3601.css", "-1.css", "34", "x.css", ".css", "1e3.css",
                            "99999999999999999999.css"}) {
        EXPECT_FALSE(assets.get(start + end)) << end;
    }
    EXPECT_TRUE(assets.get(start + "3600.css"));
}

// What a browser sends is taken as it is; bytes that are no text come through for others to judge.
TEST(FirstField, IsTheFirstOfThatName) {
    EXPECT_EQ(first_field("q=a&q=b", "q"), "a");
    EXPECT_EQ(first_field("x=1&q=a+b%20c", "q"), "a b c");
    EXPECT_EQ(first_field("q", "q"), "");
    EXPECT_EQ(first_field("q=", "q"), "");
    EXPECT_EQ(first_field("%71=a", "q"), "a");
    EXPECT_EQ(first_field("q=100%&r", "q"), "100%");
    EXPECT_EQ(first_field("q=%zz%41%4", "q"), "%zzA%4");
    EXPECT_EQ(first_field("q=%%41", "q"), "%A");
    EXPECT_EQ(first_field("q=%ff%00", "q"), std::string("\xFF\0", 2));
    EXPECT_EQ(first_field("&&", "q"), std::nullopt);
    EXPECT_EQ(first_field("&&", ""), std::nullopt);
    EXPECT_EQ(first_field("", "q"), std::nullopt);
    EXPECT_EQ(first_field("qq=a", "q"), std::nullopt);
}

}  // namespace
}  // namespace sluice::surface
