#include "support/manual_clock.h"

#include "support/run_task.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/detached.hpp>
#include <boost/system/system_error.hpp>
#include <gtest/gtest.h>

#include <string>
#include <thread>

namespace sluice::test {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

Task<void> sleep_and_note(Clock& clock, Duration after, std::string& notes, char note) {
    const Instant deadline = clock.now() + after;
    co_await clock.sleep_until(deadline);
    notes.push_back(note);
}

// Every test of a timeout rests on this: not a nanosecond early, and at the instant itself.
TEST(ManualClock, WakesAtTheDeadlineAndNotBefore) {
    ManualClock clock;
    asio::io_context io;
    std::string notes;
    asio::co_spawn(io, sleep_and_note(clock, 100ms, notes, 'a'), asio::detached);
    run_ready(io);
    EXPECT_EQ(clock.sleepers(), 1u);
    clock.advance(100ms - 1ns);
    run_ready(io);
    EXPECT_EQ(notes, "");
    clock.advance(1ns);
    run_ready(io);
    EXPECT_EQ(notes, "a");
    EXPECT_EQ(clock.sleepers(), 0u);
}

TEST(ManualClock, WakesInOrderOfDeadlines) {
    ManualClock clock;
    asio::io_context io;
    std::string notes;
    asio::co_spawn(io, sleep_and_note(clock, 3s, notes, 'c'), asio::detached);
    asio::co_spawn(io, sleep_and_note(clock, 1s, notes, 'a'), asio::detached);
    asio::co_spawn(io, sleep_and_note(clock, 2s, notes, 'b'), asio::detached);
    asio::co_spawn(io, sleep_and_note(clock, 0s, notes, '0'), asio::detached);
    asio::co_spawn(io, sleep_and_note(clock, 9s, notes, 'z'), asio::detached);
    run_ready(io);
    EXPECT_EQ(clock.next_deadline(), clock.now() + 1s);
    clock.advance(5s);
    run_ready(io);
    EXPECT_EQ(notes, "0abc");
    EXPECT_EQ(clock.next_deadline(), clock.now() + 4s);
}

TEST(ManualClock, DatesMoveWithTimeButCanBeSet) {
    ManualClock clock;
    const Instant start = clock.now();
    const WallTime date = clock.wall_now();
    clock.advance(90s);
    EXPECT_EQ(clock.now() - start, 90s);
    EXPECT_EQ(clock.wall_now() - date, 90s);
    clock.set_wall(date - 24h);
    EXPECT_EQ(clock.wall_now(), date - 24h);
    EXPECT_EQ(clock.now() - start, 90s);
}

Task<void> note_how_it_ends(Clock& clock, Duration after, std::string& notes) {
    try {
        const Instant deadline = clock.now() + after;
        co_await clock.sleep_until(deadline);
        notes += "woke";
    } catch (const boost::system::system_error& e) {
        notes += e.code() == asio::error::operation_aborted ? "aborted" : "failed";
    }
}

// Code under test must see a cancellation exactly as it would with the system's clock.
TEST(ManualClock, CancellationThrowsAsASystemTimerDoes) {
    SystemClock system;
    ManualClock manual;
    for (Clock* clock : {static_cast<Clock*>(&system), static_cast<Clock*>(&manual)}) {
        asio::io_context io;
        asio::cancellation_signal signal;
        std::string notes;
        asio::co_spawn(io, note_how_it_ends(*clock, 1h, notes),
                       asio::bind_cancellation_slot(signal.slot(), asio::detached));
        run_ready(io);
        signal.emit(asio::cancellation_type::terminal);
        run_ready(io);
        EXPECT_EQ(notes, "aborted");
    }
    EXPECT_EQ(manual.sleepers(), 0u);
}

// A test that fails half-way destroys things in any order.
TEST(ManualClock, SurvivesEitherEndGoingFirst) {
    std::string notes;
    ManualClock outer;
    {
        asio::io_context io;
        asio::co_spawn(io, sleep_and_note(outer, 1s, notes, 'a'), asio::detached);
        run_ready(io);
        EXPECT_EQ(outer.sleepers(), 1u);
    }
    EXPECT_EQ(outer.sleepers(), 0u);
    asio::io_context io;
    {
        ManualClock inner;
        asio::co_spawn(io, sleep_and_note(inner, 1s, notes, 'b'), asio::detached);
        run_ready(io);
    }
    EXPECT_EQ(notes, "");
}

Task<int> three_naps(Clock& clock) {
    int naps = 0;
    for (; naps < 3; ++naps) {
        const Instant deadline = clock.now() + 10s;
        co_await clock.sleep_until(deadline);
    }
    co_return naps;
}

TEST(ManualClock, RunTaskStepsThroughEverySleep) {
    ManualClock clock;
    asio::io_context io;
    const Instant start = clock.now();
    EXPECT_EQ(run_task(io, clock, three_naps(clock)), 3);
    EXPECT_EQ(clock.now() - start, 30s);
}

// Servers under test run in threads of their own while the test moves the clock.
TEST(ManualClock, WakesSleepersOfOtherThreads) {
    ManualClock clock;
    std::string notes;
    asio::io_context io;
    asio::co_spawn(io, sleep_and_note(clock, 5s, notes, 'a'), asio::detached);
    std::thread thread([&io] { io.run(); });
    while (clock.sleepers() == 0) {
        std::this_thread::yield();
    }
    clock.advance(5s);
    thread.join();
    EXPECT_EQ(notes, "a");
}

}  // namespace
}  // namespace sluice::test
