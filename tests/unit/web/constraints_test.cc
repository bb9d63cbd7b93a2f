#include "web/constraints.h"

#include "case_file.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>

namespace sluice::web {
namespace {

using testing::usual_request;

constexpr std::array<std::string_view, 2> kTwoCountries = {"at", "de"};

Capabilities everything() {
    return {.max_results = 50,
            .max_page = 100,
            .max_query_code_points = 2'000,
            .domains = {.include = 100, .exclude = 100},
            .country = true,
            .country_in_news = true,
            .locale = true,
            .freshness_period = true,
            .freshness_range = true,
            .news = true,
            .answer = true,
            .content = true,
            .safe_search = true};
}

ProviderSpec spec_of(const Capabilities& can) {
    return {.name = "plain",
            .default_base_url = "https://plain.test",
            .keys_variable = "PLAIN_API_KEYS",
            .key_variable = "PLAIN_API_KEY",
            .can = can};
}

std::optional<std::string_view> unmet(const Capabilities& can, const SearchRequest& request) {
    return plan_call(spec_of(can), request).unmet();
}

// "include_domains operator, exclude_domains filter"
std::string words_of(const CallPlan& plan) {
    std::string words;
    for (const CallPlan::Entry& entry : plan.entries()) {
        words.append(words.empty() ? "" : ", ").append(to_string(entry.constraint));
        words.append(" ").append(to_string(entry.how));
    }
    return words;
}

std::vector<std::string> domains(std::size_t count) {
    std::vector<std::string> list;
    for (std::size_t i = 0; i < count; ++i) {
        list.push_back("d" + std::to_string(100 + i) + ".example");
    }
    return list;
}

std::vector<Hit> hits_at(std::initializer_list<std::string_view> hosts) {
    std::vector<Hit> hits;
    for (const std::string_view host : hosts) {
        hits.emplace_back().url = "https://" + std::string(host) + "/page";
    }
    return hits;
}

std::string hosts_of(const std::vector<Hit>& hits) {
    std::string hosts;
    for (const Hit& hit : hits) {
        hosts.append(hosts.empty() ? "" : " ");
        hosts.append(hit.url, 8, hit.url.size() - 13);
    }
    return hosts;
}

struct Row {
    std::string_view name;  // what is expected to be named
    std::function<void(Capabilities&)> lack;
    std::function<void(SearchRequest&)> need;
};

// A constraint is unmet exactly when it is both needed and lacking, and is named for the trace.
TEST(CallPlanUnmet, NeedsMeetCapabilities) {
    const Row rows[] = {
        {"query length", [](auto& can) { can.max_query_code_points = 24; }, [](auto&) {}},
        {"query length", [](auto& can) { can.max_query_words = 2; }, [](auto&) {}},
        {"page", [](auto& can) { can.max_page = 1; }, [](auto& need) { need.page = 2; }},
        {"news", [](auto& can) { can.news = false; },
         [](auto& need) { need.topic = Topic::kNews; }},
        {"country", [](auto& can) { can.country = false; },
         [](auto& need) { need.country = "de"; }},
        {"country", [](auto& can) { can.countries = kTwoCountries; },
         [](auto& need) { need.country = "ch"; }},
        {"country", [](auto& can) { can.country_in_news = false; },
         [](auto& need) {
             need.country = "de";
             need.topic = Topic::kNews;
         }},
        {"locale", [](auto& can) { can.locale = false; },
         [](auto& need) { need.locale = "de-DE"; }},
        {"freshness period", [](auto& can) { can.freshness_period = false; },
         [](auto& need) { need.freshness.period = Freshness::Period::kDay; }},
        {"freshness range", [](auto& can) { can.freshness_range = false; },
         [](auto& need) {
             need.freshness = {Freshness::Period::kRange, "2026-01-01", "2026-02-01"};
         }},
        {"locale",
         [](auto& can) { can.knows_locale = [](std::string_view tag) { return tag == "fr"; }; },
         [](auto& need) { need.locale = "de-DE"; }},
        {"page", [](auto& can) { can.max_depth = 19; }, [](auto& need) { need.page = 2; }},
        {"answer", [](auto& can) { can.answer = false; },
         [](auto& need) { need.want_answer = true; }},
        {"content", [](auto& can) { can.content = false; },
         [](auto& need) { need.want_content = true; }},
        {"safe search", [](auto& can) { can.safe_search = false; },
         [](auto& need) { need.safe_search = SafeSearch::kModerate; }},
        {"safe search", [](auto& can) { can.safe_search = false; },
         [](auto& need) { need.safe_search = SafeSearch::kStrict; }},
    };
    for (const Row& row : rows) {
        SCOPED_TRACE(row.name);
        Capabilities lacking = everything();
        row.lack(lacking);
        SearchRequest needing = usual_request();
        row.need(needing);
        EXPECT_EQ(unmet(lacking, needing), row.name);
        EXPECT_EQ(unmet(everything(), needing), std::nullopt);
        if (row.name != "query length") {
            EXPECT_EQ(unmet(lacking, usual_request()), std::nullopt);
        }
    }
}

// Limits are inclusive, and what asks for nothing needs nothing.
TEST(CallPlanUnmet, Limits) {
    Capabilities can = everything();
    can.max_query_code_points = 25;  // the usual query's
    can.max_page = 2;
    can.max_query_words = 3;
    can.max_depth = 20;
    can.countries = kTwoCountries;
    can.safe_search = false;
    SearchRequest request = usual_request();
    request.page = 2;
    request.country = "de";
    request.safe_search = SafeSearch::kOff;
    EXPECT_EQ(unmet(can, request), std::nullopt);
}

// Code points are counted, not bytes: other scripts may ask as much as Latin.
TEST(CallPlanUnmet, CountsCodePoints) {
    Capabilities can;
    can.max_query_code_points = 2;
    SearchRequest request;
    request.query = QueryText("\xE9\x87\x89\xF0\x9F\x8F\xBA");
    EXPECT_EQ(unmet(can, request), std::nullopt);
    request.query = QueryText("abc");
    EXPECT_EQ(unmet(can, request), "query length");
}

// A request without constraints is passed on as it is: nothing is copied and nothing is listed.
TEST(CallPlan, NothingToDo) {
    const SearchRequest request = usual_request();
    const CallPlan plan = plan_call(spec_of(everything()), request);
    EXPECT_EQ(&plan.sent(request), &request);
    EXPECT_EQ(words_of(plan), "");
    std::vector<Hit> hits = hits_at({"a.example"});
    plan.filter(request, hits);
    EXPECT_EQ(hits.size(), 1U);
}

// Every field that narrows the answer is listed by the name that the caller gave it.
TEST(CallPlan, ListsEveryConstraint) {
    SearchRequest request = usual_request();
    request.page = 2;
    request.max_results = 50;
    request.topic = Topic::kNews;
    request.country = "de";
    request.locale = "de";
    request.freshness.period = Freshness::Period::kWeek;
    request.want_answer = true;
    request.want_content = true;
    request.safe_search = SafeSearch::kStrict;
    request.include_domains = domains(1);
    request.exclude_domains = domains(200);
    Capabilities can = everything();
    can.max_results = 20;
    EXPECT_EQ(words_of(plan_call(spec_of(can), request)),
              "page provider, topic provider, country provider, locale provider, "
              "freshness provider, answer provider, content provider, safe_search provider, "
              "include_domains provider, exclude_domains provider, exclude_domains filter, "
              "max_results shortened");
}

// More results than a call can give are cut, which the answer says; for news there may be more.
TEST(CallPlan, ResultsAreCutToTheLimit) {
    Capabilities can;
    can.max_results = 20;
    can.max_news_results = 40;
    can.news = true;
    SearchRequest request = usual_request();
    request.max_results = 50;
    EXPECT_EQ(plan_call(spec_of(can), request).sent(request).max_results, 20U);
    request.topic = Topic::kNews;
    EXPECT_EQ(plan_call(spec_of(can), request).sent(request).max_results, 40U);
    request.max_results = 40;
    EXPECT_EQ(words_of(plan_call(spec_of(can), request)), "topic provider");
}

struct DomainRow {
    std::string_view what;
    DomainSupport support;
    std::size_t include;
    std::size_t exclude;
    std::string_view expected;
    std::string_view query;  // as it is sent
    std::size_t sent_include;
    std::size_t sent_exclude;
};

// Lists go into a parameter where they fit, else into the query, else they are filtered here.
TEST(CallPlan, DomainListsGoWhereTheyFit) {
    constexpr std::string_view kQuery = "stoneware glaze chemistry";
    const DomainRow rows[] = {
        {"both in parameters",
         {.include = 2, .exclude = 2},
         2,
         2,
         "include_domains provider, exclude_domains provider",
         kQuery,
         2,
         2},
        {"nothing at all",
         {},
         1,
         1,
         "include_domains filter, exclude_domains filter",
         kQuery,
         0,
         0},
        {"a parameter of one list, to include",
         {.include = 1, .exclude = 1, .one_list = true},
         1,
         1,
         "include_domains provider, exclude_domains filter",
         kQuery,
         1,
         0},
        {"a parameter of one list, to exclude",
         {.include = 1, .exclude = 1, .one_list = true},
         2,
         1,
         "include_domains filter, exclude_domains provider",
         kQuery,
         0,
         1},
        {"one operator",
         {.operators = 3},
         1,
         0,
         "include_domains operator",
         "stoneware glaze chemistry site:d100.example",
         0,
         0},
        {"alternatives",
         {.operators = 3},
         2,
         0,
         "include_domains operator",
         "stoneware glaze chemistry (site:d100.example OR site:d101.example)",
         0,
         0},
        {"both lists share the operators",
         {.operators = 3},
         2,
         1,
         "include_domains operator, exclude_domains operator",
         "stoneware glaze chemistry (site:d100.example OR site:d101.example) -site:d100.example",
         0,
         0},
        {"an include list that is too long stays whole",
         {.operators = 3},
         4,
         0,
         "include_domains filter",
         kQuery,
         0,
         0},
        {"an exclude list that is too long is told in part",
         {.operators = 2},
         0,
         3,
         "exclude_domains operator, exclude_domains filter",
         "stoneware glaze chemistry -site:d100.example -site:d101.example",
         0,
         0},
        {"words that are not read are not written",
         {.operators = 3, .words = 4},
         0,
         3,
         "exclude_domains operator, exclude_domains filter",
         "stoneware glaze chemistry -site:d100.example",
         0,
         0},
        {"alternatives have words between them",
         {.operators = 3, .words = 5},
         2,
         0,
         "include_domains filter",
         kQuery,
         0,
         0},
        {"a long parameter is shortened",
         {.exclude = 20},
         0,
         25,
         "exclude_domains provider, exclude_domains filter",
         kQuery,
         0,
         20},
    };
    for (const DomainRow& row : rows) {
        SCOPED_TRACE(row.what);
        Capabilities can = everything();
        can.domains = row.support;
        SearchRequest request = usual_request();
        request.include_domains = domains(row.include);
        request.exclude_domains = domains(row.exclude);
        const CallPlan plan = plan_call(spec_of(can), request);
        EXPECT_EQ(plan.unmet(), std::nullopt);
        EXPECT_EQ(words_of(plan), row.expected);
        const SearchRequest& sent = plan.sent(request);
        EXPECT_EQ(sent.query.reveal(), row.query);
        EXPECT_EQ(sent.include_domains.size(), row.sent_include);
        EXPECT_EQ(sent.exclude_domains.size(), row.sent_exclude);
    }
}

// The limit of a query's length holds with its operators; the query itself is never cut.
TEST(CallPlan, OperatorsCountAsLength) {
    Capabilities can;
    can.domains.operators = 10;
    SearchRequest request = usual_request();
    request.exclude_domains = {"a.example"};
    can.max_query_code_points = 25 + 16;
    EXPECT_EQ(words_of(plan_call(spec_of(can), request)), "exclude_domains operator");
    can.max_query_code_points -= 1;
    EXPECT_EQ(words_of(plan_call(spec_of(can), request)), "exclude_domains filter");
}

// An OR in the query must not take the filter for one of its alternatives.
TEST(CallPlan, AlternativesInTheQueryAreFenced) {
    Capabilities can;
    can.domains.operators = 10;
    SearchRequest request = usual_request();
    request.exclude_domains = {"a.example"};
    request.query = QueryText("celadon OR shino");
    EXPECT_EQ(plan_call(spec_of(can), request).sent(request).query.reveal(),
              "(celadon OR shino) -site:a.example");
    request.query = QueryText("celadon|shino");
    EXPECT_EQ(plan_call(spec_of(can), request).sent(request).query.reveal(),
              "(celadon|shino) -site:a.example");
    request.query = QueryText("ORacle or FOR");
    EXPECT_EQ(plan_call(spec_of(can), request).sent(request).query.reveal(),
              "ORacle or FOR -site:a.example");
}

// What is going to be left out is asked for on top, where that costs nothing and pages stay whole.
TEST(CallPlan, AsksForWhatItWillLeaveOut) {
    Capabilities can = everything();
    can.domains = {};
    can.included_results = 10;
    SearchRequest request = usual_request();
    request.max_results = 3;
    EXPECT_EQ(plan_call(spec_of(can), request).sent(request).max_results, 3U);
    request.exclude_domains = domains(1);
    EXPECT_EQ(plan_call(spec_of(can), request).sent(request).max_results, 10U);
}

// Pages do not overlap: what a page is asked for on top is counted where the next one begins, and
// in how deep the provider goes.
TEST(CallPlan, EveryPageIsAskedForAsMuch) {
    Capabilities can = everything();
    can.domains = {};
    can.included_results = 10;
    can.max_depth = 100;
    SearchRequest request = usual_request();
    request.max_results = 3;
    request.exclude_domains = domains(1);
    request.page = 10;
    const CallPlan last = plan_call(spec_of(can), request);
    EXPECT_EQ(last.unmet(), std::nullopt);
    EXPECT_EQ(last.sent(request).max_results, 10U);
    request.page = 11;
    EXPECT_EQ(unmet(can, request), "page");
    request.exclude_domains.clear();
    EXPECT_EQ(unmet(can, request), std::nullopt);
}

// The same as it is sent: the second page begins where the first one ends, for a provider that
// counts results and for those that count pages.
TEST(CallPlan, TheSecondPageBeginsWhereTheFirstEnds) {
    struct Row {
        std::string_view provider;
        std::string_view first;
        std::string_view second;
    };
    const Row rows[] = {
        {"brave", "&count=20&", "&count=20&offset=1&"},
        {"google_cse", "&num=10&", "&num=10&start=11&"},
        {"serper", "", R"("page":2)"},
    };
    for (const Row& row : rows) {
        SCOPED_TRACE(row.provider);
        const Provider& provider = *find_provider(row.provider);
        SearchRequest request = usual_request();
        request.max_results = 3;
        request.exclude_domains = domains(60);
        const CallSite site{"https://plain.test", testing::usual_now(), "0123456789abcdef0"};
        const auto sent = [&](std::uint32_t page) {
            request.page = page;
            const CallPlan plan = plan_call(provider.spec(), request);
            EXPECT_EQ(plan.unmet(), std::nullopt);
            EXPECT_NE(words_of(plan).find("exclude_domains filter"), std::string::npos);
            const io::ClientRequest call =
                provider.build(plan.sent(request), testing::usual_key(), site);
            return call.url + "&" + call.body;
        };
        EXPECT_NE(sent(1).find(row.first), std::string::npos) << sent(1);
        EXPECT_NE(sent(2).find(row.second), std::string::npos) << sent(2);
        EXPECT_EQ(sent(1).find("\"num\":"), sent(2).find("\"num\":"));
    }
}

// Hits are left out by their domain: itself and everything below it.
TEST(CallPlan, FiltersHits) {
    Capabilities can = everything();
    can.domains = {};
    SearchRequest request = usual_request();
    request.include_domains = {"example.org", "news.example.com"};
    request.exclude_domains = {"old.example.org"};
    std::vector<Hit> hits =
        hits_at({"example.org", "a.example.org", "old.example.org", "x.old.example.org",
                 "badexample.org", "example.com", "news.example.com"});
    plan_call(spec_of(can), request).filter(request, hits);
    EXPECT_EQ(hosts_of(hits), "example.org a.example.org news.example.com");
}

// Filters look at the host as it is read, not as it is spelled or shown.
TEST(CallPlan, FiltersBySpelledHosts) {
    Capabilities can = everything();
    can.domains = {};
    SearchRequest request = usual_request();
    request.exclude_domains = {"www.com", "xn--mnchen-3ya.example"};
    std::vector<Hit> hits = hits_at({"www.com", "WWW.com.", "m\u00fcnchen.example",
                                     "a.M\u00dcNCHEN%2Eexample", "munchen.example"});
    plan_call(spec_of(can), request).filter(request, hits);
    EXPECT_EQ(hosts_of(hits), "munchen.example");
}

// Operators are only asked for; what comes back is looked at all the same. Parameters are trusted.
TEST(CallPlan, OperatorsAreChecked) {
    Capabilities can = everything();
    can.domains = {.operators = 5};
    SearchRequest request = usual_request();
    request.include_domains = {"a.example"};
    std::vector<Hit> hits = hits_at({"a.example", "b.example"});
    plan_call(spec_of(can), request).filter(request, hits);
    EXPECT_EQ(hosts_of(hits), "a.example");
    can.domains = {.include = 5};
    hits = hits_at({"a.example", "b.example"});
    plan_call(spec_of(can), request).filter(request, hits);
    EXPECT_EQ(hits.size(), 2U);
}

// An option that was given up is not called honoured, unless nobody can tell the difference.
TEST(CallPlan, SaysWhatWasGivenUp) {
    ProviderSpec spec = spec_of(everything());
    spec.option = Constraint::kContent;
    SearchRequest request = usual_request();
    request.want_content = true;
    request.country = "de";
    const CallPlan plan = plan_call(spec, request);
    const std::vector<Honoured> full = {{"country", "plain", Honour::kProvider},
                                        {"content", "plain", Honour::kProvider}};
    const std::vector<Honoured> without = {{"country", "plain", Honour::kProvider},
                                           {"content", "plain", Honour::kShortened}};
    EXPECT_EQ(honoured(plan, spec, request, BuildVariant::kFull), full);
    EXPECT_EQ(honoured(plan, spec, request, BuildVariant::kWithoutOption), without);

    spec.option = Constraint::kMaxResults;
    spec.can.included_results = 10;
    SearchRequest few = usual_request();
    few.max_results = 5;
    EXPECT_TRUE(honoured(plan_call(spec, few), spec, few, BuildVariant::kWithoutOption).empty());
    few.max_results = 11;
    EXPECT_EQ(honoured(plan_call(spec, few), spec, few, BuildVariant::kWithoutOption).size(), 1U);
}

}  // namespace
}  // namespace sluice::web
