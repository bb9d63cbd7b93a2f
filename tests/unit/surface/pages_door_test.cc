// The pages for people over real files: who gets to see which page, what the list makes of any
// parameters, and the same search for programs.
#include "pages_door_fixture.h"

#include <latch>

namespace sluice::surface {
namespace {

TEST_F(PagesDoorTest, TheListShowsWhatIsActiveAndUnclaimed) {
    add("Shown");
    titles::PagePatch unlisted;
    unlisted.lifecycle = titles::Lifecycle::kUnlisted;
    patch(add("Unlisted").id, unlisted);
    titles::PagePatch archived;
    archived.lifecycle = titles::Lifecycle::kArchived;
    patch(add("Archived").id, archived);
    claim(add("Claimed").id, kHash2468);
    const io::HttpResponse list = get("/");
    EXPECT_EQ(list.status, 200);
    EXPECT_EQ(rows_of(list), 1U) << list.lead;
    EXPECT_THAT(list.lead, HasSubstr("1 page<"));
    EXPECT_TRUE(has_header(list, "Cache-Control: private, no-cache"));
    EXPECT_FALSE(has_header(list, "X-Robots-Tag: noindex"));
}

// A link to the list always works, whatever became of it on the way.
TEST_F(PagesDoorTest, TheListTakesAnyParameters) {
    for (int i = 0; i < 60; ++i) {
        add("Page " + std::to_string(100 + i));
        clock.advance(1s);
    }
    EXPECT_EQ(rows_of(get("/")), 50U);
    EXPECT_THAT(get("/").lead, HasSubstr(">Page 159<"));
    EXPECT_EQ(rows_of(get("/?page=2")), 10U);
    EXPECT_THAT(get("/?sort=oldest").lead, HasSubstr(">Page 100<"));
    EXPECT_THAT(get("/?sort=title&page=2").lead, HasSubstr(">Page 159<"));
    for (const char* odd : {"/?page=3", "/?page=99999999999999999999",
                            "/?page=18446744073709551615", "/?page=1000000000"}) {
        const io::HttpResponse list = get(odd);
        EXPECT_EQ(list.status, 200) << odd;
        EXPECT_EQ(rows_of(list),
                  std::string_view(odd).find("99999999999999999999") == std::string_view::npos
                      ? 10U
                      : 50U)
            << odd;
    }
    for (const char* odd : {"/?page=0", "/?page=-1", "/?page=a", "/?page=", "/?sort=best",
                            "/?sort=%ff", "/?q=x&&=", "/?page=1.5", "/?format=json"}) {
        const io::HttpResponse list = get(odd);
        EXPECT_EQ(list.status, 200) << odd;
        EXPECT_THAT(list.lead, HasSubstr(">Page 159<")) << odd;
    }
}

TEST_F(PagesDoorTest, APageIsShownAsItsLifecycleSays) {
    const titles::PageRecord page = add("Café <menu>", "# Soup\n\n*hot* <script>x</script>");
    const io::HttpResponse shown = get("/p/" + percent_encode(page.slug));
    EXPECT_EQ(shown.status, 200);
    EXPECT_THAT(shown.lead, HasSubstr("<h1 dir=\"auto\">Café &lt;menu&gt;</h1>"));
    EXPECT_THAT(shown.lead, HasSubstr("<h2>Soup</h2>\n<p><em>hot</em>"));
    EXPECT_THAT(shown.lead, HasSubstr("By <bdi>Ada</bdi>."));
    EXPECT_FALSE(has_header(shown, "X-Robots-Tag: noindex"));

    titles::PagePatch change;
    change.lifecycle = titles::Lifecycle::kUnlisted;
    patch(page.id, change);
    const io::HttpResponse unlisted = get("/p/" + percent_encode(page.slug));
    EXPECT_EQ(unlisted.status, 200);
    EXPECT_TRUE(has_header(unlisted, "X-Robots-Tag: noindex"));
    EXPECT_THAT(unlisted.lead, HasSubstr("<meta name=\"robots\" content=\"noindex\">"));

    change.lifecycle = titles::Lifecycle::kArchived;
    patch(page.id, change);
    for (const std::string& path :
         {"/p/" + percent_encode(page.slug), std::string("/p/never"), std::string("/p/%ff"),
          std::string("/p/%"), std::string("/p/%2e%2e"), std::string("/assets/none.css"),
          std::string("/theme/blue")}) {
        const io::HttpResponse gone = get(path);
        EXPECT_EQ(gone.status, 404) << path;
        EXPECT_TRUE(has_header(gone, "Content-Type: text/html; charset=utf-8")) << path;
        EXPECT_EQ(gone.lead.find("Soup"), std::string::npos);
    }
}

// A long body is made HTML on another thread, with the same end.
TEST_F(PagesDoorTest, ALongBodyIsShownWhole) {
    const titles::PageRecord page = add("Long", long_body("The end."));
    const io::HttpResponse shown = get("/p/" + page.slug);
    EXPECT_EQ(shown.status, 200);
    EXPECT_THAT(shown.lead, HasSubstr("<p>The end.</p>"));
}

// Many readers of one page: one of them has its body rendered, and all are given the same bytes.
TEST_F(PagesDoorTest, ABodyIsRenderedOnceForAllWhoAskForIt) {
    const std::string path = "/p/" + add("Long", long_body("The end.")).slug;
    const std::vector<io::HttpResponse> answers = get_at_once(std::vector<std::string>(60, path));
    for (const io::HttpResponse& answer : answers) {
        EXPECT_EQ(answer.status, 200);
        ASSERT_EQ(answer.body, answers[0].body) << "no copy of its own";
    }
    EXPECT_THAT(std::string(answers[0].body->bytes()), HasSubstr("<p>The end.</p>"));
    EXPECT_TRUE(answers[0].lead.ends_with("<div class=\"prose\" dir=\"auto\">\n"));
    EXPECT_TRUE(answers[0].tail.ends_with("</html>\n")) << answers[0].tail;
    EXPECT_EQ(answers[0].lead.find('\x01'), std::string::npos);
}

// Different ones wait for a thread, a bounded number of them.
TEST_F(PagesDoorTest, DifferentBodiesWaitForAThread) {
    constexpr std::size_t kServed = BodyRenderer::kAtOnce + BodyRenderer::kMaxQueued;
    std::vector<std::string> paths;
    for (std::size_t i = 0; i < kServed + 6; ++i) {
        paths.push_back("/p/" + add("Long " + std::to_string(i), long_body("The end.")).slug);
    }
    std::latch go(1);
    before_rendering = [&go] { go.wait(); };
    std::size_t served = 0;
    for (const io::HttpResponse& answer : get_at_once(paths, 6, [&go] { go.count_down(); })) {
        served += answer.status == 200 ? 1 : 0;
        if (answer.status != 200) {
            EXPECT_EQ(answer.status, 503);
            EXPECT_TRUE(has_header(answer, "Retry-After: 1"));
        }
    }
    EXPECT_EQ(served, kServed);
    for (const io::HttpResponse& answer : get_at_once(paths)) {
        EXPECT_EQ(answer.status, 200) << "those that are rendered wait for nothing";
    }
}

// A bug is told as one: who comes back in a second would find it again.
TEST_F(PagesDoorTest, ARenderingThatBreaksIsNoBusyServer) {
    const std::string path = "/p/" + add("Long", long_body("The end.")).slug;
    before_rendering = [] { throw std::runtime_error("broken"); };
    may_break_renderings = 1;
    const io::HttpResponse broken = get(path);
    EXPECT_EQ(broken.status, 500);
    EXPECT_EQ(broken.headers.find("Retry-After"), std::string::npos);
    before_rendering = {};
    EXPECT_EQ(get(path).status, 200);
}

// What was made of a body is kept for as long as the body is the same.
TEST_F(PagesDoorTest, ABodyThatChangedIsShownAnew) {
    const titles::PageRecord page = add("Changing", "The *first* text.");
    EXPECT_EQ(get("/p/" + page.slug).lead, get("/p/" + page.slug).lead);
    titles::PagePatch change;
    change.body = "The *second* text.";
    patch(page.id, change);
    EXPECT_THAT(get("/p/" + page.slug).lead, HasSubstr("<em>second</em>"));
}

TEST_F(PagesDoorTest, ASearchIsShownOrGoesToTheList) {
    add("Kubernetes deployment checklist");
    const io::HttpResponse found = get("/search?q=kubrenetes+deploymnt&q=other");
    EXPECT_EQ(found.status, 200);
    EXPECT_THAT(found.lead, HasSubstr("value=\"kubrenetes deploymnt\""));
    EXPECT_THAT(found.lead, HasSubstr("href=\"/p/kubernetes-deployment-checklist\""));
    EXPECT_TRUE(has_header(found, "RateLimit-Policy: \"minute\";q=20;w=60, \"hour\";q=200;w=3600"));
    EXPECT_EQ(get("/search").status, 303);
    EXPECT_EQ(get("/search?q=++").status, 303);
    EXPECT_EQ(get("/search?q=k").status, 200);
    EXPECT_EQ(get("/search?q=%ff").status, 400);
    EXPECT_EQ(get("/search?q=" + std::string(65, 'a')).status, 400);
    EXPECT_EQ(get("/search?q=kubernetes&format=json").status, 404);
    EXPECT_EQ(get("/search?format=").status, 404);
    EXPECT_EQ(ask(TestRequest(Method::kPost, "/search", clock.now())).status, 405);
    // The one valid search is all that was counted.
    const io::HttpResponse next = get("/search?q=kubernetes");
    EXPECT_NE(next.headers.find("\"minute\";r=18;"), std::string::npos) << next.headers;
}

// What a browser loads as a part of some page is no search and chooses no theme: whoever wrote that
// page would spend the searches of who reads it. What people and programs ask is.
TEST_F(PagesDoorTest, APictureIsNoSearch) {
    add("Kubernetes");
    using Fields = std::vector<std::pair<const char*, const char*>>;
    struct Case {
        Fields fields;
        bool is_part;
    };
    const Case cases[] = {
        {{}, false},
        {{{"Sec-Fetch-Dest", "document"}, {"Sec-Fetch-Site", "cross-site"}}, false},
        {{{"Sec-Fetch-Dest", "empty"}, {"Sec-Fetch-Site", "same-origin"}}, false},
        {{{"Sec-Fetch-Dest", "empty"}, {"Sec-Fetch-Site", "cross-site"}}, true},
        {{{"Sec-Fetch-Dest", "image"}, {"Accept", "text/html"}}, true},
        {{{"Sec-Fetch-Dest", "iframe"}}, true},
        {{{"Sec-Fetch-Dest", "style"}}, true},
        {{{"Accept", "image/avif,image/webp,image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5"}},
         true},
        {{{"Accept", "text/html,application/xhtml+xml,image/avif,image/webp,*/*;q=0.8"}}, false},
        {{{"Accept", "*/*"}}, false},
    };
    std::size_t searches = 0;
    for (const Case& c : cases) {
        TestRequest search_request(Method::kGet, "/search?q=kubernetes", clock.now());
        TestRequest theme_request(Method::kGet, "/theme/dark", clock.now());
        std::string trace;
        for (const auto& [name, value] : c.fields) {
            search_request.header(name, value);
            theme_request.header(name, value);
            trace.append(name).append(": ").append(value).append("; ");
        }
        SCOPED_TRACE(trace);
        EXPECT_EQ(ask(search_request).status, c.is_part ? 404 : 200);
        EXPECT_EQ(ask(theme_request).status, c.is_part ? 404 : 303);
        searches += c.is_part ? 0 : 1;
    }
    const io::HttpResponse last = get("/search?q=kubernetes");
    EXPECT_NE(last.headers.find("\"minute\";r=" + std::to_string(20 - searches - 1) + ";"),
              std::string::npos)
        << last.headers;
}

// What is not there looks like the other pages to a browser, and like all errors to a program.
TEST_F(PagesDoorTest, WhatIsNotThereIsAPageForPeople) {
    for (const char* target : {"/nowhere", "/v1/nowhere", "/p/a/b"}) {
        SCOPED_TRACE(target);
        TestRequest request(Method::kGet, target, clock.now());
        request.header("Accept", "text/html,*/*;q=0.8").header("Cookie", "theme=dark");
        const io::HttpResponse page = ask(request);
        EXPECT_EQ(page.status, 404);
        EXPECT_TRUE(has_header(page, "Content-Type: text/html; charset=utf-8"));
        EXPECT_TRUE(has_header(page, "X-Robots-Tag: noindex"));
        EXPECT_THAT(page.lead, HasSubstr("There is no such page"));
        EXPECT_THAT(page.lead, HasSubstr("data-theme=\"dark\""));
        EXPECT_TRUE(has_header(get(target), "Content-Type: application/problem+json"));
    }
    TestRequest wrong(Method::kDelete, "/search", clock.now());
    wrong.header("Accept", "text/html");
    const io::HttpResponse refused = ask(wrong);
    EXPECT_EQ(refused.status, 405);
    EXPECT_TRUE(has_header(refused, "Allow: GET, HEAD, OPTIONS"));
    EXPECT_THAT(refused.lead, HasSubstr("id=\"main\""));
    const io::HttpResponse moved = get("/search/?q=kube%20netes");
    EXPECT_EQ(moved.status, 308);
    EXPECT_TRUE(has_header(moved, "Location: /search?q=kube%20netes"));
}

// The header fields of an answer but for those that say in which form it is, in order.
std::vector<std::string> fields_of_any_form(const io::HttpResponse& response) {
    std::vector<std::string> fields;
    for (std::size_t at = 0; at < response.headers.size();) {
        const std::size_t end = response.headers.find("\r\n", at) + 2;
        std::string field = response.headers.substr(at, end - at);
        if (!field.starts_with("Content-")) {
            fields.push_back(std::move(field));
        }
        at = end;
    }
    std::ranges::sort(fields);
    return fields;
}

// A refusal has the same header fields whether a page or a problem says it, and nobody may keep it,
// list it, or hear of it. So has what else is answered at a path where people search.
TEST_F(PagesDoorTest, RefusalsHaveTheSameFieldsInBothForms) {
    constexpr std::pair<Method, std::string_view> kRefused[] = {
        {Method::kDelete, "/search?q=kubernetes"},
        {Method::kPost, "/search"},
        {Method::kPut, "/p/a-page"},
        {Method::kGet, "/nowhere"},
        {Method::kGet, "/search/more"},
        {Method::kOptions, "/search?q=kubernetes"},
        {Method::kGet, "/search/?q=kubernetes"},
    };
    for (const auto& [method, target] : kRefused) {
        SCOPED_TRACE(target);
        TestRequest from_browser(method, std::string(target), clock.now());
        from_browser.header("Accept", "text/html");
        const io::HttpResponse page = ask(from_browser);
        const io::HttpResponse problem = ask(TestRequest(method, std::string(target), clock.now()));
        EXPECT_EQ(page.status, problem.status);
        EXPECT_EQ(fields_of_any_form(page), fields_of_any_form(problem));
        EXPECT_TRUE(has_header(problem, "Cache-Control: private, no-store"));
        EXPECT_TRUE(has_header(problem, "Referrer-Policy: no-referrer"));
        EXPECT_TRUE(has_header(problem, "X-Robots-Tag: noindex"));
        EXPECT_EQ(
            has_header(problem, "Allow: GET, HEAD, OPTIONS"),
            target.starts_with("/search") && (problem.status == 405 || problem.status == 204));
    }
}

TEST_F(PagesDoorTest, AScorerThatBreaksIsAPageWithTheForm) {
    add("Kubernetes");
    before_scoring = [] { throw std::runtime_error("broken"); };
    const io::HttpResponse failed = get("/search?q=kubernetes");
    EXPECT_EQ(failed.status, 500);
    EXPECT_THAT(failed.lead, HasSubstr("value=\"kubernetes\""));
    EXPECT_EQ(failed.lead.find("broken"), std::string::npos);
}

// Programs get the same search with windows of their own, and each refusal as a problem.
TEST_F(PagesDoorTest, ProgramsSearchToo) {
    add("Kubernetes \"deployment\"");
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(get("/search?q=kubernetes").status, 200);
    }
    EXPECT_EQ(get("/search?q=kubernetes").status, 429);
    const io::HttpResponse found = get("/v1/pages/search?q=Kubrenetes");
    EXPECT_EQ(found.status, 200) << found.lead;
    EXPECT_TRUE(has_header(found, "Content-Type: application/json"));
    EXPECT_NE(found.headers.find("RateLimit: \"minute\";r=19;t="), std::string::npos)
        << found.headers;
    JsonReader reader;
    const JsonValue body = reader.parse(found.lead).value();
    std::vector<std::string> names;
    for (const auto& [name, value] : body.members()) {
        names.emplace_back(name);
    }
    EXPECT_EQ(names, (std::vector<std::string>{"query", "total_matched", "truncated", "results"}));
    EXPECT_EQ(body.string_at("query"), "Kubrenetes");
    EXPECT_EQ(body.find("total_matched")->as_integer(), 1);
    EXPECT_EQ(body.find("truncated")->as_boolean(), false);
    std::vector<JsonValue> results;
    for (const JsonValue& result : body.find("results")->elements()) {
        results.push_back(result);
    }
    ASSERT_EQ(results.size(), 1U);
    EXPECT_EQ(results[0].find("id")->as_integer(), 1);
    EXPECT_EQ(results[0].string_at("title"), "Kubernetes \"deployment\"");
    EXPECT_EQ(results[0].string_at("slug"), "kubernetes-deployment");
    EXPECT_GT(results[0].find("score")->as_number(), 60.0);
    titles::TitleAnswer answer;
    titles::Candidate candidate;
    for (const double score : {85.50000000000001, 79.36507936507937, 100.0, 60.0000004}) {
        answer.hits.push_back({&candidate, score});
    }
    std::string scores;
    for (const JsonValue& result :
         reader.parse(render_title_hits(answer))->find("results")->elements()) {
        scores += std::to_string(result.find("score")->as_number().value()) + " ";
    }
    EXPECT_EQ(scores, "85.500000 79.365079 100.000000 60.000000 ");
    EXPECT_THAT(render_title_hits(answer), HasSubstr("\"score\":85.5,"));
    EXPECT_THAT(render_title_hits(answer), HasSubstr("\"score\":79.365079,"));

