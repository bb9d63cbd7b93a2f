#include "web/keys.h"

#include <gtest/gtest.h>

#include <chrono>

namespace sluice::web {
namespace {

using namespace std::chrono_literals;

const Instant kNow{1000s};

// Keys wear evenly: the one with the fewest calls under way, then the longest unused.
TEST(KeyPoolTest, LeasesTheLeastUsed) {
    KeyPool pool;
    const std::string a = pool.add("serper", Secret("key-a"));
    const std::string b = pool.add("serper", Secret("key-b"));
    {
        auto first = pool.lease("serper", {}, kNow);
        auto second = pool.lease("serper", {}, kNow);
        ASSERT_TRUE(first && second);
        EXPECT_EQ(first->key().id, a);
        EXPECT_EQ(second->key().id, b);
        EXPECT_EQ(pool.counts_of("serper", kNow).in_flight, 2u);
    }
    EXPECT_EQ(pool.counts_of("serper", kNow).in_flight, 0u);
    EXPECT_EQ(pool.lease("serper", {}, kNow + 1s)->key().id, a);
    EXPECT_EQ(pool.lease("serper", {}, kNow + 2s)->key().id, b);
}

// A key that was tried for this request is not offered again.
TEST(KeyPoolTest, SkipsTriedKeys) {
    KeyPool pool;
    const std::string a = pool.add("serper", Secret("key-a"));
    EXPECT_FALSE(pool.lease("serper", {a}, kNow).has_value());
    EXPECT_FALSE(pool.lease("tavily", {}, kNow).has_value());
}

// A penalty ends by itself, and a shorter one does not cut a longer one short.
TEST(KeyPoolTest, PenaltiesAreTimeBoxed) {
    KeyPool pool;
    pool.add("serper", Secret("key-a"));
    {
        auto lease = pool.lease("serper", {}, kNow);
        lease->penalise(KeyStatus::kQuarantined, kNow + 60s);
        lease->penalise(KeyStatus::kCooling, kNow + 10s);
    }
    EXPECT_EQ(pool.counts_of("serper", kNow + 59s).quarantined, 1u);
    EXPECT_FALSE(pool.lease("serper", {}, kNow + 59s).has_value());
    EXPECT_TRUE(pool.lease("serper", {}, kNow + 60s).has_value());
}

// The same secret is one key; its id says nothing about it and is the same after a restart.
TEST(KeyPoolTest, IdsAreStableAndOpaque) {
    KeyPool pool;
    const std::string id = pool.add("serper", Secret("key-a"));
    EXPECT_EQ(pool.add("serper", Secret("key-a")), id);
    EXPECT_NE(pool.add("tavily", Secret("key-a")), id);
    EXPECT_EQ(KeyPool().add("serper", Secret("key-a")), id);
    EXPECT_EQ(id.size(), 12u);
    EXPECT_EQ(pool.counts_of("serper", kNow).total(), 1u);
}

// A moved-from lease releases nothing: the count is right whichever object dies first.
TEST(KeyPoolTest, MovedLeaseReleasesOnce) {
    KeyPool pool;
    pool.add("serper", Secret("key-a"));
    {
        auto lease = pool.lease("serper", {}, kNow);
        const KeyLease moved = std::move(*lease);
        EXPECT_EQ(pool.counts_of("serper", kNow).in_flight, 1u);
    }
    EXPECT_EQ(pool.counts_of("serper", kNow).in_flight, 0u);
}

}  // namespace
}  // namespace sluice::web
