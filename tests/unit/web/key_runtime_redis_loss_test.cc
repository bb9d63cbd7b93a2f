// A Redis that lost the state of keys, or a part of it, or can't keep it: the replicas tell it
// again what they know.
#include "shared_keys_fixture.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::web {
namespace {

using namespace std::chrono_literals;

// Emptied: the replicas tell it again what they know, so that no quota and no rest is forgotten.
TEST_F(SharedKeysTest, AFlushedRedisIsToldAgain) {
    KeyRules counted = limited("a", {6, KeyQuota::Per::kMonth, {}});
    counted.max_in_flight = 2;
    const KeyIndex a = add(counted);
    const KeyIndex b = add(rules("b"));
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(pick_key(one, {b}), a);
        settle(one, a);
        ASSERT_EQ(pick_key(other, {b}), a);
        settle(other, a);
    }
    other.keys->settle(*pick_key(other, {a}),
                       KeySettlement{KeySettlement::Call::kMade, 0, Outcome::kRateLimited,
                                     KeyRest{KeyStatus::kQuarantined, 90s}});
    land(other);
    refresh(one);
    ask({"FLUSHALL"});
    EXPECT_EQ(why_none(one), NoKey::Why::kResting) << "one is used up, and one rests";
    EXPECT_EQ(health(other, a).used, 6);
    EXPECT_EQ(health(other, b).status, KeyStatus::kQuarantined);
    EXPECT_EQ(health(other, b).until, clock.now() + 90s);
    EXPECT_EQ(picks_alone(), 0);
}

// What was counted before the flush and what is counted since add up, whoever knew what.
TEST_F(SharedKeysTest, CountsOfBothSidesOfAFlushAddUp) {
    const KeyIndex a = add(limited("a", {100, KeyQuota::Per::kDay, {}}));
    for (int i = 0; i < 5; ++i) {
        ASSERT_EQ(pick_key(one), a);  // which the other one does not hear of
    }
    ASSERT_EQ(pick_key(other), a);
    for (int i = 0; i < 4; ++i) {
        ASSERT_EQ(pick_key(one), a);
    }
    ask({"FLUSHALL"});
    ASSERT_EQ(pick_key(other), a);
    EXPECT_EQ(health(one, a).used, 11);
    EXPECT_EQ(health(other, a).used, 11);
    EXPECT_EQ(health(other, a).in_flight, 11u) << "those that are open count on";
}

// A Redis that evicts, or somebody else in it, takes a part away: what is left says nothing, and
// all is told again. No key stays busy or used up for ever, and nothing is forgotten.
TEST_F(SharedKeysTest, StateOfWhichAPartIsMissingIsToldAgain) {
    KeyRules counted = limited("a", {100, KeyQuota::Per::kDay, {}});
    counted.max_in_flight = 2;
    counted.account = "team";
    const KeyIndex a = add(counted);
    const KeyIndex b = add(rules("b"));
    const std::string root = key_root(provider_names()[0]);
    std::int64_t used = 0;
    for (const std::string_view part :
         {"", ":state", ":ready", ":resting", ":leases", ":accounts", ":changed"}) {
        ASSERT_EQ(pick_key(one, {b}), a);
        ASSERT_EQ(pick_key(other, {b}), a);
        used += 2;
        refresh(one);
        ask({"DEL", root + std::string(part)});
        refresh(other);
        refresh(one);
        EXPECT_EQ(why_none(other, {b}), NoKey::Why::kTried) << part << ": only b is not full";
        settle(one, a);
        settle(other, a);
        EXPECT_EQ(health(other, a).in_flight, 0u) << part;
        EXPECT_EQ(health(one, a).used, used) << part;
        // And with nothing under way.
        ask({"DEL", root + std::string(part)});
        ASSERT_EQ(pick_key(other, {b}), a) << part;
        used += 1;
        settle(other, a);
    }
    EXPECT_EQ(health(one, a).used, used);
    EXPECT_EQ(picks_alone(), 0);
    EXPECT_TRUE(replicas.lines().contains("a part is missing"));
}

