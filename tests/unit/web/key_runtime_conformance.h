// What every KeyRuntime promises. An implementation includes this in one test file and instantiates
// the suite, the part in key_usage_conformance.h included, with a stand for itself:
//
//     INSTANTIATE_TEST_SUITE_P(Memory, KeyRuntimeConformance,
//     testing::Values(make_memory_stand));
#pragma once

#include "support/manual_clock.h"
#include "web/key_runtime.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::test {

using namespace std::chrono_literals;

// Where an implementation is tried.
class KeyRuntimeStand {
 public:
    virtual ~KeyRuntimeStand() = default;
    // One that knows of no key. The one before is not used any more.
    virtual std::shared_ptr<web::KeyRuntime> make(const web::RuntimeConfig& config) = 0;
    // Returns when `task` has ended.
    virtual void run(Task<void> task) = 0;
};
using KeyRuntimeStandFactory = std::unique_ptr<KeyRuntimeStand> (*)(ManualClock&);

class KeyRuntimeConformance : public testing::TestWithParam<KeyRuntimeStandFactory> {
 protected:
    KeyRuntimeConformance() : stand(GetParam()(clock)) { restart(web::RuntimeConfig{}); }

    void restart(const web::RuntimeConfig& config) {
        runtime = nullptr;
        runtime = stand->make(config);
    }
    void restart(web::Rotation rotation) {
        web::RuntimeConfig config;
        config.rotation = rotation;
        restart(config);
    }

    static web::KeyRules rules(std::string id, web::ProviderIndex provider = 0) {
        web::KeyRules rules;
        rules.id = std::move(id);
        rules.provider = provider;
        return rules;
    }

    web::KeyIndex add(std::string id) { return runtime->add(rules(std::move(id))); }

    web::Pick pick(std::vector<web::KeyIndex> tried = {}, web::ProviderIndex provider = 0) {
        web::PickStart start = runtime->pick(provider, tried);
        if (auto* ready = std::get_if<web::Pick>(&start)) {
            return *ready;
        }
        return run(std::get<Task<web::Pick>>(std::move(start)));
    }
    std::vector<web::KeyUsage> write(web::UsageWrite what) {
        std::vector<web::KeyUsage> rows = runtime->begin_usage_write(what);
        runtime->end_usage_write(true);
        return rows;
    }
    std::vector<web::KeyUsage> write_exact() { return write(web::UsageWrite::kExact); }
    web::KeyIndex pick_key(std::vector<web::KeyIndex> tried = {}) {
        const web::Pick picked = pick(std::move(tried));
        if (!std::holds_alternative<web::KeyIndex>(picked)) {
            ADD_FAILURE() << to_string(std::get<web::NoKey>(picked).why);
            return 0;
        }
        return std::get<web::KeyIndex>(picked);
    }
    web::NoKey pick_none(std::vector<web::KeyIndex> tried = {}, web::ProviderIndex provider = 0) {
        const web::Pick picked = pick(std::move(tried), provider);
        if (std::holds_alternative<web::KeyIndex>(picked)) {
            ADD_FAILURE() << "key " << std::get<web::KeyIndex>(picked);
            return {};
        }
        return std::get<web::NoKey>(picked);
    }

    void settle(web::KeyIndex key, web::Outcome outcome = web::Outcome::kSuccess) {
        web::KeySettlement settlement;
        settlement.outcome = outcome;
        runtime->settle(key, settlement);
    }
    // Of a call that was counted in that period; nothing: in the present one.
    void settle_not_sent(web::KeyIndex key, std::optional<web::QuotaPeriod> period = {}) {
        web::KeySettlement settlement;
        settlement.call = web::KeySettlement::Call::kNotMade;
        settlement.period = period.value_or(runtime->quota_period(key));
        runtime->settle(key, settlement);
    }
    void settle_resting(web::KeyIndex key, web::KeyStatus status, Millis time,
                        web::Reach reach = web::Reach::kKey) {
        web::KeySettlement settlement;
        settlement.outcome = web::Outcome::kRateLimited;
        settlement.rest = web::KeyRest{status, time, reach};
        runtime->settle(key, settlement);
    }
    web::KeyHealth health(web::KeyIndex key) {
        std::vector<web::KeyIndex> one{key};
        return run(runtime->health(std::move(one))).front();
    }
    template <class T>
    T run(Task<T> task) {
        std::optional<T> result;
        stand->run(store_result(std::move(task), result));
        return *std::move(result);
    }

