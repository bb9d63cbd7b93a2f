// Calls with keys that have a quota, and the store that has to know of them first.
#include "support/fake_key_store.h"
#include "support/run_task.h"
#include "support/web_harness.h"
#include "web/metrics.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>

namespace sluice::web {
namespace {

using namespace std::chrono_literals;
using test::WebHarness;

class KeyUsageTest : public testing::Test {
 protected:
    explicit KeyUsageTest(access::BudgetConfig budgets = {})
        : h(test::harness_config(), std::move(budgets)) {
        h.keys.keep_usage(&usage);
    }
    ~KeyUsageTest() override {
        store.away = false;
        EXPECT_TRUE(test::run_task(h.io, h.clock, usage.stop()).ok());
    }

    std::string add(std::optional<KeyQuota> quota) {
        NewKey key;
        key.provider = "serper";
        key.secret = Secret("serper-secret-" + std::to_string(++made));
        key.quota = quota;
        const Result<KeyRecord> added = test::run_task(h.io, h.clock, store.add(std::move(key)));
        h.keys.apply(test::run_task(h.io, h.clock, store.load(0)).value());
        return added->id;
    }
    bool is_served(std::string query) {
        return std::holds_alternative<Served>(h.search(h.request(std::move(query))));
    }
    Error refused(std::string query) {
        const SearchReply reply = h.search(h.request(std::move(query)));
        const auto* no = std::get_if<Failure>(&reply);
        EXPECT_NE(no, nullptr);
        return no == nullptr ? Error{} : no->error;
    }

    WebHarness h;
    test::FakeKeyStore store{h.clock};
    KeyUsageWriter usage{h.io.get_executor(), h.keys.runtime(), store, h.clock, h.log, h.metrics};
    int made = 0;
};

// The store knows of a call before the provider does, and of further ones: as long as the block has
// room no call waits for a write.
TEST_F(KeyUsageTest, ABlockOfCallsIsWrittenAtOnce) {
    const std::string id = add(KeyQuota{10'000, KeyQuota::Per::kDay, {}});
    h.http.set_responder([&](const io::ClientRequest& request) {
        const auto row = store.usage_of(id);
        EXPECT_TRUE(row && row->used >= static_cast<std::int64_t>(h.http.calls()));
        return test::ok_answer(request);
    });
    for (int i = 0; i < 17; ++i) {
        EXPECT_TRUE(is_served("query " + std::to_string(i)));
    }
    EXPECT_EQ(store.usage_writes, 1U);
    EXPECT_TRUE(is_served("one more"));
    EXPECT_EQ(store.usage_writes, 2U);
}

// A key without a quota asks nobody.
TEST_F(KeyUsageTest, WithoutAQuotaNobodyWaits) {
    add({});
    store.away = true;
    EXPECT_TRUE(is_served("a query"));
    EXPECT_EQ(store.usage_writes, 0U);
}

// What can't be counted is not made with that key, but with another one; the quota gets it back.
TEST_F(KeyUsageTest, WithoutTheStoreAKeyWithAQuotaIsPassedOver) {
    const std::string limited = add(KeyQuota{10, KeyQuota::Per::kDay, {}});
    store.away = true;
    const Error error = refused("a query");
    EXPECT_EQ(error.code, Code::kNoUsableKey);
    EXPECT_NE(error.message.find("budgets.on_store_loss is refuse"), std::string::npos)
        << error.message;
    EXPECT_EQ(h.http.calls(), 0U);
    store.away = false;
    add({});
    store.away = true;
    EXPECT_TRUE(is_served("another query"));
    for (const KeyReport& report : test::run_task(h.io, h.clock, h.keys.report())) {
        EXPECT_EQ(report.health.used, report.record.id == limited ? 0 : 1);
    }
    // Somebody has to look whether it is back.
    store.away = false;
    EXPECT_TRUE(test::run_task(h.io, h.clock, usage.save()).ok());
    EXPECT_EQ(test::run_task(h.io, h.clock, h.keys.report_one(limited))->health.in_flight, 0U);
}

// A store that takes too long is as good as none: nobody waits longer for it than for money.
TEST_F(KeyUsageTest, ASlowStoreIsNotWaitedForLong) {
    add(KeyQuota{10, KeyQuota::Per::kDay, {}});
    store.write_time = 2s;
    const Instant before = h.clock.now();
    EXPECT_EQ(refused("a query").code, Code::kNoUsableKey);
    EXPECT_EQ(h.clock.now() - before, Duration(guard::kMaxWriteWait));
    EXPECT_EQ(h.metrics.gauge(kKeyUsageLost).value(), 1);
    EXPECT_EQ(refused("another query").code, Code::kNoUsableKey);
    EXPECT_EQ(h.sink.count(obs::Level::kWarn, "key_usage_lost"), 1U);
    h.run_for(5s);
    EXPECT_TRUE(is_served("later")) << "the write was done after all";
    EXPECT_EQ(h.metrics.gauge(kKeyUsageLost).value(), 0);
    EXPECT_EQ(h.sink.count(obs::Level::kInfo, "key_usage_back"), 1U);
}

class AllowedKeyUsageTest : public KeyUsageTest {
 protected:
    AllowedKeyUsageTest() : KeyUsageTest(allowed()) {}
    static access::BudgetConfig allowed() {
        access::BudgetConfig config;
        config.on_store_loss = access::OnStoreLoss::kAllow;
        return config;
    }
};

// With budgets.on_store_loss = "allow" the calls are made, and written when the store is back.
TEST_F(AllowedKeyUsageTest, CallsAreMadeAllTheSame) {
    const std::string id = add(KeyQuota{10, KeyQuota::Per::kDay, {}});
    store.away = true;
    EXPECT_TRUE(is_served("a query"));
    EXPECT_TRUE(is_served("another query"));
    store.away = false;
    EXPECT_TRUE(test::run_task(h.io, h.clock, usage.save()).ok());
    EXPECT_EQ(store.usage_of(id)->used, 2);
}

// A call that waited for the store past the end of its period is counted in the next one, before it
// is made.
TEST_F(KeyUsageTest, AWaitOverMidnightCountsInTheNewDay) {
    using std::chrono::floor;
    const WallTime midnight = floor<std::chrono::days>(h.clock.wall_now()) + std::chrono::days(1);
    h.clock.set_wall(midnight - 50ms);
    const std::string id = add(KeyQuota{10, KeyQuota::Per::kDay, {}});
    store.write_time = 100ms;
    EXPECT_TRUE(is_served("a query"));
    EXPECT_GE(h.clock.wall_now(), midnight);
    const auto row = store.usage_of(id);
    ASSERT_TRUE(row);
    EXPECT_EQ(row->period_start, midnight);
    EXPECT_EQ(row->used, 1);
}

}  // namespace
}  // namespace sluice::web
