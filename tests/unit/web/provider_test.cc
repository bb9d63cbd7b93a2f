#include "web/provider.h"

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
            .max_domains = 100,
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

struct Row {
    std::string_view name;  // what is expected to be named
    std::function<void(Capabilities&)> lack;
    std::function<void(SearchRequest&)> need;
};

// A constraint is unmet exactly when it is both needed and lacking, and is named for the trace.
TEST(UnmetConstraint, NeedsMeetCapabilities) {
    const Row rows[] = {
        {"query length", [](auto& can) { can.max_query_code_points = 24; }, [](auto&) {}},
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
        {"domain filter", [](auto& can) { can.max_domains = 0; },
         [](auto& need) { need.include_domains = {"a.example"}; }},
        {"domain filter", [](auto& can) { can.max_domains = 1; },
         [](auto& need) { need.exclude_domains = {"a.example", "b.example"}; }},
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
        EXPECT_EQ(unmet_constraint(lacking, needing), row.name);
        EXPECT_EQ(unmet_constraint(everything(), needing), std::nullopt);
        if (row.name != "query length") {
            EXPECT_EQ(unmet_constraint(lacking, usual_request()), std::nullopt);
        }
    }
}

// Limits are inclusive, and what asks for nothing needs nothing.
TEST(UnmetConstraint, Limits) {
    Capabilities can = everything();
    can.max_query_code_points = 25;  // the usual query's
    can.max_page = 2;
    can.max_domains = 2;
    can.countries = kTwoCountries;
    can.safe_search = false;
    can.max_results = 1;  // more are cut, not refused
    SearchRequest request = usual_request();
    request.page = 2;
    request.include_domains = {"a.example", "b.example"};
    request.exclude_domains = {"c.example", "d.example"};
    request.country = "de";
    request.safe_search = SafeSearch::kOff;
    EXPECT_EQ(unmet_constraint(can, request), std::nullopt);
}

// Code points are counted, not bytes: other scripts may ask as much as Latin.
TEST(UnmetConstraint, CountsCodePoints) {
    Capabilities can;
    can.max_query_code_points = 2;
    SearchRequest request;
    request.query = QueryText("\xE9\x87\x89\xF0\x9F\x8F\xBA");
    EXPECT_EQ(unmet_constraint(can, request), std::nullopt);
    request.query = QueryText("abc");
    EXPECT_EQ(unmet_constraint(can, request), "query length");
}

}  // namespace
}  // namespace sluice::web