    ManualClock clock;
    std::unique_ptr<KeyRuntimeStand> stand;
    std::shared_ptr<web::KeyRuntime> runtime;
};

// Keys wear evenly: the one with the fewest calls under way, then the one that is so for longest.
TEST_P(KeyRuntimeConformance, LeastUsedTakesTheIdlest) {
    const auto a = add("a");
    const auto b = add("b");
    EXPECT_EQ(pick_key(), a);
    EXPECT_EQ(pick_key(), b);
    EXPECT_EQ(pick_key(), a) << "both carry one call: the one that does so for longer";
    settle(b);
    EXPECT_EQ(pick_key(), b);
    settle(a);
    settle(a);
    settle(b);
    EXPECT_EQ(pick_key(), a) << "both idle: the one that is so for longer";
    settle(a);
    EXPECT_EQ(runtime->counts(0).in_flight, 0u);
}

// One after the other, however long each call takes.
TEST_P(KeyRuntimeConformance, RoundRobinGoesRound) {
    restart(web::Rotation::kRoundRobin);
    const std::vector<web::KeyIndex> keys = {add("a"), add("b"), add("c")};
    for (int round = 0; round < 3; ++round) {
        for (std::size_t i = 0; i < keys.size(); ++i) {
            EXPECT_EQ(pick_key(), keys[i]);
            if (i == 1) {
                settle(keys[1]);
                settle(keys[0]);
            }
        }
    }
}

// Of a hundred turns each key has those that its weight says.
TEST_P(KeyRuntimeConformance, WeightedSharesByWeight) {
    restart(web::Rotation::kWeighted);
    std::vector<std::uint32_t> weights = {1, 1, 3, 5};
    std::vector<web::KeyIndex> keys;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        web::KeyRules r = rules("key" + std::to_string(i));
        r.weight = weights[i];
        keys.push_back(runtime->add(std::move(r)));
    }
    std::vector<int> taken(keys.size());
    for (int i = 0; i < 100; ++i) {
        const auto key = pick_key();
        taken[static_cast<std::size_t>(std::find(keys.begin(), keys.end(), key) - keys.begin())] +=
            1;
        settle(key);
    }
    for (std::size_t i = 0; i < weights.size(); ++i) {
        EXPECT_NEAR(taken[i], static_cast<int>(weights[i]) * 10, 1) << i;
    }
}

// A key that comes back after a rest has its share from then on, and none for the time it missed.
TEST_P(KeyRuntimeConformance, WeightedForgetsMissedTurns) {
    restart(web::Rotation::kWeighted);
    const auto a = add("a");
    web::KeyRules heavy = rules("b");
    heavy.weight = 2;
    const auto b = runtime->add(std::move(heavy));
    while (pick_key() != b) {
    }
    settle_resting(b, web::KeyStatus::kCooling, 60s);
    for (int i = 0; i < 90; ++i) {
        EXPECT_EQ(pick_key(), a);
        settle(a);
    }
    clock.advance(60s);
    int taken = 0;
    for (int i = 0; i < 30; ++i) {
        const auto key = pick_key();
        taken += key == b ? 1 : 0;
        settle(key);
    }
    EXPECT_NEAR(taken, 20, 2);
}