// What somebody else left under the names is no reason to go alone for ever.
TEST_F(SharedKeysTest, StateThatCantBeReadIsToldAgain) {
    const std::string root = key_root(provider_names()[0]);
    const std::string state = root + ":state";
    const std::string ready = root + ":ready";
    std::vector<std::vector<std::string>> damages = {
        {"HSET", state, "a", "garbage"},
        {"HSET", state, "a", "{}"},
        {"HSET", state, "a", "5"},
        {"HSET", state, "a", "null"},
        {"ZADD", ready, "-1", "bogus"},
        {"ZADD", root + ":resting", "0", "bogus"},
        {"HSET", root, "turn", "x"},
        {"HSET", root, "turn", "9223372036854775807"},
        {"HSET", root, "pass", "inf"},
        {"HSET", root, "epoch", ""},
        {"HDEL", state, "a"},
        {"ZREM", ready, "a"},
    };
    for (const std::string_view part : {"", ":state", ":ready", ":leases", ":changed"}) {
        damages.push_back({"SET", root + std::string(part), "x"});
    }
    RuntimeConfig weighted;
    weighted.rotation = Rotation::kWeighted;
    one.keys->configure(weighted);
    other.keys->configure(weighted);
    KeyRules counted = limited("a", {100, KeyQuota::Per::kDay, {}});
    counted.max_in_flight = 2;
    const KeyIndex a = add(counted);
    std::int64_t used = 0;
    for (const std::vector<std::string>& damage : damages) {
        const std::string what = damage[0] + " " + damage[1] + " " + damage.back();
        ASSERT_EQ(pick_key(one), a) << what;
        settle(one, a);
        refresh(other);
        ask(damage);
        ASSERT_EQ(pick_key(other), a) << what;
        ASSERT_EQ(pick_key(one), a) << what;
        used += 3;
        EXPECT_EQ(why_none(other), NoKey::Why::kSaturated) << what;
        settle(one, a);
        settle(other, a);
        EXPECT_EQ(health(other, a).used, used) << what;
        EXPECT_EQ(picks_alone(), 0) << what;
    }
    EXPECT_FALSE(replicas.lines().contains("keys_not_shared"));
}

// Started again on what it saved a while ago, Redis has the epoch that there was, and less in it.
TEST_F(SharedKeysTest, ARedisThatIsOlderIsToldAgain) {
    const KeyIndex a = add(limited("a", {100, KeyQuota::Per::kDay, {}}));
    const KeyIndex b = add(rules("b"));
    ASSERT_EQ(pick_key(one, {b}), a);
    settle(one, a);
    ask({"SAVE"});
    for (int i = 0; i < 4; ++i) {
        ASSERT_EQ(pick_key(other, {b}), a);
    }
    ASSERT_EQ(pick_key(other, {a}), b);
    settle(other, b, KeyRest{KeyStatus::kQuarantined, 90s});
    refresh(one);
    lose_redis();
    find_redis();
    EXPECT_EQ(pick_key(one, {b}), a);
    EXPECT_EQ(health(one, a).used, 6);
    EXPECT_EQ(health(other, b).status, KeyStatus::kQuarantined);
    EXPECT_EQ(health(one, a).in_flight, 5u);
    EXPECT_EQ(picks_alone(), 0);
}

// A Redis that is full is no lost state: it is said why keys are not shared, once.
TEST_F(SharedKeysTest, AFullRedisIsSaidToBeTheReason) {
    const KeyIndex a = add(limited("a", {100, KeyQuota::Per::kDay, {}}));
    ASSERT_EQ(pick_key(one), a);
    ask({"CONFIG", "SET", "maxmemory", "1"});
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(pick_key(one), a);
        refresh(one);
    }
    EXPECT_EQ(picks_alone(), 3);
    EXPECT_EQ(replicas.lines().count(obs::Level::kWarn, "keys_not_shared"), 1u);
    EXPECT_TRUE(replicas.lines().contains("OOM"));
    ask({"CONFIG", "SET", "maxmemory", "0"});
    refresh(one);
    EXPECT_EQ(health(other, a).used, 4);
    EXPECT_FALSE(replicas.lines().contains("key_state_lost"));
}

// Of many keys they are walked over a part at a time, so that nobody else waits for all of it.
TEST_F(SharedKeysTest, CallsOfOthersAreForgottenWithoutHoldingAnybodyUp) {
    constexpr std::size_t kMany = 1'000;
    std::vector<KeyIndex> keys;
    for (std::size_t i = 0; i < kMany; ++i) {
        KeyRules narrow = rules("key" + std::to_string(i));
        narrow.max_in_flight = 1;
        keys.push_back(add(narrow));
    }
    for (std::size_t i = 0; i < kMany; ++i) {
        ASSERT_TRUE(pick_key(other));
    }
    refresh(one);
    EXPECT_EQ(one.keys->counts(0).saturated, kMany);
    lose_redis();
    const auto picked = pick_key(one);
    EXPECT_TRUE(picked) << "those that come first are free at once";
    const std::uint32_t busy = one.keys->counts(0).saturated;
    EXPECT_GT(busy, kMany / 2);
    ASSERT_TRUE(replicas.until([&] { return one.keys->counts(0).saturated <= 1; }));
    EXPECT_EQ(one.keys->counts(0).in_flight, 1u) << "its own call";
}

}  // namespace
}  // namespace sluice::web
