// What a provider's usual time and success are taken from.
#include "web/recent_calls.h"

#include <gtest/gtest.h>

namespace sluice::web {
namespace {

using namespace std::chrono_literals;

// A few calls say nothing yet.
TEST(RecentCallsTest, NothingBeforeThereAreEnough) {
    RecentCalls calls;
    EXPECT_FALSE(calls.success_ratio());
    for (std::size_t i = 0; i + 1 < RecentCalls::kEnough; ++i) {
        calls.add_success(10ms);
    }
    EXPECT_FALSE(calls.latency(0.95));
    calls.add_success(10ms);
    EXPECT_EQ(calls.latency(0.95), Millis(10));
}

// Quantiles are values that occurred: of 1 to 100 ms the 95th is 95 ms.
TEST(RecentCallsTest, QuantilesAreValuesThatOccurred) {
    RecentCalls calls;
    for (int i = 100; i >= 1; --i) {
        calls.add_success(Millis(i));
    }
    EXPECT_EQ(calls.latency(0.95), 95ms);
    EXPECT_EQ(calls.latency(0.5), 50ms);
    EXPECT_EQ(calls.latency(0), 1ms);
    EXPECT_EQ(calls.latency(1), 100ms);
}

// The past is forgotten: after enough new calls only those count.
TEST(RecentCallsTest, OldCallsAreForgotten) {
    RecentCalls calls;
    for (int i = 0; i < 1000; ++i) {
        calls.add_success(5000ms);
        calls.add_failure();
    }
    for (std::size_t i = 0; i < RecentCalls::kRemembered; ++i) {
        calls.add_success(20ms);
    }
    EXPECT_EQ(calls.latency(1), 20ms);
    EXPECT_EQ(calls.success_ratio(), 1.0);
}

// A call that is cut off when it is slow already would have been slower still: it keeps its place
// among the slow ones, so that cutting them off does not make what is usual look ever quicker.
TEST(RecentCallsTest, CutOffCallsStaySlow) {
    RecentCalls calls;
    for (int i = 1; i <= 100; ++i) {
        calls.add_success(Millis(i));
    }
    calls.add_cut_off(10ms);  // says nothing
    EXPECT_EQ(calls.latency(0.95), 95ms);
    // Whatever takes longer than usual is cut off, for a second call has answered by then.
    for (int i = 0; i < 2000; ++i) {
        const Millis takes(1 + (i * 37) % 100);
        const Millis slow = *calls.latency(0.95);
        if (takes > slow) {
            calls.add_cut_off(slow);
        } else {
            calls.add_success(takes);
        }
    }
    EXPECT_GE(calls.latency(0.95), Millis(80));
    EXPECT_EQ(calls.success_ratio(), 1.0);
}

// Failures count for the ratio and never for the latency.
TEST(RecentCallsTest, FailuresLowerTheRatioOnly) {
    RecentCalls calls;
    for (std::size_t i = 0; i < 30; ++i) {
        calls.add_success(10ms);
    }
    for (std::size_t i = 0; i < 10; ++i) {
        calls.add_failure();
    }
    EXPECT_EQ(calls.success_ratio(), 0.75);
    EXPECT_EQ(calls.latency(1), 10ms);
}

}  // namespace
}  // namespace sluice::web