// A key that was tried for this request is not offered again, and the answer says why none is.
TEST_P(KeyRuntimeConformance, SkipsTriedKeys) {
    EXPECT_EQ(pick_none().why, web::NoKey::Why::kNone);
    const auto a = add("a");
    const auto b = add("b");
    EXPECT_EQ(pick_key({a}), b);
    settle(b);
    EXPECT_EQ(pick_none({a, b}).why, web::NoKey::Why::kTried);
    EXPECT_EQ(pick_none({}, 1).why, web::NoKey::Why::kNone) << "another provider's";
}

// A key never carries more calls than it may; with room it is there again at once.
TEST_P(KeyRuntimeConformance, InFlightLimitSaturates) {
    for (const auto rotation :
         {web::Rotation::kLeastUsed, web::Rotation::kRoundRobin, web::Rotation::kWeighted}) {
        restart(rotation);
        web::KeyRules r = rules("a");
        r.max_in_flight = 2;
        const auto a = runtime->add(std::move(r));
        pick_key();
        pick_key();
        EXPECT_EQ(pick_none().why, web::NoKey::Why::kSaturated);
        EXPECT_EQ(health(a).status, web::KeyStatus::kSaturated);
        EXPECT_EQ(runtime->counts(0).saturated, 1u);
        settle(a);
        EXPECT_EQ(health(a).status, web::KeyStatus::kAvailable);
        EXPECT_EQ(pick_key(), a);
    }
}

// The bound of the configuration holds for keys without one of their own, from when it is set.
TEST_P(KeyRuntimeConformance, ConfigurationIsTakenOver) {
    const auto a = add("a");
    const auto b = add("b");
    pick_key();
    web::RuntimeConfig config;
    config.rotation = web::Rotation::kRoundRobin;
    config.max_in_flight = 1;
    runtime->configure(config);
    EXPECT_EQ(health(a).status, web::KeyStatus::kSaturated);
    EXPECT_EQ(pick_key(), b);
    EXPECT_EQ(pick_none().why, web::NoKey::Why::kSaturated);
    EXPECT_EQ(runtime->counts(0).in_flight, 2u);
}

// A penalty ends by itself, and a shorter one does not cut a longer one short.
TEST_P(KeyRuntimeConformance, RestsAreTimeBoxed) {
    const auto a = add("a");
    pick_key();
    pick_key();
    settle_resting(a, web::KeyStatus::kQuarantined, 60s);
    settle_resting(a, web::KeyStatus::kCooling, 10s);
    EXPECT_EQ(runtime->back_at(0), clock.now() + 60s);
    clock.advance(59s);
    EXPECT_EQ(runtime->counts(0).quarantined, 1u);
    const web::NoKey none = pick_none();
    EXPECT_EQ(none.why, web::NoKey::Why::kResting);
    EXPECT_EQ(none.back_at, clock.now() + 1s);
    clock.advance(1s);
    EXPECT_EQ(runtime->back_at(0), std::nullopt);
    EXPECT_EQ(pick_key(), a);
}

// An operator who knows better ends a rest at once.
TEST_P(KeyRuntimeConformance, ARestCanBeCleared) {
    const auto a = add("a");
    pick_key();
    settle_resting(a, web::KeyStatus::kQuarantined, 900s);
    runtime->clear_rest(a);
    EXPECT_EQ(health(a).status, web::KeyStatus::kAvailable);
    EXPECT_EQ(pick_key(), a);
}

// What the provider counts by account rests the whole account and nobody else; without an account
// only the key.
TEST_P(KeyRuntimeConformance, ARestMayReachTheAccount) {
    web::KeyRules first = rules("a");
    web::KeyRules second = rules("b");
    first.account = second.account = "team";
    web::KeyRules foreign = rules("c", 1);
    foreign.account = "team";
    const auto a = runtime->add(std::move(first));
    const auto b = runtime->add(std::move(second));
    const auto other = add("d");
    runtime->add(std::move(foreign));
    ASSERT_EQ(pick_key(), a);
    settle_resting(a, web::KeyStatus::kExhausted, 60s, web::Reach::kAccount);
    EXPECT_EQ(health(b).status, web::KeyStatus::kExhausted);
    EXPECT_EQ(runtime->counts(1).available, 1u) << "the same word at another provider";
    ASSERT_EQ(pick_key(), other);
    settle_resting(other, web::KeyStatus::kExhausted, 60s, web::Reach::kAccount);
    EXPECT_EQ(runtime->counts(0).exhausted, 3u);
}

