// A clock of Redis that is put back or forward: what rests, and what is counted, is wrong for no
// longer than it would have lasted, and no call under way is forgotten.
#include "shared_keys_fixture.h"

#include <gtest/gtest.h>

#include <chrono>

namespace sluice::web {
namespace {

using namespace std::chrono_literals;

class RedisClockTest : public SharedKeysTest {
 protected:
    void rest(Replica& replica, KeyIndex key, Millis time) {
        settle(replica, key, KeyRest{KeyStatus::kCooling, time});
    }
    void put_clock(Millis by) { clock.set_wall(clock.wall_now() + by); }
    // Both ask Redis, as they do once a second.
    void hear() {
        refresh(one);
        refresh(other);
    }
};

TEST_F(RedisClockTest, ARestLastsNoLongerWhenTheClockIsPutBack) {
    const KeyIndex key = add(rules("a"));
    hear();
    clock.advance(2h);  // what counts is the time it was last, not at the beginning
    hear();
    ASSERT_EQ(pick_key(one), key);
    rest(one, key, 30s);
    hear();
    put_clock(-1h);
    EXPECT_EQ(why_none(other), NoKey::Why::kResting) << "and no shorter";
    hear();
    clock.advance(29s);
    EXPECT_EQ(why_none(one), NoKey::Why::kResting);
    clock.advance(2s);
    EXPECT_EQ(pick_key(other), key);
    EXPECT_TRUE(replicas.lines().contains("the clock of redis was put back"));
    EXPECT_EQ(picks_alone(), 0);
}

// A second or less is what clocks of servers differ by.
TEST_F(RedisClockTest, ASmallStepIsNone) {
    const KeyIndex key = add(rules("a"));
    ASSERT_EQ(pick_key(one), key);
    put_clock(-900ms);
    hear();
    EXPECT_EQ(health(other, key).in_flight, 1u);
    EXPECT_FALSE(replicas.lines().contains("key_state_lost"));
}

// What was put forward by mistake and is put right again.
TEST_F(RedisClockTest, AWindowEndsInItsTimeWhateverTheClockDoes) {
    const KeyIndex key = add(limited("a", {1, KeyQuota::Per::kWindow, 30min}));
    put_clock(5h);
    ASSERT_EQ(pick_key(one), key);
    settle(one, key);
    hear();
    EXPECT_EQ(why_none(other), NoKey::Why::kResting);
    put_clock(-5h);
    hear();
    clock.advance(31min);
    hear();
    EXPECT_EQ(pick_key(other), key);
}

TEST_F(RedisClockTest, CallsUnderWayCountOn) {
    KeyRules narrow = rules("a");
    narrow.max_in_flight = 1;
    const KeyIndex key = add(narrow);
    ASSERT_EQ(pick_key(one), key);
    put_clock(-24h);
    hear();
    EXPECT_EQ(why_none(other), NoKey::Why::kSaturated);
    settle(one, key);
    EXPECT_EQ(pick_key(other), key);
}

}  // namespace
}  // namespace sluice::web
