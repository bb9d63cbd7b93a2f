// Keys that not all replicas have: each uses its own, and takes nothing from the others.
#include "shared_keys_fixture.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace sluice::web {
namespace {

// A replica is given no key that it does not have, and takes nothing from those that have it.
TEST_F(SharedKeysTest, KeysOfOtherReplicasAreLeftOut) {
    const KeyIndex a = add(limited("a", {100, KeyQuota::Per::kDay, {}}));
    std::vector<KeyIndex> more;
    for (int i = 0; i < 3; ++i) {
        more.push_back(
            one.keys->add(limited("b" + std::to_string(i), {9, KeyQuota::Per::kDay, {}})));
    }
    for (int i = 0; i < 3; ++i) {
        settle(one, *pick_key(one));
    }
    for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(pick_key(other), a);
    }
    for (const KeyIndex key : more) {
        EXPECT_LE(health(one, key).used, 1);
        EXPECT_EQ(health(one, key).in_flight, 0u);
    }
    EXPECT_TRUE(replicas.lines().contains("key_of_another_replica"));
    // From when it has it too, it may use it.
    for (const KeyIndex key : more) {
        const KeyIndex mine = other.keys->add(
            limited("b" + std::to_string(key - more[0]), {9, KeyQuota::Per::kDay, {}}));
        EXPECT_EQ(pick_key(other, {a}), mine);
    }
}

// Each replica has keys of its own: one that is removed or disabled at one of them is not picked
// there any more, and stays with the others as it was, with what was counted of it.
TEST_F(SharedKeysTest, AKeyThatOneReplicaLetsGoStaysWithTheOthers) {
    for (const bool is_removed : {false, true}) {
        const std::string id = is_removed ? "removed" : "disabled";
        KeyRules counted = limited(id, {10, KeyQuota::Per::kDay, {}});
        const KeyIndex a = add(counted);
        for (Replica* replica : {&one, &other, &one, &other}) {
            ASSERT_EQ(pick_key(*replica), a) << id;
        }
        settle(one, a);
        settle(one, a);
        refresh(other);
        if (is_removed) {
            one.keys->remove(a);
        } else {
            counted.state = KeyState::kDisabled;
            one.keys->change(a, counted);
        }
        refresh(one);
        EXPECT_EQ(why_none(one), is_removed ? NoKey::Why::kNone : NoKey::Why::kDisabled);
        ASSERT_EQ(pick_key(other), a) << id;
        EXPECT_EQ(health(other, a).used, 5) << id;
        EXPECT_EQ(health(other, a).in_flight, 3u) << id;
        // Also after what the first one says for other reasons.
        one.keys->configure({});
        refresh(one);
        ASSERT_EQ(pick_key(other), a) << id;
        EXPECT_EQ(picks_alone(), 0);
        if (!is_removed) {
            counted.state = KeyState::kActive;
            one.keys->change(a, counted);
            ASSERT_EQ(pick_key(one), a);
            settle(one, a);
            EXPECT_EQ(health(one, a).used, 7);
        }
        for (int i = 0; i < 4; ++i) {
            settle(other, a);
        }
        other.keys->remove(a);
        if (!is_removed) {
            one.keys->remove(a);
        }
        refresh(one);
        refresh(other);
    }
    // What nobody has is forgotten.
    clock.advance(std::chrono::hours(24));
    one.keys->add(rules("new"));
    ASSERT_TRUE(pick_key(one).has_value());
    EXPECT_EQ(ask({"HLEN", key_root(provider_names()[0]) + ":state"}).integer, 2)
        << "that one, and the mark of the epoch";
}

// However many keys the others have, they are no reason to go alone.
TEST_F(SharedKeysTest, ManyKeysOfOtherReplicasAreNoReasonToGoAlone) {
    KeyRules first = rules("a");
    KeyRules second = rules("b");
    first.max_in_flight = second.max_in_flight = 1;
    const KeyIndex a = add(first);
    const KeyIndex b = add(second);
    for (int i = 0; i < 120; ++i) {
        one.keys->add(rules("theirs" + std::to_string(i)));
    }
    refresh(one);
    for (int i = 0; i < 60; ++i) {
        if (i % 20 == 0) {
            refresh(other);
        }
        const auto key = pick_key(other);
        ASSERT_TRUE(key == a || key == b) << i;
        settle(other, *key);
    }
    ASSERT_TRUE(pick_key(other).has_value());
    ASSERT_TRUE(pick_key(other).has_value());
    EXPECT_EQ(why_none(other), NoKey::Why::kSaturated);
    EXPECT_EQ(why_none(other, {a}), NoKey::Why::kSaturated);
    EXPECT_EQ(picks_alone(), 0);
    EXPECT_FALSE(replicas.lines().contains("keys_not_shared"));
}

// With many keys of its own it names some of them, others each time.
TEST_F(SharedKeysTest, AmongStrangersAllOwnKeysHaveTheirTurns) {
    constexpr int kOwn = 150;
    std::map<KeyIndex, int> taken;
    for (int i = 0; i < kOwn; ++i) {
        taken[add(rules("own" + std::to_string(i)))] = 0;
    }
    for (int i = 0; i < 100; ++i) {
        one.keys->add(rules("theirs" + std::to_string(i)));
    }
    refresh(one);
    for (int i = 0; i < 4 * kOwn; ++i) {
        const auto key = pick_key(other);
        ASSERT_TRUE(key.has_value());
        taken[*key] += 1;
        settle(other, *key);
    }
    for (const auto& [key, times] : taken) {
        EXPECT_GE(times, 1) << key;
    }
    EXPECT_EQ(picks_alone(), 0);
}

// A key that is removed here takes no calls of others with it that nobody would ever end.
TEST_F(SharedKeysTest, ARemovedKeyLeavesNoCallsOfOthersBehind) {
    const KeyIndex a = add(rules("a"));
    ASSERT_EQ(pick_key(other), a);
    refresh(one);
    ASSERT_EQ(one.keys->counts(0).in_flight, 1u);
    one.keys->remove(a);
    EXPECT_EQ(one.keys->counts(0).in_flight, 0u);
    EXPECT_EQ(one.keys->add(rules("b")), a) << "its place is free";
}

}  // namespace
}  // namespace sluice::web
