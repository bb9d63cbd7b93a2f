// Who may see what was spent, and how it is shown.
#include "surface/rest/usage.h"

#include "request.h"
#include "support/web_harness.h"
#include "surface/rest/ops.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

namespace sluice::surface {
namespace {

using io::Method;

const UtcDay kToday = std::chrono::sys_days(std::chrono::year(2026) / 11 / 30);

class UsageDoorTest : public testing::Test {
 protected:
    UsageDoorTest() { h.add_key("serper", "serper-key-number-one"); }

    // A token of these scopes; its text.
    std::string add_token(access::Scopes scopes) {
        access::TokenText text = access::make_token_text(random);
        access::StoredToken token;
        token.record.id = text.id;
        token.record.scopes = scopes;
        token.digest = text.digest;
        tokens.push_back(token);
        h.tokens.reload(tokens);
        return std::string(text.token.reveal());
    }
    io::HttpResponse ask(std::string query, const std::string& token = {}) {
        TestRequest request(Method::kGet, "/v1/usage" + query, h.clock.now());
        if (!token.empty()) {
            request.header("Authorization", "Bearer " + token);
        }
        return finished(door.get(request.get()), h.io, h.clock);
    }
    std::string_view id_of(const std::string& token) { return access::parse_token(token)->id; }

    test::WebHarness h;
    SystemRandom random;
    std::vector<access::StoredToken> tokens;
    UsageDoor door{h.budgets, h.access, h.clock};
    JsonReader reader;
};

// Without a token on loopback everything is open, and the report is exact.
TEST_F(UsageDoorTest, ShowsWhatWasSpent) {
    h.search(h.request("a"));
    h.search(h.request("b"));
    const io::HttpResponse response = ask("");
    ASSERT_EQ(response.status, 200);
    EXPECT_EQ(body_of(response),
              R"({"object":"usage","by":"provider","since":"2025-12-03","until":"2026-01-01",)"
              R"("rows":[{"provider":"serper","calls":2,"units":2,"cost_usd":0.002}],)"
              R"("sum":{"calls":2,"units":2,"cost_usd":0.002},"truncated":false})"
              "\n");
    EXPECT_NE(
        body_of(ask("?by=day&provider=serper")).find(R"("rows":[{"day":"2026-01-01","calls":2)"),
        std::string::npos);
    EXPECT_NE(body_of(ask("?by=key")).find(R"("provider":"serper")"), std::string::npos);
    EXPECT_NE(body_of(ask("?by=token")).find(R"({"token":"")"), std::string::npos);
    EXPECT_NE(body_of(ask("?since=2026-01-02&until=2026-01-02")).find(R"("rows":[])"),
              std::string::npos);
}

// A token sees what it spent itself, by day, and nothing of anybody else's.
TEST_F(UsageDoorTest, ATokenSeesItsOwn) {
    const std::string admin = add_token({access::Scope::kAdmin});
    const std::string mine = add_token({access::Scope::kSearch});
    const std::string other = add_token({access::Scope::kSearch});
    h.search(h.request("a"));  // of nobody's token
    EXPECT_NE(body_of(ask("", mine)).find(R"("by":"day")"), std::string::npos);
    EXPECT_NE(body_of(ask("", mine)).find(R"("calls":0)"), std::string::npos);
    for (const std::string& query :
         {std::string("?by=provider"), std::string("?by=key"), std::string("?by=day&provider=exa"),
          "?by=token&token=" + std::string(id_of(other))}) {
        EXPECT_EQ(ask(query, mine).status, 403) << query;
    }
    EXPECT_EQ(ask("?by=token&token=" + std::string(id_of(mine)), mine).status, 200);
    EXPECT_EQ(ask("?by=provider", admin).status, 200);
    // As soon as a token exists administration needs one.
    EXPECT_EQ(ask("?by=provider").status, 403);
}

// A question that can't be meant is told from one that can; nothing is guessed.
TEST_F(UsageDoorTest, BadQuestionsAreRefused) {
    for (const std::string_view query :
         {"?by=providers", "?by=gateway", "?since=yesterday", "?since=2026-13-01",
          "?sinc=2026-01-01", "?since=2026-01-02&until=2026-01-01", "?by=day&token=a&key=b",
          "?by=provider&token=a", "?by=day&by=day", "?by=%ff", "?token="}) {
        const io::HttpResponse response = ask(std::string(query));
        EXPECT_EQ(response.status, 400) << query;
    }
    EXPECT_NE(body_of(ask("?sinc=2026-01-01")).find("did you mean 'since'?"), std::string::npos);
}

// A report that could not be complete is none.
TEST_F(UsageDoorTest, NoReportWithoutAStore) {
    h.search(h.request("a"));
    h.spend_store.away = true;
    h.search(h.request("b"));
    EXPECT_EQ(ask("").status, 503);
}

// The status has what was spent in each period, and the limits where there are any.
TEST_F(UsageDoorTest, TheStatusHasSpending) {
    access::BudgetConfig budgets;
    budgets.providers.resize(web::all_providers().size());
    budgets.providers[*web::find_provider_index("serper")]
        .micro_usd[index_of(access::Period::kDay)] = 2'500'000;
    h.budgets.reconfigure(budgets);
    h.search(h.request("a"));
    OpsDoor ops(h.web, h.access, nullptr, h.metrics, h.clock, "1.2.3", TitlesServed::kYes);
    const TestRequest request(Method::kGet, "/v1/status", h.clock.now());
    const std::string body = body_of(finished(ops.status(request.get()), h.io, h.clock));
    const JsonValue root = reader.parse(body).value();
    const auto spend = root.find("providers", "serper", "spend");
    ASSERT_TRUE(spend);
    EXPECT_EQ(spend->find("month", "calls")->as_integer(), 1);
    EXPECT_EQ(spend->find("day", "cost_usd")->as_number(), 0.001);
    EXPECT_EQ(spend->find("limits", "usd_day")->as_number(), 2.5);
    EXPECT_EQ(root.find("spend", "total", "units")->as_integer(), 1);
    EXPECT_FALSE(root.find("spend", "limits"));
}

// Without dates a report is of the last thirty days, the present one included.
TEST(UsageQueryTest, TheDefaultIsThirtyDays) {
    const UsageRequest request = parse_usage_query("", kToday).value();
    EXPECT_EQ(format_day(request.query.since), "2026-11-01");
    EXPECT_EQ(format_day(request.query.until), "2026-11-30");
}

}  // namespace
}  // namespace sluice::surface