    struct Case {
        const char* query;
        const char* detail;
    };
    for (const Case& each :
         {Case{"", "q: expected what to search for"}, Case{"q=", "q: expected what to search for"},
          Case{"q=k", "q: expected at least 2 characters"},
          Case{"q=%00ab", "q: expected UTF-8 without NUL"}}) {
        const io::HttpResponse refused = get(std::string(kPageSearchPath) + "?" + each.query);
        EXPECT_EQ(refused.status, 400) << each.query;
        EXPECT_TRUE(has_header(refused, "Content-Type: application/problem+json"));
        EXPECT_EQ(reader.parse(refused.lead)->string_at("detail"), each.detail);
    }
    for (int i = 0; i < 19; ++i) {
        EXPECT_EQ(get("/v1/pages/search?q=kubernetes").status, 200);
    }
    const io::HttpResponse limited = get("/v1/pages/search?q=kubernetes");
    EXPECT_EQ(limited.status, 429);
    EXPECT_EQ(reader.parse(limited.lead)->string_at("code"), "rate_limited");
    EXPECT_NE(limited.headers.find("Retry-After: "), std::string::npos);
    EXPECT_NE(limited.headers.find("RateLimit: \"minute\";r=0;t="), std::string::npos);
}

// Where searching needs a token, programs need one here; people's pages stay open.
TEST_F(PagesDoorTest, ProgramsNeedWhatSearchingNeeds) {
    access::AccessConfig closed;
    closed.anonymous = access::Anonymous::kNone;
    access.reconfigure(closed);
    EXPECT_EQ(get("/v1/pages/search?q=kubernetes").status, 401);
    EXPECT_EQ(get("/search?q=kubernetes").status, 200);
    EXPECT_EQ(get("/").status, 200);
}

}  // namespace
}  // namespace sluice::surface
