// Trying a key: it goes through the provider's rate and the budgets like any call, and teaches
// nothing about the key or the provider.
#include "web/key_trial.h"

#include "support/run_task.h"
#include "support/web_harness.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <gtest/gtest.h>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace sluice::web {
namespace {

using namespace std::chrono_literals;
using access::Period;
using test::WebHarness;

constexpr std::int64_t kSerperPrice = 1'000;

class KeyTrialTest : public testing::Test {
 protected:
    void with(WebConfig config, access::BudgetConfig budgets = {}) {
        h = std::make_unique<WebHarness>(std::move(config), std::move(budgets));
        trial = std::make_unique<KeyTrial>(h->keys, h->budgets, h->web.providers(), h->http,
                                           h->egress, h->clock, [this] { return h->web.config(); });
    }
    Result<KeyTest> try_key() {
        std::string id = h->stored_keys.at(0).record.id;
        return test::run_task(h->io, h->clock, trial->run(std::move(id), access::Payer{}));
    }
    access::Spent spent(std::string_view provider) {
        return h->budgets.provider(*find_provider_index(provider)).spent[index_of(Period::kDay)];
    }

    std::unique_ptr<WebHarness> h;
    std::unique_ptr<KeyTrial> trial;
};

WebConfig with_google(std::string engine) {
    WebConfig config = test::harness_config();
    ProviderSettings& google = config.providers.find("google_cse")->second;
    google.enabled = true;
    google.rate.tokens = 0;
    google.engine_id = std::move(engine);
    return config;
}

// A key without an engine of its own is tried with the one of the settings, as searches are.
TEST_F(KeyTrialTest, TheEngineOfTheSettingsIsUsed) {
    with(with_google("engine-1"));
    h->add_key("google_cse", "google-key-number-one");
    h->http.set_responder([](const io::ClientRequest& request) {
        EXPECT_NE(request.url.find("cx=engine-1"), std::string::npos) << request.url;
        test::FakeAnswer answer;
        answer.body = R"({"items":[{"link":"https://a.example/","title":"T"}]})";
        return answer;
    });
    const Result<KeyTest> result = try_key();
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(result->verdict, KeyTest::Verdict::kValid);
}

// Without any engine nothing is sent: the answer would say nothing about the key.
TEST_F(KeyTrialTest, NoEngineIsSaidBeforeTheCall) {
    with(with_google(""));
    h->add_key("google_cse", "google-key-number-one");
    const Result<KeyTest> result = try_key();
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, Code::kConflict);
    EXPECT_NE(result.error().message.find("providers.google_cse.engine_id"), std::string::npos);
    EXPECT_EQ(h->http.calls(), 0U);
}

// A trial is paid for and shows in what was spent; one that the provider refused is free.
TEST_F(KeyTrialTest, ATrialIsPaidFor) {
    with(test::harness_config());
    h->add_key("serper", "serper-key-number-one");
    ASSERT_TRUE(try_key().ok());
    EXPECT_EQ(spent("serper"), (access::Spent{1, 1, kSerperPrice}));
    h->http.set_responder([](const io::ClientRequest&) { return test::status_answer(403); });
    EXPECT_EQ(try_key()->verdict, KeyTest::Verdict::kInvalid);
    EXPECT_EQ(spent("serper"), (access::Spent{1, 1, kSerperPrice}));
}

// With the budget gone a trial says so and sends nothing.
TEST_F(KeyTrialTest, NoMoneyNoTrial) {
    access::BudgetConfig budgets;
    budgets.providers.resize(all_providers().size());
    budgets.providers[*find_provider_index("serper")].calls[index_of(Period::kDay)] = 1;
    with(test::harness_config(), std::move(budgets));
    h->add_key("serper", "serper-key-number-one");
    ASSERT_TRUE(try_key().ok());
    const Result<KeyTest> refused = try_key();
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::kBudgetExhausted);
    EXPECT_NE(refused.error().message.find("budgets.providers.serper"), std::string::npos);
    EXPECT_TRUE(refused.error().retry_after);
    EXPECT_EQ(h->http.calls(), 1U);
}

// It waits for its turn under the provider's rate, and takes it from the searches behind it; when
// no turn comes in time it says so and sends nothing.
TEST_F(KeyTrialTest, ATrialTakesATurn) {
    for (const Millis interval : {3'000ms, 60'000ms}) {
        WebConfig config = test::harness_config();
        config.providers.find("serper")->second.rate = {1, interval};
        with(std::move(config));
        h->add_key("serper", "serper-key-number-one");
        const Instant begun = h->clock.now();
        ASSERT_TRUE(try_key().ok());
        const Result<KeyTest> second = try_key();
        if (interval == 3'000ms) {
            ASSERT_TRUE(second.ok());
            EXPECT_EQ(h->clock.now() - begun, interval);
            EXPECT_EQ(second->latency, 0ms) << "the wait is not the provider's";
        } else {
            ASSERT_FALSE(second.ok());
            EXPECT_EQ(second.error().code, Code::kOverloaded);
            EXPECT_EQ(second.error().retry_after, interval);
            EXPECT_EQ(h->http.calls(), 1U);
        }
    }
}

// Who gives up while the call is being written down has not spent anything: nothing is sent.
TEST_F(KeyTrialTest, GivingUpBeforeTheCallIsFree) {
    with(test::harness_config());
    h->add_key("serper", "serper-key-number-one");
    h->spend_store.write_time = 200ms;
    boost::asio::cancellation_signal signal;
    bool ended = false;
    std::optional<Result<KeyTest>> result;
    boost::asio::co_spawn(
        h->io, store_result(trial->run(h->stored_keys.at(0).record.id, access::Payer{}), result),
        boost::asio::bind_cancellation_slot(signal.slot(),
                                            [&](const std::exception_ptr&) { ended = true; }));
    h->run_for(100ms);
    signal.emit(boost::asio::cancellation_type::terminal);
    h->spend_store.write_time = 0ms;
    h->run_for(1s);
    EXPECT_TRUE(ended);
    EXPECT_FALSE(result);
    EXPECT_EQ(h->http.calls(), 0U);
    EXPECT_EQ(spent("serper"), access::Spent());
}

// However trials end, the key stays where it was and the circuit closed.
TEST_F(KeyTrialTest, NobodyIsPunished) {
    with(test::harness_config());
    h->add_key("serper", "serper-key-number-one");
    for (const int status : {401, 402, 429, 500, 500, 500, 500, 500, 500}) {
        h->http.set_responder(
            [status](const io::ClientRequest&) { return test::status_answer(status); });
        ASSERT_TRUE(try_key().ok());
    }
    EXPECT_EQ(h->key_counts("serper"), KeyCounts{.available = 1});
    EXPECT_EQ(h->web.providers().find("serper")->circuit(h->clock.now()).state,
              guard::CircuitState::kClosed);
}

}  // namespace
}  // namespace sluice::web
