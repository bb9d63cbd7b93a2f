#include "app/late_start.h"

#include "support/collecting_sink.h"
#include "support/manual_clock.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>

namespace sluice::app {
namespace {

using testing::HasSubstr;

class LateStartTest : public testing::Test {
 protected:
    void start() {
        auto step = [this]() -> Task<Status> {
            taken += 1;
            co_return problem ? Status(Error{Code::kUnavailable, Blame::kGateway, *problem, {}})
                              : Status();
        };
        boost::asio::co_spawn(loop, store_result(late.take(step), end), boost::asio::detached);
        turn();
    }
    void turn() {
        loop.restart();
        loop.poll();
    }
    void pass(Duration time) {
        clock.advance(time);
        turn();
    }

    test::ManualClock clock;
    test::CollectingSink sink;
    obs::Log log{clock, sink, obs::Level::kInfo};
    boost::asio::io_context loop{1};
    LateStart late{clock, log};
    std::optional<std::string> problem = "away";
    int taken = 0;
    std::optional<bool> end;
};

TEST_F(LateStartTest, IsTakenUntilItSucceeds) {
    start();
    for (int i = 1; i < 5; ++i) {
        EXPECT_EQ(taken, i);
        pass(LateStart::kInterval - Millis(1));
        EXPECT_EQ(taken, i);
        pass(Millis(1));
    }
    problem.reset();
    pass(LateStart::kInterval);
    EXPECT_EQ(taken, 6);
    EXPECT_EQ(end, true);
}

TEST_F(LateStartTest, AReasonIsToldWhenItChangesAndOnceAMinute) {
    start();
    pass(LateStart::kInterval);
    ASSERT_EQ(sink.lines().size(), 1U);
    EXPECT_THAT(sink.lines()[0], HasSubstr("away"));
    problem = "denied";
    pass(LateStart::kInterval);
    pass(LateStart::kInterval);
    ASSERT_EQ(sink.lines().size(), 2U);
    EXPECT_THAT(sink.lines()[1], HasSubstr("denied"));
    pass(std::chrono::minutes(1));
    EXPECT_EQ(sink.lines().size(), 3U);
    late.stop();
    pass(LateStart::kInterval);
}

// Who stops within the pause is not held up by another try.
TEST_F(LateStartTest, NoneIsTakenAfterTheStop) {
    start();
    late.stop();
    pass(LateStart::kInterval);
    EXPECT_EQ(taken, 1);
    EXPECT_EQ(end, false);
}

}  // namespace
}  // namespace sluice::app
