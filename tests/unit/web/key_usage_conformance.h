// What every KeyRuntime promises of the counts of its keys and of what the store is told: included
// by who includes key_runtime_conformance.h.
#pragma once

#include "guard/write_ahead.h"
#include "key_runtime_conformance.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace sluice::test {

// What was counted before midnight and not made is no call of the new day, which has as many as its
// quota says.
TEST_P(KeyRuntimeConformance, ARefundIsOfItsOwnDay) {
    web::KeyRules r = rules("a");
    r.quota = web::KeyQuota{3, web::KeyQuota::Per::kDay};
    const auto a = runtime->add(std::move(r));
    pick_key();
    const web::QuotaPeriod yesterday = runtime->quota_period(a);
    clock.advance(24h);
    EXPECT_NE(runtime->quota_period(a), yesterday);
    settle(pick_key());
    settle(pick_key());
    settle_not_sent(a, yesterday);
    EXPECT_EQ(health(a).used, 2);
    pick_key();
    const web::QuotaPeriod today = runtime->quota_period(a);
    settle_not_sent(a, today);
    EXPECT_EQ(health(a).used, 2) << "this one was of today";
}

// The same of windows: the call of one that is over does not end the next one.
TEST_P(KeyRuntimeConformance, ARefundIsOfItsOwnWindow) {
    web::KeyRules r = rules("a");
    r.quota = web::KeyQuota{1, web::KeyQuota::Per::kWindow, 1h};
    const auto a = runtime->add(std::move(r));
    pick_key();
    const web::QuotaPeriod first = runtime->quota_period(a);
    clock.advance(90min);
    pick_key();
    settle_not_sent(a, first);
    EXPECT_EQ(health(a).used, 1);
    EXPECT_EQ(pick_none().back_at, clock.now() + 1h);
    settle(a);
}

// Also where a window began and was called off meanwhile.
TEST_P(KeyRuntimeConformance, AWindowThatWasCalledOffIsAnother) {
    web::KeyRules r = rules("a");
    r.quota = web::KeyQuota{2, web::KeyQuota::Per::kWindow, 1h};
    const auto a = runtime->add(std::move(r));
    pick_key();
    const web::QuotaPeriod called_off = runtime->quota_period(a);
    settle_not_sent(a);
    pick_key();
    EXPECT_NE(runtime->quota_period(a), called_off);
    settle(a);
}

// With a quota a call is vouched for by a write, which makes room for further ones; without one
// nobody waits for the store.
TEST_P(KeyRuntimeConformance, TheStoreIsToldAheadOfCalls) {
    web::KeyRules r = rules("a");
    r.quota = web::KeyQuota{10'000, web::KeyQuota::Per::kDay};
    const auto a = runtime->add(std::move(r));
    EXPECT_TRUE(runtime->is_vouched_for(a)) << "nothing was counted";
    settle(pick_key());
    EXPECT_FALSE(runtime->is_vouched_for(a));
    std::vector<web::KeyUsage> rows = runtime->begin_usage_write(web::UsageWrite::kUrgent);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].used, 1 + guard::kMinBlockCalls);
    EXPECT_FALSE(runtime->is_vouched_for(a)) << "it is not written yet";
    runtime->end_usage_write(true);
    for (std::int64_t i = 0; i < guard::kMinBlockCalls; ++i) {
        EXPECT_TRUE(runtime->is_vouched_for(a)) << i;
        settle(pick_key());
    }
    EXPECT_TRUE(runtime->is_vouched_for(a));
    settle(pick_key());
    EXPECT_FALSE(runtime->is_vouched_for(a)) << "the block is used up";
    ASSERT_EQ(write(web::UsageWrite::kUrgent).size(), 1u);
    EXPECT_TRUE(write(web::UsageWrite::kUrgent).empty());
    rows = write_exact();
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].used, 2 + guard::kMinBlockCalls);
    EXPECT_TRUE(runtime->is_vouched_for(a));
    settle(pick_key());
    EXPECT_FALSE(runtime->is_vouched_for(a)) << "the block was given back";

    runtime->remove(a);
    const auto free = add("free");
    settle(pick_key());
    EXPECT_TRUE(runtime->is_vouched_for(free));
    EXPECT_TRUE(write(web::UsageWrite::kUrgent).empty());
    rows = write(web::UsageWrite::kDue);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].used, 1);
}

// A block is a hundredth of a quota at the most, and none is left where that is less than a call.
TEST_P(KeyRuntimeConformance, ABlockIsASmallPartOfAQuota) {
    web::KeyRules r = rules("a");
    r.quota = web::KeyQuota{500, web::KeyQuota::Per::kTotal};
    web::KeyRules small = r;
    small.quota->limit = 99;
    const auto a = runtime->add(std::move(r));
    settle(pick_key());
    EXPECT_EQ(write(web::UsageWrite::kUrgent).at(0).used, 1 + 5);
    runtime->change(a, std::move(small));
    for (int i = 0; i < 6; ++i) {
        settle(pick_key());
    }
    EXPECT_EQ(write(web::UsageWrite::kUrgent).at(0).used, 7);
}

