// How a change of the store comes into force, and what holds while the store is away.
#include "web/key_watch.h"

#include "support/fake_key_store.h"
#include "support/run_task.h"
#include "support/web_harness.h"
#include "web/metrics.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>

namespace sluice::web {
namespace {

using namespace std::chrono_literals;
using test::WebHarness;

class KeyWatchTest : public testing::Test {
 protected:
    KeyWatchTest() {
        h.keys.keep_usage(&usage);
        boost::asio::co_spawn(
            h.io, watch.run(),
            boost::asio::bind_cancellation_slot(stop.slot(), [](const std::exception_ptr&) {}));
        h.run();
    }
    ~KeyWatchTest() override {
        stop.emit(boost::asio::cancellation_type::terminal);
        h.run();
    }

    void add_elsewhere(std::string secret, std::optional<KeyQuota> quota = {}) {
        NewKey key;
        key.provider = "serper";
        key.secret = Secret(std::move(secret));
        key.quota = quota;
        boost::asio::co_spawn(h.io, ignore(store.add(std::move(key))),
                              [](const std::exception_ptr&) {});
        h.run();
    }
    static Task<void> ignore(Task<Result<KeyRecord>> task) {
        const auto result = co_await std::move(task);
        EXPECT_TRUE(result.ok());
    }
    static Task<Result<std::vector<KeyReport>>> as_result(Task<std::vector<KeyReport>> task) {
        co_return co_await std::move(task);
    }
    double gauge(const std::string& status) {
        return h.metrics.gauge(kKeys, {"serper", status}).value();
    }

