// What the pages say, and that nothing which a stranger wrote becomes markup.
#include "request.h"
#include "surface/pages/embedded.h"
#include "surface/pages/markdown.h"
#include "surface/pages/render.h"
#include "surface/pages/responses.h"
#include "titles/match_copy.h"

#include <gtest/gtest.h>

#include <chrono>
#include <list>
#include <string>
#include <vector>

namespace sluice::surface {
namespace {

using namespace std::chrono_literals;
using testing::Test;
using titles::QueryVerdict;
using titles::TitleOutcome;

std::size_t count_of(std::string_view text, std::string_view part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string_view::npos;
         at = text.find(part, at + part.size())) {
        count += 1;
    }
    return count;
}

std::string whole(const PageHtml& page) {
    return page.before_body + page.after_body;
}

// A search with its pages, put together by hand.
struct Answered {
    titles::TitleAnswer answer;
    std::list<titles::Candidate> pages;

    explicit Answered(TitleOutcome outcome, std::string query = "kubrenetes") {
        answer.outcome = outcome;
        answer.query.verdict = QueryVerdict::kUsable;
        answer.query.match = QueryText(titles::match_copy(query));
        answer.query.display = QueryText(std::move(query));
    }
    Answered& hit(std::string title, double score = 81, std::string author = {}) {
        titles::Candidate page;
        page.id = static_cast<std::int64_t>(pages.size()) + 1;
        page.title = std::move(title);
        page.slug = "page-" + std::to_string(page.id);
        page.author = std::move(author);
        page.updated_at = WallTime(1'700'000'000s);
        pages.push_back(std::move(page));
        answer.hits.push_back({&pages.back(), score});
        answer.total_matched += 1;
        return *this;
    }
    Answered& windows(std::int64_t minute, std::int64_t hour,
                      std::optional<titles::BudgetWindow> refused = {}) {
        titles::BudgetVerdict verdict;
        verdict.refused = refused;
        verdict.windows[0] = titles::WindowState{20, minute, 34s};
        if (refused != titles::BudgetWindow::kMinute) {
            verdict.windows[1] = titles::WindowState{200, hour, 1'800s};
        }
        answer.budget = verdict;
        return *this;
    }
};

class PagesRenderTest : public Test {
 protected:
    io::HttpResponse respond(const titles::TitleAnswer& answer) {
        Frame frame;
        frame.here = "/search?q=kubrenetes";
        frame.is_indexed = false;
        return search_response(answer, renderer, frame);
    }
    std::string page_of(const titles::TitleAnswer& answer) { return respond(answer).lead; }

    Assets assets;
    PageRenderer renderer{assets};
};

// The outcome matrix: status, header fields and what the reader is told.
TEST_F(PagesRenderTest, EveryOutcomeHasItsAnswer) {
    struct Case {
        const char* name;
        Answered answered;
        int status;
        std::vector<std::string> headers;
        std::vector<std::string> texts;
    };
    Answered too_short(TitleOutcome::kRejected, "k");
    too_short.answer.query.verdict = QueryVerdict::kTooShort;
    Answered too_long(TitleOutcome::kRejected, std::string(65, 'k'));
    too_long.answer.query.verdict = QueryVerdict::kTooLong;
    Answered invalid(TitleOutcome::kRejected, "\uFFFD");
    invalid.answer.query.verdict = QueryVerdict::kInvalid;
    Answered minute(TitleOutcome::kLimited);
    minute.windows(20, 0, titles::BudgetWindow::kMinute).answer.retry_after = 34s;
    Answered hour(TitleOutcome::kLimited);
    hour.windows(8, 200, titles::BudgetWindow::kHour).answer.retry_after = 1'800s;
    Answered busy(TitleOutcome::kBusy);
    busy.windows(9, 42).answer.retry_after = 1s;
    Answered unavailable(TitleOutcome::kUnavailable);
    unavailable.answer.retry_after = 1s;
    Answered failed(TitleOutcome::kFailed);
    failed.windows(9, 42);
    Answered found(TitleOutcome::kFound);
    found.windows(9, 42).hit("Kubernetes deployment");
    Answered none(TitleOutcome::kFound, "zzzz");
    none.windows(9, 42);
    Answered many(TitleOutcome::kFound);
    many.hit("Kubernetes").hit("Kubernetes 2").answer.total_matched = 1'234;
    many.answer.is_truncated = true;

    const std::string policy = "RateLimit-Policy: \"minute\";q=20;w=60, \"hour\";q=200;w=3600";
    const std::string limit = "RateLimit: \"minute\";r=11;t=34, \"hour\";r=158;t=1800";
    const Case cases[] = {
        {"too short", too_short, 200, {}, {"Enter at least 2 characters.", "value=\"k\""}},
        {"too long", too_long, 400, {}, {"Enter at most 64 characters.", "aria-invalid=\"true\""}},
        {"invalid", invalid, 400, {}, {"That text can&#39;t be read."}},
        {"minute full",
         minute,
         429,
         {"Retry-After: 34", "RateLimit-Policy: \"minute\";q=20;w=60",
          "RateLimit: \"minute\";r=0;t=34"},
         {"Too many searches", "You may search 20 times a minute.", "data-seconds=\"34\"",
          ">34 seconds<", "href=\"/search?q=kubrenetes\"", "value=\"kubrenetes\""}},
        {"hour full",
         hour,
         429,
         {"Retry-After: 1800", "RateLimit: \"minute\";r=12;t=34, \"hour\";r=0;t=1800"},
         {"You may search 200 times an hour.", ">30 minutes<"}},
        {"busy",
         busy,
         503,
         {"Retry-After: 1", policy, limit},
         {"Many people are searching", ">1 second<", "value=\"kubrenetes\"", "href=\"/\""}},
        {"unavailable", unavailable, 503, {"Retry-After: 1"}, {"Searching is not possible"}},
        {"failed", failed, 500, {policy, limit}, {"Something went wrong"}},
        {"found",
         found,
         200,
         {policy, limit},
         {"1 page matches.", "href=\"/p/page-1\"", ">81%<", ">2023-11-14<",
          "Results for “<bdi>kubrenetes</bdi>”", "<mark>Kube</mark>r<mark>netes</mark>"}},
        {"none", none, 200, {policy, limit}, {"No pages match.", "Check the spelling"}},
        {"many", many, 200, {}, {"The first 2 of 1,234 pages that match."}},
    };
    for (const Case& each : cases) {
        SCOPED_TRACE(each.name);
        // By a copy of the case, whose hits point to pages of the original.
        const io::HttpResponse response = respond(each.answered.answer);
        EXPECT_EQ(response.status, each.status);
        for (const std::string& line : each.headers) {
            EXPECT_TRUE(has_header(response, line)) << line << "\n" << response.headers;
        }
        for (const char* line :
             {"Cache-Control: private, no-store", "Referrer-Policy: no-referrer",
              "X-Robots-Tag: noindex", "Content-Type: text/html; charset=utf-8"}) {
            EXPECT_TRUE(has_header(response, line)) << line;
        }
        EXPECT_NE(response.headers.find("Content-Security-Policy: default-src 'none';"),
                  std::string::npos);
        EXPECT_EQ(response.headers.find("unsafe"), std::string::npos);
        for (const std::string& text : each.texts) {
            EXPECT_NE(response.lead.find(text), std::string::npos) << text << "\n" << response.lead;
        }
    }
}

TEST_F(PagesRenderTest, ABlankQueryIsTheWholeList) {
    Answered blank(TitleOutcome::kRejected, "  ");
    blank.answer.query.verdict = QueryVerdict::kBlank;
    const io::HttpResponse response = respond(blank.answer);
    EXPECT_EQ(response.status, 303);
    EXPECT_TRUE(has_header(response, "Location: /"));
    EXPECT_TRUE(has_header(response, "Cache-Control: private, no-store"));
}

// The words below go through every place where a stranger's text is shown.
TEST_F(PagesRenderTest, HostileTextStaysText) {
    const std::string hostile[] = {
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "' onmouseover='alert(1)",
        "</title><svg onload=alert(1)>",
        "{{BODY:none}}{{#ROW}}",
        "javascript:alert(1)",
        "<!-- --><![CDATA[x]]>",
        "&lt;b&gt; &amp; &#x3c;",
        "a\"b'c<d>e&f`g",
    };
    for (const std::string& text : hostile) {
        SCOPED_TRACE(text);
        Answered found(TitleOutcome::kFound, text);
        found.hit("x " + text + " y", 90, text);
        found.pages.front().slug = text;
        Ledger ledger;
        titles::PageRecord record;
        record.title = record.author = record.slug = text;
        ledger.list.pages = {record};
        ledger.list.total = 1;
        Frame frame;
        frame.here = "/search?q=" + text;
        const Notice notice{text, text, 3s, "/search?q=" + text, text};
        const std::string pages[] = {
            renderer.search(found.answer, frame),
            renderer.ledger(ledger, frame),
            whole(renderer.page(record, PageBody::kText, frame)),
            renderer.pin_form(text, PinForm::kWrong, frame),
            renderer.notice(notice, frame),
        };
        for (const std::string& page : pages) {
            for (const char* bad : {"<script>", "<img", "<svg", "onerror=alert(1)>\"", "<b>", "<d>",
                                    "<!-- ", "' onmouseover='", "href=\"javascript:", "{{"}) {
                if (std::string_view(bad) == "{{" && text.find("{{") != std::string::npos) {
                    continue;  // stands there as text: it was no template any more
                }
                EXPECT_EQ(page.find(bad), std::string::npos) << bad << "\n" << page;
            }
            EXPECT_EQ(count_of(page, "<h1"), 1U) << page;
            EXPECT_EQ(count_of(page, "</title>"), 1U);
            EXPECT_EQ(count_of(page, "</html>"), 1U);
        }
    }
}

// A title is cut into pieces for its marks: together they are the title, each escaped on its own.
TEST_F(PagesRenderTest, MarksStandInEscapedTitles) {
    Answered found(TitleOutcome::kFound, "tom & jerry");
    found.hit("Tom & <Jerry>");
    EXPECT_NE(page_of(found.answer)
                  .find("<mark>Tom</mark> <mark>&amp;</mark> &lt;<mark>Jerry</mark>&gt;"),
              std::string::npos)
        << page_of(found.answer);
}

// A title, an author or a query that is written from right to left, or says that it is, turns
// nothing around it round: each stands in an element of its own direction, and in the title of the
// window, where there are no elements, what could do so is left out.
TEST_F(PagesRenderTest, DirectionsOfWritingStayWhereTheyAre) {
    const std::string turned = "\u202Eabc\u2066";
    Answered found(TitleOutcome::kFound, turned);
    found.hit(turned, 81, turned);
    titles::PageRecord record;
    record.title = record.author = turned;
    Ledger ledger;
    ledger.list.pages = {record};
    ledger.list.total = 1;
    const std::string results = page_of(found.answer);
    EXPECT_EQ(count_of(results, "<h1>Results for “<bdi>" + turned + "</bdi>”</h1>"), 1U) << results;
    for (const std::string& page : {results, renderer.ledger(ledger, {}),
                                    whole(renderer.page(record, PageBody::kText, {}))}) {
        EXPECT_EQ(count_of(page, "y <bdi>" + turned + "</bdi>"), 1U) << page;
        EXPECT_EQ(count_of(page, " dir=\"auto\">"), page.find("<article>") == page.npos ? 1U : 2U)
            << page;
        const std::string window = page.substr(page.find("<title>"), page.find("</title>"));
        EXPECT_EQ(count_of(window.substr(0, window.find("</title>")), "\u202E"), 0U) << window;
    }
    EXPECT_NE(whole(renderer.page(record, PageBody::kEmpty, {})).find("<title>abc · Pages</title>"),
              std::string::npos);
    record.title = "א\u200Fב";
    EXPECT_NE(
        whole(renderer.page(record, PageBody::kEmpty, {})).find("<title>א\u200Fב · Pages</title>"),
        std::string::npos);
}

TEST_F(PagesRenderTest, TheLedgerHasParts) {
    Ledger ledger;
    ledger.list.total = 120;
    ledger.order = titles::PageOrder::kTitle;
    ledger.number = 2;
    ledger.last = 3;
    titles::PageRecord record;
    record.title = "Café";
    record.slug = "café";
    record.author = "Ada";
    ledger.list.pages = {record};
    const std::string page = renderer.ledger(ledger, {});
    for (const char* text :
         {"120 pages", "href=\"/?sort=title\"", "href=\"/?sort=title&amp;page=3\"", "Page 2 of 3",
          "href=\"/p/caf%C3%A9\" dir=\"auto\">Café</a>", "by <bdi>Ada</bdi>",
          "<a href=\"/?sort=title\" aria-current=\"true\">By title</a>"}) {
        EXPECT_NE(page.find(text), std::string::npos) << text << "\n" << page;
    }
    EXPECT_NE(renderer.ledger({}, {}).find("There are no pages yet."), std::string::npos);
    EXPECT_EQ(renderer.ledger({}, {}).find("<table"), std::string::npos);
}

// A page that can't be shown leads to each place once: where the list itself is away, trying it
// again is all there is.
TEST_F(PagesRenderTest, ARefusalLeadsToEachPlaceOnce) {
    const Error away{Code::kUnavailable, Blame::kGateway, "", Millis{1'000}};
    struct Case {
        const char* here;
        std::vector<std::string> links;
    };
    const Case cases[] = {
        {"/", {"<a href=\"/\" rel=\"nofollow\">Try again</a>"}},
        {"/?page=2",
         {"<a href=\"/?page=2\" rel=\"nofollow\">Try again</a>", "<a href=\"/\">All pages</a>"}},
        {"/p/a",
         {"<a href=\"/p/a\" rel=\"nofollow\">Try again</a>", "<a href=\"/\">All pages</a>"}},
        {"/v1/pages", {"<a href=\"/\">All pages</a>"}},
    };
    for (const Case& c : cases) {
        Frame frame;
        frame.here = c.here;
        const std::string page = refusal_response(away, renderer, frame).lead;
        const std::string ways = page.substr(page.find("<p class=\"ways\">"));
        const std::string line = ways.substr(0, ways.find("</p>"));
        EXPECT_EQ(count_of(line, "<a "), c.links.size()) << c.here << line;
        for (const std::string& link : c.links) {
            EXPECT_EQ(count_of(line, link), 1U) << c.here << line;
        }
    }
}

// Nothing is there to be put in order, and nothing stands on a page: each says so.
TEST_F(PagesRenderTest, WhatIsEmptySaysSo) {
    titles::PageRecord record;
    record.title = "Empty";
    EXPECT_NE(
        whole(renderer.page(record, PageBody::kEmpty, {})).find("Nothing is written here yet."),
        std::string::npos);
    EXPECT_EQ(whole(renderer.page(record, PageBody::kText, {})).find("Nothing is written"),
              std::string::npos);
    EXPECT_NE(whole(renderer.page(record, PageBody::kText, {})).find("<div class=\"prose\""),
              std::string::npos);
    Ledger ledger;
    EXPECT_EQ(renderer.ledger(ledger, {}).find("?sort="), std::string::npos);
    ledger.list.pages = {record};
    ledger.list.total = 1;
    EXPECT_EQ(renderer.ledger(ledger, {}).find("?sort="), std::string::npos);
    ledger.list.total = 2;
    EXPECT_EQ(count_of(renderer.ledger(ledger, {}), "?sort="), 3U);
}

TEST_F(PagesRenderTest, AThemeIsSaidOnceAndLeadsBack) {
    Frame frame;
    frame.theme = Theme::kDark;
    frame.here = "/search?q=%22a%22";
    const std::string page = renderer.ledger({}, frame);
    EXPECT_NE(page.find("<html lang=\"en\" data-theme=\"dark\">"), std::string::npos) << page;
    EXPECT_NE(page.find("href=\"/theme/light?back=%2Fsearch%3Fq%3D%2522a%2522\""),
              std::string::npos)
        << page;
    EXPECT_NE(page.find("aria-current=\"true\">Dark</a>"), std::string::npos);
    frame.theme = Theme::kAuto;
    frame.here = "//evil.example/";
    EXPECT_NE(renderer.ledger({}, frame).find("<html lang=\"en\">"), std::string::npos);
    EXPECT_EQ(renderer.ledger({}, frame).find("evil"), std::string::npos);
}

// Templates say where text stands as it is, and that is one place: what cmark made.
TEST_F(PagesRenderTest, OneTextIsNotEscaped) {
    std::size_t exceptions = 0;
    for (const EmbeddedFile& file : embedded_files()) {
        exceptions += count_of(file.bytes, ":none}}");
        EXPECT_EQ(file.path.starts_with("templates/"),
                  file.bytes.starts_with("{{%AUTOESCAPE context=\"HTML\"}}"))
            << file.path;
        EXPECT_EQ(count_of(file.bytes, " style="), 0U) << file.path;
        EXPECT_EQ(count_of(file.bytes, "http://www.w3.org/2000/svg"), count_of(file.bytes, "://"))
            << file.path << " loads something from elsewhere";
    }
    EXPECT_EQ(exceptions, 1U);
}

TEST(PagesMarkdown, IsSafe) {
    struct Case {
        const char* markdown;
        const char* expected;
    };
    const Case cases[] = {
        {"# One\n\n## Two\n\n###### Six", "<h2>One</h2>\n<h3>Two</h3>\n<h6>Six</h6>\n"},
        {"*a* & <b>", "<p><em>a</em> &amp; <!-- raw HTML omitted --></p>\n"},
        {"<script>alert(1)</script>", "<!-- raw HTML omitted -->\n"},
        {"[x](javascript:alert(1))", "<p><a href=\"\">x</a></p>\n"},
        {"[x](JaVaScRiPt:alert(1))", "<p><a href=\"\">x</a></p>\n"},
        {"[x](java&#115;cript:alert(1))", "<p><a href=\"\">x</a></p>\n"},
        {"![x](data:text/html,x)", "<p><img src=\"\" alt=\"x\" /></p>\n"},
        {"[x](https://a.example/?b&c \"t\\\"u\")",
         "<p><a href=\"https://a.example/?b&amp;c\" title=\"t&quot;u\">x</a></p>\n"},
        {"\xFF", "<p>\uFFFD</p>\n"},
        {"", ""},
    };
    for (const Case& each : cases) {
        EXPECT_EQ(markdown_to_html(each.markdown), each.expected) << each.markdown;
    }
    EXPECT_NE(markdown_to_html(std::string("a\0b", 3)).find("\uFFFD"), std::string::npos);
}

}  // namespace
}  // namespace sluice::surface