// The quota is counted when a key is taken, and given back when nothing was sent.
TEST_P(KeyRuntimeConformance, QuotaIsCountedAndRefunded) {
    web::KeyRules r = rules("a");
    r.quota = web::KeyQuota{2, web::KeyQuota::Per::kTotal};
    const auto a = runtime->add(std::move(r));
    pick_key();
    pick_key();
    EXPECT_EQ(pick_none().why, web::NoKey::Why::kResting);
    EXPECT_EQ(health(a).status, web::KeyStatus::kExhausted);
    EXPECT_EQ(health(a).until, std::nullopt) << "a total does not come back";
    settle(a, web::Outcome::kTimeout);
    EXPECT_EQ(pick_none().back_at, std::nullopt);
    settle_not_sent(a);
    EXPECT_EQ(health(a).used, 1);
    EXPECT_EQ(pick_key(), a);
    EXPECT_EQ(health(a).used, 2);
    runtime->clear_rest(a);
    EXPECT_EQ(pick_none().why, web::NoKey::Why::kResting) << "clearing a rest gives no quota";
}

// Days and months of UTC begin anew, the month after a short one and the year's turn included.
TEST_P(KeyRuntimeConformance, QuotaComesBackWithThePeriod) {
    clock.set_wall(std::chrono::sys_days(std::chrono::year(2027) / 1 / 31) + 23h);
    web::KeyRules daily = rules("a");
    daily.quota = web::KeyQuota{1, web::KeyQuota::Per::kDay};
    web::KeyRules monthly = rules("b", 1);
    monthly.quota = web::KeyQuota{1, web::KeyQuota::Per::kMonth};
    const auto a = runtime->add(std::move(daily));
    const auto b = runtime->add(std::move(monthly));
    pick({}, 0);
    pick({}, 1);
    EXPECT_EQ(pick_none({}, 0).back_at, clock.now() + 1h);
    EXPECT_EQ(pick_none({}, 1).back_at, clock.now() + 1h);
    clock.advance(1h);
    EXPECT_EQ(pick_key(), a);
    EXPECT_EQ(std::get<web::KeyIndex>(pick({}, 1)), b);
    EXPECT_EQ(health(b).used, 1);
    EXPECT_EQ(pick_none({}, 0).back_at, clock.now() + 24h);
    EXPECT_EQ(pick_none({}, 1).back_at, clock.now() + 28 * 24h);
}

// A window begins with a call, whatever the time of day, and the next one with the first call after
// it; a call that was not made begins none.
TEST_P(KeyRuntimeConformance, AWindowBeginsWithACall) {
    web::KeyRules r = rules("a");
    r.quota = web::KeyQuota{2, web::KeyQuota::Per::kWindow, 1h};
    const auto a = runtime->add(std::move(r));
    clock.advance(50min);
    settle_not_sent(pick_key());
    clock.advance(20min);
    settle(pick_key());
    clock.advance(40min);
    settle(pick_key());
    EXPECT_EQ(pick_none({}, 0).back_at, clock.now() + 20min);
    EXPECT_EQ(health(a).status, web::KeyStatus::kExhausted);
    clock.advance(19min);
    pick_none({}, 0);
    clock.advance(1min);
    EXPECT_EQ(health(a).used, 0);
    clock.advance(3h);
    settle(pick_key());
    settle(pick_key());
    EXPECT_EQ(pick_none({}, 0).back_at, clock.now() + 1h);
}

