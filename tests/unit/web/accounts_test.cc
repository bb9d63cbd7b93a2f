// Keys of one account at a provider: what hits the account hits all of them, whether the label is
// their own or their provider's setting.
#include "replies.h"
#include "support/web_harness.h"
#include "web/search.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace sluice::web {
namespace {

using test::FakeAnswer;
using test::WebHarness;

constexpr std::string_view kNoCredits = R"({"error":"no more","tag":"NO_MORE_CREDITS"})";

WebConfig exa_alone(std::string account) {
    WebConfig config = test::harness_config();
    config.route_fast = {"exa"};
    ProviderSettings& exa = config.providers.find("exa")->second;
    exa.account = std::move(account);
    exa.rate.tokens = 0;
    return config;
}

// The first call finds the account without credits; every other one is answered.
void spend_credits_at_first_call(WebHarness& h) {
    h.http.set_responder([&h](const io::ClientRequest&) {
        if (h.http.calls() == 1) {
            return test::status_answer(402, std::string(kNoCredits));
        }
        FakeAnswer answer;
        answer.body = R"({"results":[{"url":"https://a.example/","title":"T"}]})";
        return answer;
    });
}

// Keys of the environment name no account: with the setting they share their team's penalties, so
// the second one is not spent on the same refusal.
TEST(Accounts, TheSettingMakesKeysShareAPenalty) {
    WebHarness h(exa_alone("team"));
    h.add_key("exa", "exa-key-number-one");
    h.add_key("exa", "exa-key-number-two");
    spend_credits_at_first_call(h);
    failed(h.search(h.request("a")));
    EXPECT_EQ(h.http.calls(), 1U);
    EXPECT_EQ(h.key_counts("exa"), KeyCounts{.exhausted = 2});
}

// Without it nothing is known about other keys, and they are tried.
TEST(Accounts, WithoutItOnlyTheKeyRests) {
    WebHarness h(exa_alone(""));
    h.add_key("exa", "exa-key-number-one");
    h.add_key("exa", "exa-key-number-two");
    spend_credits_at_first_call(h);
    served(h.search(h.request("a")));
    EXPECT_EQ(h.http.calls(), 2U);
    EXPECT_EQ(h.key_counts("exa"), (KeyCounts{.available = 1, .exhausted = 1}));
}

// The label of a key itself goes before the setting.
TEST(Accounts, OwnLabelsComeFirst) {
    WebHarness h(exa_alone("team"));
    h.add_key("exa", "exa-key-number-one");
    h.add_key("exa", "exa-key-number-two");
    h.stored_keys[1].record.account = "another team";
    h.apply_keys();
    spend_credits_at_first_call(h);
    served(h.search(h.request("a")));
    EXPECT_EQ(h.key_counts("exa"), (KeyCounts{.available = 1, .exhausted = 1}));
}

// A reload puts keys into an account, and takes them out of it, without forgetting their rests.
TEST(Accounts, TheSettingIsLive) {
    WebHarness h(exa_alone(""));
    h.add_key("exa", "exa-key-number-one");
    h.add_key("exa", "exa-key-number-two");
    h.add_key("exa", "exa-key-number-three");
    h.rest_key("exa", KeyStatus::kCooling, std::chrono::seconds(60));
    h.keys.set_default_accounts(exa_alone("team").default_accounts());
    EXPECT_EQ(h.key_counts("exa"), (KeyCounts{.available = 2, .cooling = 1}));
    spend_credits_at_first_call(h);
    failed(h.search(h.request("a")));
    EXPECT_EQ(h.key_counts("exa"), KeyCounts{.exhausted = 3});
}

}  // namespace
}  // namespace sluice::web
