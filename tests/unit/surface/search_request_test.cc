// What each field of a request becomes. (What is refused, and in which words, is a table of
// tests/wire/request_validation_test.py.)
#include "surface/rest/search_request.h"

#include "surface/rest/search_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace sluice::surface {
namespace {

using web::SearchRequest;
using Period = web::Freshness::Period;
using Strings = std::vector<std::string>;

SearchRequest ok(Result<SearchRequest> result) {
    EXPECT_TRUE(result.ok()) << result.error().message;
    return result.ok() ? std::move(*result) : SearchRequest();
}

// A query alone is a whole request, with the defaults of the contract.
TEST(SearchRequestTest, Defaults) {
    const SearchRequest request = ok(parse_search_json(R"({"query":" kiln "})"));
    EXPECT_EQ(request.query.reveal(), "kiln");
    EXPECT_EQ(request.lane, web::Lane::kFast);
    EXPECT_EQ(request.max_results, 10u);
    EXPECT_EQ(request.page, 1u);
    EXPECT_EQ(request.cache, web::CacheMode::kUse);
    EXPECT_EQ(request.freshness, web::Freshness());
    EXPECT_FALSE(request.want_answer || request.want_content || request.trace);
    EXPECT_TRUE(request.providers.empty());
}

struct FieldCase {
    std::string_view name;
    std::string_view json;   // the field's value in a body
    std::string_view query;  // and in a query string
    std::function<bool(const SearchRequest&)> holds;
};

const std::vector<FieldCase>& field_cases() {
    static const std::vector<FieldCase> cases = {
        {"lane", R"("deep")", "deep",
         [](const SearchRequest& r) { return r.lane == web::Lane::kDeep; }},
        {"max_results", "50", "50", [](const SearchRequest& r) { return r.max_results == 50; }},
        {"page", "100", "100", [](const SearchRequest& r) { return r.page == 100; }},
        {"locale", R"("pt-BR")", "pt-BR",
         [](const SearchRequest& r) { return r.locale == "pt-BR"; }},
        {"country", R"("DE")", "DE", [](const SearchRequest& r) { return r.country == "de"; }},
        {"freshness", R"("2024-02-29..2026-01-01")", "2024-02-29..2026-01-01",
         [](const SearchRequest& r) {
             return r.freshness == web::Freshness{Period::kRange, "2024-02-29", "2026-01-01"};
         }},
        {"topic", R"("news")", "news",
         [](const SearchRequest& r) { return r.topic == web::Topic::kNews; }},
        {"answer", "true", "1", [](const SearchRequest& r) { return r.want_answer; }},
        {"content", "true", "True", [](const SearchRequest& r) { return r.want_content; }},
        {"include_domains", R"(["b.example","A.example","b.example"])", "b.example,A.example",
         [](const SearchRequest& r) {
             return r.include_domains == Strings{"a.example", "b.example"};
         }},
        {"exclude_domains", R"(["x.example"])", "x.example",
         [](const SearchRequest& r) { return r.exclude_domains == Strings{"x.example"}; }},
        {"providers", R"(["tavily","serper","tavily"])", "tavily,serper",
         [](const SearchRequest& r) { return r.providers == Strings{"tavily", "serper"}; }},
        {"strategy", R"("merge")", "merge",
         [](const SearchRequest& r) { return r.strategy == web::Strategy::kMerge; }},
        {"strategy", R"("hedge")", "hedge",
         [](const SearchRequest& r) { return r.strategy == web::Strategy::kHedge; }},
        {"explain", "true", "true", [](const SearchRequest& r) { return r.explain; }},
        {"safe_search", R"("moderate")", "moderate",
         [](const SearchRequest& r) { return r.safe_search == web::SafeSearch::kModerate; }},
        {"session_id", R"("s-1")", "s-1",
         [](const SearchRequest& r) { return r.session_id == "s-1"; }},
        {"trace", "true", "true", [](const SearchRequest& r) { return r.trace; }},
        {"cache", R"("bypass")", "bypass",
         [](const SearchRequest& r) { return r.cache == web::CacheMode::kBypass; }},
        {"search_domain_filter", R"(["a.example","-x.example"])", "a.example,-x.example",
         [](const SearchRequest& r) {
             return r.include_domains == Strings{"a.example"} &&
                    r.exclude_domains == Strings{"x.example"};
         }},
        {"search_recency_filter", R"("month")", "month",
         [](const SearchRequest& r) { return r.freshness.period == Period::kMonth; }},
        {"search_after_date_filter", R"("3/1/2026")", "3/1/2026",
         [](const SearchRequest& r) {
             return r.freshness.period == Period::kRange && r.freshness.from == "2026-03-01";
         }},
        {"search_before_date_filter", R"("12/31/2026")", "12/31/2026",
         [](const SearchRequest& r) {
             return r.freshness.period == Period::kRange && r.freshness.to == "2026-12-31";
         }},
        {"max_tokens_per_page", "512", "512", [](const SearchRequest&) { return true; }},
        {"max_tokens", "512", "512", [](const SearchRequest&) { return true; }},
        {"search_tool_name", R"("x")", "x", [](const SearchRequest&) { return true; }},
    };
    return cases;
}

// Each field reaches the request, from a body and from a query string alike, and changes it.
TEST(SearchRequestTest, EveryFieldLands) {
    const SearchRequest plain = ok(parse_search_json(R"({"query":"kiln"})"));
    std::set<std::string_view> covered = {"query"};
    for (const FieldCase& c : field_cases()) {
        SCOPED_TRACE(c.name);
        covered.insert(c.name);
        const std::string name(c.name);
        EXPECT_TRUE(c.holds(ok(parse_search_json("{\"query\":\"kiln\",\"" + name +
                                                 "\":" + std::string(c.json) + "}"))));
        EXPECT_TRUE(c.holds(ok(parse_search_query("q=kiln&" + name + "=" + std::string(c.query)))));
        EXPECT_TRUE(c.name.starts_with("max_tokens") || c.name == "search_tool_name" ||
                    !c.holds(plain))
            << "the case holds without the field";
    }
    for (const SearchField& field : search_fields()) {
        EXPECT_TRUE(covered.contains(field.name)) << "no case for " << field.name;
    }
}

// Both ends given, in either order, are one range; ends that cross are refused.
TEST(SearchRequestTest, DateFiltersMeet) {
    const SearchRequest request = ok(parse_search_json(
        R"({"query":"a","search_before_date_filter":"2/1/2026","search_after_date_filter":"1/2/2026"})"));
    EXPECT_EQ(request.freshness, (web::Freshness{Period::kRange, "2026-01-02", "2026-02-01"}));
    EXPECT_FALSE(parse_search_query(
                     "q=a&search_before_date_filter=1/1/2026&search_after_date_filter=1/2/2026")
                     .ok());
}

// What restricts the same thing in two ways is refused, whichever comes first.
TEST(SearchRequestTest, OnlyOneFreshness) {
    for (const std::string_view query :
         {"q=a&freshness=day&search_recency_filter=week",
          "q=a&freshness=day&search_after_date_filter=1/2/2026",
          "q=a&search_after_date_filter=1/2/2026&freshness=day",
          "q=a&search_before_date_filter=1/2/2026&freshness=2026-01-01..2026-01-02",
          "q=a&freshness=2026-01-01..2026-01-02&search_before_date_filter=1/2/2026"}) {
        const auto refused = parse_search_query(query);
        ASSERT_FALSE(refused.ok()) << query;
        EXPECT_THAT(refused.error().message, testing::HasSubstr("give one of them")) << query;
    }
}

// Domains are kept in one spelling, so that one written in two ways is one.
TEST(SearchRequestTest, DomainsHaveOneSpelling) {
    const SearchRequest request = ok(parse_search_json(
        R"({"query":"a","include_domains":["M\u00dcNCHEN.example.","xn--mnchen-3ya.example","b\u3002com"]})"));
    EXPECT_EQ(request.include_domains, (Strings{"b.com", "xn--mnchen-3ya.example"}));
    EXPECT_FALSE(parse_search_json(
                     R"({"query":"a","include_domains":["b.com"],"exclude_domains":["%62.com."]})")
                     .ok());
}

// A list of hundreds is of no use to look through: the message names the entry that is no domain.
TEST(SearchRequestTest, NamesTheEntryThatIsNoDomain) {
    for (const std::string entry : {"nodots", "b.com:80", "user@b.com", "b.com/x", "1.2.3", "[::1]",
                                    "b..com", "b.com..", "*.b.com"}) {
        const auto refused =
            parse_search_json(R"({"query":"a","exclude_domains":["ok.example",")" + entry + "\"]}");
        ASSERT_FALSE(refused.ok()) << entry;
        EXPECT_EQ(refused.error().message,
                  "exclude_domains: expected host names such as example.org, not '" + entry + "'");
    }
}