// What was counted before a restart holds until its window ends, and not a moment longer; a window
// that is over, or that a clock set back puts into the future, counts for nothing.
TEST_P(KeyRuntimeConformance, AWindowOutlivesARestart) {
    const auto restored = [&](Duration age) {
        web::KeyRules r = rules("a" + std::to_string(age.count()));
        r.quota = web::KeyQuota{2, web::KeyQuota::Per::kWindow, 1h};
        const auto key = runtime->add(std::move(r));
        runtime->restore_usage(key, {"", clock.wall_now() - age, 2});
        return health(key);
    };
    EXPECT_EQ(restored(59min).until, clock.now() + 1min);
    EXPECT_EQ(restored(59min).used, 2);
    EXPECT_EQ(restored(60min).used, 0);
    EXPECT_EQ(restored(-1min).used, 0);
}

// A window of another length is another count; the same one goes on when something else changes.
TEST_P(KeyRuntimeConformance, AChangedWindowCountsAnew) {
    web::KeyRules r = rules("a");
    r.quota = web::KeyQuota{2, web::KeyQuota::Per::kWindow, 1h};
    web::KeyRules heavier = r;
    heavier.weight = 2;
    web::KeyRules longer = r;
    longer.quota->window = 2h;
    const auto a = runtime->add(std::move(r));
    settle(pick_key());
    clock.advance(10min);
    runtime->change(a, std::move(heavier));
    settle(pick_key());
    EXPECT_EQ(pick_none({}, 0).back_at, clock.now() + 50min);
    runtime->change(a, std::move(longer));
    EXPECT_EQ(health(a).used, 0);
    settle(pick_key());
    settle(pick_key());
    EXPECT_EQ(pick_none({}, 0).back_at, clock.now() + 2h);
}

// A quota that was not used up begins anew just the same.
TEST_P(KeyRuntimeConformance, ACountDoesNotOutliveItsPeriod) {
    web::KeyRules r = rules("a");
    r.quota = web::KeyQuota{10, web::KeyQuota::Per::kDay};
    const auto a = runtime->add(std::move(r));
    for (int i = 0; i < 9; ++i) {
        settle(pick_key());
    }
    EXPECT_EQ(health(a).used, 9);
    clock.advance(24h);
    EXPECT_EQ(health(a).used, 0);
    settle(pick_key());
    EXPECT_EQ(health(a).used, 1);
}

// A disabled key is not taken and not forgotten; a removed one is gone, and its number is not given
// to another key before its last call ended.
TEST_P(KeyRuntimeConformance, DisablingAndRemoving) {
    const auto a = add("a");
    ASSERT_EQ(pick_key(), a);
    web::KeyRules off = rules("a");
    off.state = web::KeyState::kDisabled;
    runtime->change(a, std::move(off));
    EXPECT_EQ(pick_none().why, web::NoKey::Why::kDisabled);
    EXPECT_EQ(runtime->counts(0).disabled, 1u);
    EXPECT_EQ(runtime->counts(0).in_flight, 1u);
    runtime->change(a, rules("a"));
    EXPECT_EQ(pick_key(), a);
    runtime->remove(a);
    EXPECT_EQ(pick_none().why, web::NoKey::Why::kNone);
    const auto b = add("b");
    EXPECT_NE(b, a);
    settle(a);
    settle_resting(a, web::KeyStatus::kQuarantined, 60s);
    EXPECT_EQ(runtime->counts(0), (web::KeyCounts{.available = 1}));
    EXPECT_EQ(pick_key(), b);
}

