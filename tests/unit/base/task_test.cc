#include "base/task.h"

#include "support/run_task.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

namespace sluice::test {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

Task<void> sleep(Clock& clock, Duration duration) {
    const Instant deadline = clock.now() + duration;
    co_await clock.sleep_until(deadline);
}

Task<void> throw_logic_error() {
    throw std::logic_error("a bug");
    co_return;
}

Task<void> join_and_note(TaskScope& scope, bool& joined) {
    co_await scope.join();
    joined = true;
}

std::string what(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& e) {
        return e.what();
    }
}

class TaskScopeTest : public ::testing::Test {
 protected:
    asio::io_context io_;
    ManualClock clock_;
    std::string reported_;
    TaskScope scope_{io_.get_executor(),
                     [this](const std::exception_ptr& e) { reported_ += what(e) + ";"; }};
};

// Shutdown waits for everything that was started, and no longer.
TEST_F(TaskScopeTest, JoinCompletesWithTheLastTask) {
    EXPECT_TRUE(scope_.spawn(sleep(clock_, 1s)));
    EXPECT_TRUE(scope_.spawn(sleep(clock_, 2s)));
    EXPECT_EQ(scope_.running(), 2u);
    scope_.close();
    bool joined = false;
    asio::co_spawn(io_, join_and_note(scope_, joined), asio::detached);
    run_ready(io_);
    clock_.advance(1s);
    run_ready(io_);
    EXPECT_EQ(scope_.running(), 1u);
    EXPECT_FALSE(joined);
    clock_.advance(1s);
    run_ready(io_);
    EXPECT_TRUE(joined);
    EXPECT_EQ(scope_.running(), 0u);
    EXPECT_EQ(reported_, "");
}

TEST_F(TaskScopeTest, JoinOfAnEmptyScopeCompletesAtOnce) {
    bool joined = false;
    asio::co_spawn(io_, join_and_note(scope_, joined), asio::detached);
    run_ready(io_);
    EXPECT_TRUE(joined);
}

TEST_F(TaskScopeTest, RefusesTasksAfterClose) {
    const auto signal = std::make_shared<asio::cancellation_signal>();
    scope_.close();
    EXPECT_FALSE(scope_.spawn(sleep(clock_, 1s)));
    EXPECT_FALSE(scope_.spawn(sleep(clock_, 1s), signal));
    run_ready(io_);
    EXPECT_EQ(clock_.sleepers(), 0u);
    EXPECT_EQ(scope_.running(), 0u);
}

// A bug in a task must show in the log; a cancelled task is not one.
TEST_F(TaskScopeTest, ReportsExceptionsButNotCancellation) {
    const auto signal = std::make_shared<asio::cancellation_signal>();
    EXPECT_TRUE(scope_.spawn(throw_logic_error()));
    EXPECT_TRUE(scope_.spawn(sleep(clock_, 1h), signal));
    run_ready(io_);
    EXPECT_EQ(reported_, "a bug;");
    EXPECT_EQ(scope_.running(), 1u);
    signal->emit(asio::cancellation_type::terminal);
    run_ready(io_);
    EXPECT_EQ(reported_, "a bug;");
    EXPECT_EQ(scope_.running(), 0u);
}

TEST(TaskScopeDeathTest, DestroyedWhileItCountsAborts) {
    const auto destroy_early = [] {
        asio::io_context io;
        ManualClock clock;
        TaskScope scope(io.get_executor(), [](const std::exception_ptr&) {});
        scope.spawn(sleep(clock, 1h));
    };
    EXPECT_DEATH(destroy_early(), "assertion failed");
}

// A second io_context with a thread of its own, as the gateway has one per core. Declared after the
// first, so that its thread has left the first alone before that is destroyed.
class OtherThread {
 public:
    OtherThread() : work_(io_.get_executor()), thread_([this] { io_.run(); }) {}
    ~OtherThread() {
        work_.reset();
        thread_.join();
    }

    Executor executor() { return io_.get_executor(); }
    std::thread::id id() const { return thread_.get_id(); }

 private:
    asio::io_context io_;
    asio::executor_work_guard<asio::io_context::executor_type> work_;
    std::thread thread_;
};

Task<std::thread::id> this_thread_id() {
    co_await asio::post(use_task);
    co_return std::this_thread::get_id();
}

struct Visit {
    std::thread::id before;
    std::thread::id there;
    std::thread::id after;
};

Task<void> visit(Executor other, Visit& visit) {
    visit.before = std::this_thread::get_id();
    visit.there = co_await run_on(std::move(other), this_thread_id());
    visit.after = std::this_thread::get_id();
}