    WebHarness h;
    test::FakeKeyStore store{h.clock};
    KeyWatch watch{store, h.keys, h.clock, h.log, h.metrics};
    KeyUsageWriter usage{h.io.get_executor(), h.keys.runtime(), store, h.clock, h.log, h.metrics};
    boost::asio::cancellation_signal stop;
};

// A key that another process added is used within two seconds.
TEST_F(KeyWatchTest, SeesWhatOthersDid) {
    add_elsewhere("serper-secret-1");
    EXPECT_EQ(h.keys.size(), 0u);
    h.run_for(2s);
    EXPECT_EQ(h.keys.size(), 1u);
    EXPECT_EQ(gauge("available"), 1.0);
    h.rest_key("serper", KeyStatus::kCooling, 30s);
    h.run_for(1s);
    EXPECT_EQ(gauge("available"), 0.0);
    EXPECT_EQ(gauge("cooling"), 1.0);
}

// Who is told of a change looks at once, also when told in the middle of looking.
TEST_F(KeyWatchTest, ANoticeIsFollowedAtOnce) {
    add_elsewhere("serper-secret-1");
    watch.changed();
    h.run();
    EXPECT_EQ(h.keys.size(), 1u);
    add_elsewhere("serper-secret-2");
    watch.changed();
    watch.changed();
    h.run();
    EXPECT_EQ(h.keys.size(), 2u);
}

// A store that was put back to where it was before is read again, all of it: what was added since
// is gone, and what was removed since is back. So it is when it came to the same number again on
// another way, which nobody sees who only counts.
TEST_F(KeyWatchTest, AStoreThatWentBackIsReadAgain) {
    add_elsewhere("serper-secret-1");
    const test::FakeKeyStore backup(h.clock, store);
    add_elsewhere("serper-secret-2");
    h.run_for(1s);
    EXPECT_EQ(h.keys.size(), 2u);
    store.become(backup);
    h.run_for(1s);
    EXPECT_EQ(h.keys.size(), 1u);

    add_elsewhere("serper-secret-3");
    h.run_for(1s);
    EXPECT_EQ(h.keys.size(), 2u);
    store.become(backup);
    add_elsewhere("serper-secret-4");
    h.run_for(1s);
    const auto reports = test::run_task(h.io, h.clock, as_result(h.keys.report())).value();
    ASSERT_EQ(reports.size(), 2u);
    EXPECT_EQ(reports[0].record.last4, "et-1");
    EXPECT_EQ(reports[1].record.last4, "et-4");
}

// Of two looks at once the slower may have read what is over by then.
TEST_F(KeyWatchTest, WhatWasReadBeforeIsNotInForceAgain) {
    add_elsewhere("serper-secret-1");
    const test::FakeKeyStore backup(h.clock, store);
    add_elsewhere("serper-secret-2");
    store.meanwhile = [this, &backup]() -> Task<Status> {
        store.become(backup);
        return watch.refresh();
    };
    watch.changed();
    h.run();
    EXPECT_EQ(h.keys.size(), 1u);
    EXPECT_FALSE(store.meanwhile);
}

// While the store is away the keys last known are used; that is said once and counted each time,
// and what was counted meanwhile is written when it is back.
TEST_F(KeyWatchTest, OutlivesTheStore) {
    add_elsewhere("serper-secret-1");
    h.run_for(2s);
    store.away = true;
    EXPECT_TRUE(std::holds_alternative<Served>(h.search(h.request("meanwhile"))));
    h.run_for(30s);
    EXPECT_EQ(h.keys.size(), 1u);
    EXPECT_TRUE(h.sink.contains("key_store_failed"));
    EXPECT_NEAR(h.metrics.counter(kKeyStoreFailures).value(), 30.0, 2.0);
    EXPECT_FALSE(watch.store_answers());
    EXPECT_EQ(store.usage_writes, 0u);
    store.away = false;
    h.run_for(2s);
    EXPECT_TRUE(watch.store_answers());
    EXPECT_TRUE(h.sink.contains("key_store_back"));
    EXPECT_EQ(store.usage_writes, 1u);
}

// Counts that could not be written are not lost: they are written with the next.
TEST_F(KeyWatchTest, CountsAreWrittenWhenTheStoreIsBack) {
    add_elsewhere("serper-secret-1");
    h.run_for(2s);
    h.search(h.request("one"));
    store.away = true;
    EXPECT_FALSE(test::run_task(h.io, h.clock, usage.save()).ok());
    store.away = false;
    EXPECT_TRUE(test::run_task(h.io, h.clock, usage.save()).ok());
    const auto set = test::run_task(h.io, h.clock, store.load(0));
    ASSERT_EQ(set->usage.size(), 1u);
    EXPECT_EQ(set->usage[0].used, 1);
}

// What was used counts after a restart; nothing is written while nothing is used.
TEST_F(KeyWatchTest, CountsOutliveTheProcess) {
    add_elsewhere("serper-secret-1", KeyQuota{2, KeyQuota::Per::kDay});
    h.run_for(2s);
    h.search(h.request("one"));
    h.search(h.request("two"));
    h.run_for(2s);
    EXPECT_EQ(store.usage_writes, 2u) << "each before its call: the quota is too small for a block";
    h.run_for(60s);
    EXPECT_EQ(store.usage_writes, 2u);

    WebHarness next;
    KeyWatch after_restart(store, next.keys, next.clock, next.log, next.metrics);
    boost::asio::co_spawn(next.io, after_restart.refresh(), [](auto&&...) {});
    next.run();
    EXPECT_EQ(next.key_counts("serper"), KeyCounts{.exhausted = 1});
}

// The same for a window: what is left of it is left after the restart.
TEST_F(KeyWatchTest, AWindowOutlivesTheProcess) {
    add_elsewhere("serper-secret-1", KeyQuota{1, KeyQuota::Per::kWindow, 1h});
    h.run_for(2s);
    const WallTime begun = h.clock.wall_now();
    h.search(h.request("one"));
    h.run_for(2s);

    WebHarness next;
    next.clock.set_wall(begun + 50min);
    KeyWatch after_restart(store, next.keys, next.clock, next.log, next.metrics);
    boost::asio::co_spawn(next.io, after_restart.refresh(), [](auto&&...) {});
    next.run();
    EXPECT_EQ(next.key_counts("serper"), KeyCounts{.exhausted = 1});
    next.clock.advance(10min);
    EXPECT_EQ(next.key_counts("serper"), KeyCounts{.available = 1});
}

}  // namespace
}  // namespace sluice::web