// Who holds a key may use it again only while it may be used at all: not after an operator disabled
// or removed it, nor while it rests.
TEST_P(KeyRuntimeConformance, AHeldKeyIsUsedAgainOnlyIfItMayBeUsed) {
    // With a quota that is not used up there is no difference.
    const auto may_be_used = [&](web::KeyIndex key) {
        const bool may = runtime->may_still_be_used(key);
        EXPECT_EQ(runtime->may_be_used_again(key), may);
        return may;
    };
    web::KeyRules r = rules("a");
    r.max_in_flight = 2;
    const auto a = runtime->add(r);
    pick_key();
    EXPECT_TRUE(may_be_used(a));
    pick_key();
    EXPECT_TRUE(may_be_used(a)) << "its calls are all that it may carry";
    settle_resting(a, web::KeyStatus::kCooling, 10s);
    EXPECT_FALSE(may_be_used(a));
    clock.advance(10s - 1ns);
    EXPECT_FALSE(may_be_used(a));
    clock.advance(1ns);
    EXPECT_TRUE(may_be_used(a));
    web::KeyRules off = r;
    off.state = web::KeyState::kDisabled;
    runtime->change(a, off);
    EXPECT_FALSE(may_be_used(a));
    runtime->change(a, r);
    EXPECT_TRUE(may_be_used(a));
    runtime->remove(a);
    EXPECT_FALSE(may_be_used(a));
    settle(a);
}

// Each call under a reservation counts towards the quota, and none is made beyond it; of one that
// was not made only that one is given back.
TEST_P(KeyRuntimeConformance, EveryCallOfAReservationCounts) {
    web::KeyRules r = rules("a");
    r.quota = web::KeyQuota{2, web::KeyQuota::Per::kDay};
    const auto a = runtime->add(std::move(r));
    pick_key();
    ASSERT_TRUE(runtime->may_be_used_again(a));
    runtime->count_another_call(a);
    EXPECT_EQ(health(a).used, 2);
    EXPECT_EQ(health(a).in_flight, 1u);
    EXPECT_FALSE(runtime->may_be_used_again(a)) << "the quota is used up";
    EXPECT_TRUE(runtime->may_still_be_used(a)) << "by those that it was counted for";
    EXPECT_EQ(pick_none().why, web::NoKey::Why::kResting);
    settle_not_sent(a);
    EXPECT_EQ(health(a).used, 1);
    pick_key();
    clock.advance(24h);
    EXPECT_TRUE(runtime->may_be_used_again(a)) << "a new day";
    runtime->count_another_call(a);
    EXPECT_EQ(health(a).used, 1);
    const std::vector<web::KeyUsage> usage = write_exact();
    ASSERT_EQ(usage.size(), 1u);
    EXPECT_EQ(usage[0].used, 1);
    runtime->remove(a);
    settle(a);
}

// Also the first call of a new window may be another one of a reservation.
TEST_P(KeyRuntimeConformance, AnotherCallBeginsAWindow) {
    web::KeyRules r = rules("a");
    r.quota = web::KeyQuota{2, web::KeyQuota::Per::kWindow, 1h};
    const auto a = runtime->add(std::move(r));
    pick_key();
    clock.advance(90min);
    runtime->count_another_call(a);
    settle(a);
    settle(pick_key());
    EXPECT_EQ(pick_none().back_at, clock.now() + 1h);
}

// Peeking says who is next and takes nobody.
TEST_P(KeyRuntimeConformance, PeekReservesNothing) {
    const auto a = add("a");
    add("b");
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(std::get<web::KeyIndex>(runtime->peek(0, {})), a);
    }
    EXPECT_EQ(runtime->counts(0).in_flight, 0u);
    EXPECT_EQ(health(a).used, 0);
}

// The last outcome is shown; a call of which nothing was learned leaves it as it was.
TEST_P(KeyRuntimeConformance, RemembersTheLastOutcome) {
    const auto a = add("a");
    EXPECT_EQ(health(a).last_outcome, std::nullopt);
    settle(pick_key(), web::Outcome::kTimeout);
    pick_key();
    runtime->settle(a, web::KeySettlement{});
    EXPECT_EQ(health(a).last_outcome, web::Outcome::kTimeout);
}

}  // namespace sluice::test