// A form's encoding is read as browsers and curl write it; what is not given counts as absent.
TEST(SearchRequestTest, QueryStrings) {
    EXPECT_EQ(ok(parse_search_query("q=red+kiln%26co")).query.reveal(), "red kiln&co");
    EXPECT_EQ(ok(parse_search_query("query=a&&lane=&page=")).page, 1u);
    EXPECT_EQ(ok(parse_search_query("q=%E7%AA%AF")).query.reveal(), "\xE7\xAA\xAF");
    EXPECT_FALSE(parse_search_query("q=%E7%AA").ok());
    EXPECT_FALSE(parse_search_query("").ok());
}

// Days are read by the one reader that there is: signs are no digits.
TEST(SearchRequestTest, DaysAreDigits) {
    for (const std::string_view day : {"-000-01-01", "+026-01-01", "2026-02-30", "2026-1-01"}) {
        EXPECT_FALSE(parse_search_query("q=a&freshness=" + std::string(day) + "..2026-12-31").ok())
            << day;
    }
}

// A strategy that is not there is refused with those that are.
TEST(SearchRequestTest, UnknownStrategiesAreRefused) {
    const auto result = parse_search_json(R"({"query":"kiln","strategy":"auto"})");
    ASSERT_FALSE(result.ok());
    for (const char* word : {"strategy", "failover", "merge", "hedge"}) {
        EXPECT_NE(result.error().message.find(word), std::string::npos) << result.error().message;
    }
}

// Every refusal is the caller's, so that no provider and no budget is touched.
TEST(SearchRequestTest, RefusalsBlameTheCaller) {
    for (const char* body :
         {"", "[]", "{", R"({"queri":"a"})", R"({"query":1})", R"({"query":""})"}) {
        const auto result = parse_search_json(body);
        ASSERT_FALSE(result.ok()) << body;
        EXPECT_EQ(result.error().code, Code::kInvalidRequest);
        EXPECT_EQ(result.error().blame, Blame::kCaller);
    }
}

}  // namespace
}  // namespace sluice::surface