// A write that failed vouches for the lesser figure, and is made again.
TEST_P(KeyRuntimeConformance, AFailedWriteIsMadeAgain) {
    web::KeyRules r = rules("a");
    r.quota = web::KeyQuota{10'000, web::KeyQuota::Per::kDay};
    const auto a = runtime->add(std::move(r));
    settle(pick_key());
    EXPECT_EQ(runtime->begin_usage_write(web::UsageWrite::kUrgent).size(), 1u);
    runtime->end_usage_write(false);
    EXPECT_FALSE(runtime->is_vouched_for(a));
    EXPECT_EQ(write(web::UsageWrite::kUrgent).size(), 1u);
    EXPECT_TRUE(runtime->is_vouched_for(a));
    EXPECT_EQ(runtime->begin_usage_write(web::UsageWrite::kExact).size(), 1u);
    runtime->end_usage_write(false);
    settle(pick_key());
    EXPECT_FALSE(runtime->is_vouched_for(a)) << "nobody knows which figure the store has";
    EXPECT_EQ(write(web::UsageWrite::kDue).size(), 1u);
    EXPECT_TRUE(runtime->is_vouched_for(a));
}

// What the store was told of one day says nothing about the next one.
TEST_P(KeyRuntimeConformance, ANewPeriodIsNotVouchedFor) {
    web::KeyRules r = rules("a");
    r.quota = web::KeyQuota{10'000, web::KeyQuota::Per::kDay};
    const auto a = runtime->add(std::move(r));
    settle(pick_key());
    write(web::UsageWrite::kUrgent);
    clock.advance(24h);
    settle(pick_key());
    EXPECT_FALSE(runtime->is_vouched_for(a));
    // Nor does a write that began on the day before.
    const std::vector<web::KeyUsage> rows = runtime->begin_usage_write(web::UsageWrite::kUrgent);
    ASSERT_EQ(rows.size(), 1u);
    clock.advance(24h);
    settle(pick_key());
    runtime->end_usage_write(true);
    EXPECT_FALSE(runtime->is_vouched_for(a));
}

// A key that nobody uses gives its block back; one that is used keeps it.
TEST_P(KeyRuntimeConformance, AnIdleKeyGivesItsBlockBack) {
    web::KeyRules r = rules("a");
    r.quota = web::KeyQuota{10'000, web::KeyQuota::Per::kTotal};
    const auto a = runtime->add(std::move(r));
    settle(pick_key());
    write(web::UsageWrite::kDue);
    clock.advance(59s);
    EXPECT_TRUE(write(web::UsageWrite::kDue).empty());
    settle(pick_key());
    EXPECT_EQ(write(web::UsageWrite::kDue).size(), 1u);
    clock.advance(59s);
    EXPECT_TRUE(write(web::UsageWrite::kDue).empty());
    clock.advance(1s);
    const std::vector<web::KeyUsage> rows = write(web::UsageWrite::kDue);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].used, 2);
    clock.advance(60s);
    EXPECT_TRUE(write(web::UsageWrite::kDue).empty());
    EXPECT_TRUE(runtime->is_vouched_for(a));
}

// A key that was removed in the middle of its last call, and of a write, is written no more.
TEST_P(KeyRuntimeConformance, ARemovedKeyIsNotWritten) {
    web::KeyRules r = rules("a");
    r.quota = web::KeyQuota{10'000, web::KeyQuota::Per::kDay};
    const auto a = runtime->add(r);
    pick_key();
    EXPECT_EQ(runtime->begin_usage_write(web::UsageWrite::kUrgent).size(), 1u);
    runtime->remove(a);
    clock.advance(24h);
    runtime->count_another_call(a);
    runtime->end_usage_write(true);
    EXPECT_TRUE(write(web::UsageWrite::kDue).empty());
    settle(a);
    // Another key in its place has a count of its own.
    r.id = "b";
    const auto b = runtime->add(std::move(r));
    settle(pick_key());
    EXPECT_FALSE(runtime->is_vouched_for(b));
    EXPECT_EQ(write(web::UsageWrite::kUrgent).at(0).id, "b");
}

// What was used before a restart counts, unless its period is over.
TEST_P(KeyRuntimeConformance, UsageSurvivesARestart) {
    const auto limited = [] {
        web::KeyRules r = rules("a");
        r.quota = web::KeyQuota{2, web::KeyQuota::Per::kDay};
        return r;
    };
    runtime->add(limited());
    settle(pick_key());
    settle(pick_key());
    const std::vector<web::KeyUsage> usage = write_exact();
    ASSERT_EQ(usage.size(), 1u);
    EXPECT_EQ(usage[0].id, "a");
    EXPECT_EQ(usage[0].used, 2);
    EXPECT_TRUE(write_exact().empty()) << "nothing changed since";

    restart({});
    const auto again = runtime->add(limited());
    runtime->restore_usage(again, usage[0]);
    EXPECT_EQ(health(again).used, 2);
    EXPECT_EQ(pick_none().why, web::NoKey::Why::kResting);

    // Counted before midnight and asked for after it: no call of the new day.
    runtime = nullptr;
    restart({});
    const auto late = runtime->add(limited());
    settle(pick_key());
    clock.advance(24h);
    const std::vector<web::KeyUsage> after_midnight = write_exact();
    ASSERT_EQ(after_midnight.size(), 1u);
    EXPECT_EQ(after_midnight[0].used, 0);
    EXPECT_EQ(health(late).used, 0);

    restart({});
    const auto next_day = runtime->add(limited());
    runtime->restore_usage(next_day, usage[0]);
    EXPECT_EQ(health(next_day).used, 0);
    EXPECT_EQ(pick_key(), next_day);
}

}  // namespace sluice::test
