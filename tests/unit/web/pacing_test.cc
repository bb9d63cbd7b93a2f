// What a provider's own count of our calls leads to: moments of patience for a pace, a long rest
// for a quota, and blame for nobody who is not to blame.
#include "web/pacing.h"

#include "replies.h"
#include "support/web_harness.h"
#include "web/metrics.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::web {
namespace {

using namespace std::chrono_literals;

RateWindow window(Millis length, std::int64_t limit, std::int64_t remaining, Millis reset) {
    RateWindow made;
    made.length = length;
    made.limit = limit;
    made.remaining = remaining;
    made.reset = reset;
    return made;
}

constexpr Millis kMonth = std::chrono::hours(24 * 30);

// Room in every window asks for nothing.
TEST(PacingTest, RoomAsksForNothing) {
    EXPECT_FALSE(rest_by_pace({}));
    const std::vector<RateWindow> windows{window(1s, 1, 1, 1s), window(kMonth, 2000, 5, 389223s)};
    EXPECT_FALSE(rest_by_pace(windows));
}

// A pace that is reached lets the key rest for moments; the quota is untouched.
TEST(PacingTest, PaceIsAShortRest) {
    const std::vector<RateWindow> windows{window(1s, 1, 0, 1s),
                                          window(kMonth, 2000, 1977, 389223s)};
    const auto rest = rest_by_pace(windows);
    ASSERT_TRUE(rest);
    EXPECT_EQ(rest->status, KeyStatus::kCooling);
    EXPECT_EQ(rest->time, 1s);
}

// A quota that is used up exhausts the key until the window begins anew, whatever the pace says.
TEST(PacingTest, QuotaIsALongRest) {
    const std::vector<RateWindow> windows{window(1s, 1, 0, 1s), window(kMonth, 2000, 0, 389223s)};
    const auto rest = rest_by_pace(windows);
    ASSERT_TRUE(rest);
    EXPECT_EQ(rest->status, KeyStatus::kExhausted);
    EXPECT_EQ(rest->time, 389223s);
}

// A single window is judged by its length, not by being the only one.
TEST(PacingTest, OneWindowIsJudgedByItsLength) {
    EXPECT_EQ(rest_by_pace(std::vector<RateWindow>{window(1s, 50, 0, 1s)})->status,
              KeyStatus::kCooling);
    EXPECT_EQ(rest_by_pace(std::vector<RateWindow>{window(kMonth, 50, 0, 60s)})->status,
              KeyStatus::kExhausted);
}

// What an answer says is not believed beyond reason: no limit is no limit, a pace never rests
// longer than its window, a quota never longer than a month.
TEST(PacingTest, AbsurdWindowsAreBounded) {
    EXPECT_FALSE(rest_by_pace(std::vector<RateWindow>{window(1s, 0, 0, 1s)}));
    EXPECT_EQ(rest_by_pace(std::vector<RateWindow>{window(1s, 5, -3, 9000s)})->time, 1s);
    EXPECT_EQ(rest_by_pace(std::vector<RateWindow>{window(1s, 5, 0, -5s)})->time, 1ms);
    EXPECT_EQ(rest_by_pace(std::vector<RateWindow>{window(0ms, 5, 0, 9000s)})->time, 1ms);
    EXPECT_EQ(rest_by_pace(std::vector<RateWindow>{window(kMonth, 5, 0, Millis::max())})->time,
              kLongestWindow);
}

// Of two rests the one that ends later counts.
TEST(PacingTest, LongerRestCounts) {
    const KeyRest pace{KeyStatus::kCooling, 1s, Reach::kKey};
    const KeyRest refused{KeyStatus::kQuarantined, 900s, Reach::kAccount};
    EXPECT_EQ(longer(pace, refused)->status, KeyStatus::kQuarantined);
    EXPECT_EQ(longer(refused, pace)->status, KeyStatus::kQuarantined);
    EXPECT_EQ(longer(std::nullopt, pace)->status, KeyStatus::kCooling);
    EXPECT_FALSE(longer(std::nullopt, std::nullopt));
}

// Through the whole search, with a provider that counts our calls in its headers.
class PacedSearchTest : public testing::Test {
 protected:
    void SetUp() override {
        WebConfig config = test::harness_config();
        config.route_fast = {"brave"};
        config.providers.find("brave")->second.rate.tokens = 0;
        h.web.reconfigure(config);
        h.add_key("brave", "brave-key-number-one");
        h.add_key("brave", "brave-key-number-two");
    }
    // What is left of this second and of this month.
    void left(std::string remaining) {
        h.http.set_responder([remaining](const io::ClientRequest&) {
            test::FakeAnswer answer;
            answer.body = R"({"type":"search","query":{"original":"q"},"web":{"results":[
                {"title":"T","url":"https://a.example/1","description":"d"}]}})";
            answer.headers.emplace_back("x-ratelimit-limit", "1, 2000");
            answer.headers.emplace_back("x-ratelimit-policy", "1;w=1, 2000;w=2592000");
            answer.headers.emplace_back("x-ratelimit-remaining", remaining);
            answer.headers.emplace_back("x-ratelimit-reset", "1, 389223");
            return answer;
        });
    }
    Attempt ask() {
        const SearchReply reply = h.search(h.request("query " + std::to_string(++searches_)));
        return served(reply).attempts.at(0);
    }
    test::WebHarness h;

 private:
    int searches_ = 0;
};

// A key that has had its call of this second is not asked again in it: first the other key is, and
// then the search waits for the first that is free. Nobody is penalised.
TEST_F(PacedSearchTest, KeysTakeTurnsAndThenTheSearchWaits) {
    left("0, 1977");
    const Attempt first = ask();
    const Attempt second = ask();
    EXPECT_NE(first.key_id, second.key_id);
    EXPECT_EQ(second.waited, 0ms);
    const Attempt third = ask();
    EXPECT_EQ(third.waited, 1000ms);
    EXPECT_EQ(third.outcome, Outcome::kSuccess);
    EXPECT_FALSE(h.sink.contains("key_penalised"));
    EXPECT_EQ(h.metrics.counter(kKeyPaces, {"brave"}).value(), 3.0);
}

// A key whose month is used up is exhausted until the month is over, though its answer was good.
TEST_F(PacedSearchTest, SpentMonthExhaustsTheKey) {
    left("1, 0");
    EXPECT_EQ(ask().outcome, Outcome::kSuccess);
    EXPECT_EQ(h.key_counts("brave").exhausted, 1u);
    EXPECT_TRUE(h.sink.contains("key_penalised"));
    h.clock.advance(389222s);
    EXPECT_EQ(h.key_counts("brave").exhausted, 1u);
    h.clock.advance(1s);
    EXPECT_EQ(h.key_counts("brave").exhausted, 0u);
}

}  // namespace
}  // namespace sluice::web