// Per-core state stays with its thread only if each side of a call runs where it belongs.
TEST(RunOn, RunsThereAndResumesHere) {
    asio::io_context io;
    OtherThread other;
    Visit seen;
    asio::co_spawn(io, visit(other.executor(), seen), asio::detached);
    io.run();  // must not return while the call is away
    EXPECT_EQ(seen.before, std::this_thread::get_id());
    EXPECT_EQ(seen.there, other.id());
    EXPECT_EQ(seen.after, std::this_thread::get_id());
}

TEST(RunOn, WorksOnOnesOwnExecutor) {
    asio::io_context io;
    Visit seen;
    asio::co_spawn(io, visit(io.get_executor(), seen), asio::detached);
    io.run();
    EXPECT_EQ(seen.there, std::this_thread::get_id());
    EXPECT_EQ(seen.after, std::this_thread::get_id());
}

Task<void> run_and_note(Executor other, Task<void> task, std::string& notes) {
    try {
        co_await run_on(std::move(other), std::move(task));
        notes += "done;";
    } catch (const boost::system::system_error& e) {
        notes += e.code() == asio::error::operation_aborted ? "aborted;" : "failed;";
    } catch (const std::logic_error& e) {
        notes += std::string(e.what()) + ";";
    }
}

TEST(RunOn, CarriesExceptionsBack) {
    asio::io_context io;
    OtherThread other;
    std::string notes;
    asio::co_spawn(io, run_and_note(other.executor(), throw_logic_error(), notes), asio::detached);
    io.run();
    EXPECT_EQ(notes, "a bug;");
}

// A client that leaves frees what its search holds on another core.
TEST(RunOn, CarriesCancellationOver) {
    ManualClock clock;
    asio::io_context io;
    OtherThread other;
    asio::cancellation_signal signal;
    std::string notes;
    asio::co_spawn(io, run_and_note(other.executor(), sleep(clock, 1h), notes),
                   asio::bind_cancellation_slot(signal.slot(), asio::detached));
    run_ready(io);
    while (clock.sleepers() == 0) {
        std::this_thread::yield();
    }
    signal.emit(asio::cancellation_type::terminal);
    io.restart();
    io.run();
    EXPECT_EQ(notes, "aborted;");
    EXPECT_EQ(clock.sleepers(), 0u);
}

void block_until(const std::atomic<bool>& flag) {
    while (!flag) {
        std::this_thread::yield();
    }
}

Task<void> hold_thread(std::atomic<bool>& holds, const std::atomic<bool>& let_go) {
    co_await asio::post(use_task);
    holds = true;
    block_until(let_go);
}

// A cancellation can cross the task's end on the way: when it arrives over there, the caller and
// its signal may be gone. AddressSanitizer judges.
TEST(RunOn, CancellationThatArrivesTooLateTouchesNothing) {
    std::string notes;
    std::atomic<bool> in_task{false};
    std::atomic<bool> end_task{false};
    std::atomic<bool> end_delay{false};
    asio::io_context io;
    OtherThread other;
    {
        asio::cancellation_signal signal;
        asio::co_spawn(io, run_and_note(other.executor(), hold_thread(in_task, end_task), notes),
                       asio::bind_cancellation_slot(signal.slot(), asio::detached));
        run_ready(io);
        block_until(in_task);
        // Over there the task's end, the delay and the cancellation are next, in this order.
        asio::post(other.executor(), [&] { block_until(end_delay); });
        signal.emit(asio::cancellation_type::terminal);
        run_ready(io);
        end_task = true;
        io.restart();
        io.run();
    }
    EXPECT_EQ(notes, "done;");
    end_delay = true;
}

Task<void> one_switch() {
    co_await asio::post(use_task);
}

// The same with chance as the scheduler.
TEST(RunOn, CancellationRacingTheEndIsHarmless) {
    constexpr int kRounds = 2000;
    std::string notes;
    asio::io_context io;
    OtherThread other;
    for (int round = 0; round < kRounds; ++round) {
        asio::cancellation_signal signal;
        asio::co_spawn(io, run_and_note(other.executor(), one_switch(), notes),
                       asio::bind_cancellation_slot(signal.slot(), asio::detached));
        run_ready(io);
        for (int spin = 0; spin < round % 50; ++spin) {
            std::this_thread::yield();
        }
        signal.emit(asio::cancellation_type::terminal);
        io.restart();
        io.run();
    }
    EXPECT_GE(notes.size(), std::size_t{kRounds} * 5);
}

}  // namespace
}  // namespace sluice::test
