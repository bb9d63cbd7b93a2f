#include "web/address_limit.h"

#include <gtest/gtest.h>

namespace sluice::web {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart = Instant{} + 1h;

// One key that is refused again and again says nothing about the others.
TEST(AddressLimit, OneKeyAlone) {
    AddressLimit limit;
    for (int i = 0; i < 5; ++i) {
        EXPECT_FALSE(limit.refused(1, kStart + i * 1s));
    }
}

// Two keys within moments do, whichever comes next; the time is counted from the other one's.
TEST(AddressLimit, TwoKeysTogether) {
    AddressLimit limit;
    EXPECT_FALSE(limit.refused(1, kStart));
    EXPECT_TRUE(limit.refused(2, kStart + AddressLimit::kTogether));
    EXPECT_TRUE(limit.refused(2, kStart + AddressLimit::kTogether));
    EXPECT_TRUE(limit.refused(3, kStart + 6s));
    EXPECT_TRUE(limit.refused(1, kStart + 11s));
}

// Refusals that lie apart are each key's own.
TEST(AddressLimit, TwoKeysApart) {
    AddressLimit limit;
    EXPECT_FALSE(limit.refused(1, kStart));
    EXPECT_FALSE(limit.refused(2, kStart + AddressLimit::kTogether + 1ms));
    EXPECT_FALSE(limit.refused(2, kStart + 9s));
    // The second key's refusals go on, the first one's is long ago.
    EXPECT_FALSE(limit.refused(2, kStart + 12s));
    EXPECT_TRUE(limit.refused(1, kStart + 13s));
}

}  // namespace
}  // namespace sluice::web
