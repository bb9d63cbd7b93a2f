#include "app/watchdog.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>

namespace sluice::app {
namespace {

// Guards a normal stop: what ends in time is not disturbed, nor waited for.
TEST(WatchdogTest, DoesNothingToWhatEndsInTime) {
    bool acted = false;
    {
        const Watchdog watchdog(Millis(3'600'000), [&acted] { acted = true; });
    }
    EXPECT_FALSE(acted);
}

// Guards the end of a process whose shutdown is stuck.
TEST(WatchdogTest, ActsOnWhatIsStuck) {
    std::promise<void> acted;
    const Watchdog watchdog(Millis(5), [&acted] { acted.set_value(); });
    // Stuck until then; the bound is for a watchdog that never acts.
    EXPECT_EQ(acted.get_future().wait_for(std::chrono::minutes(1)), std::future_status::ready);
}

}  // namespace
}  // namespace sluice::app
