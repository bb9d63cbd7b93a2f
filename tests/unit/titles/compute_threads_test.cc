#include "titles/compute_threads.h"

#include "base/task.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <optional>
#include <stdexcept>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace sluice::titles {
namespace {

using namespace std::chrono_literals;

Task<int> priority_here() {
    co_return getpriority(PRIO_PROCESS, static_cast<id_t>(gettid()));
}

Task<void> throw_here() {
    throw std::runtime_error("broken");
    co_return;
}

TEST(ComputeThreads, AreTakenAndGivenBack) {
    ComputeThreads threads("test", 2);
    std::optional<ComputeThreads::Slot> one = threads.try_acquire();
    std::optional<ComputeThreads::Slot> two = threads.try_acquire();
    ASSERT_TRUE(one && two);
    EXPECT_NE(one->executor(), two->executor());
    EXPECT_FALSE(threads.try_acquire());
    EXPECT_EQ(threads.busy(), 2U);
    one.reset();
    EXPECT_EQ(threads.busy(), 1U);
    EXPECT_TRUE(threads.try_acquire());
}

TEST(ComputeThreads, RunAtTheLowestPriority) {
    boost::asio::io_context loop{1};
    ComputeThreads threads("test", 1);
    const auto slot = threads.try_acquire();
    const int own = getpriority(PRIO_PROCESS, static_cast<id_t>(gettid()));
    std::optional<int> there;
    boost::asio::co_spawn(loop, run_on(slot->executor(), store_result(priority_here(), there)),
                          boost::asio::detached);
    loop.run();
    EXPECT_EQ(there, 19);
    EXPECT_EQ(getpriority(PRIO_PROCESS, static_cast<id_t>(gettid())), own) << "theirs alone";
}

// Tries until there is one, as nothing but a test does.
std::optional<ComputeThreads::Slot> take(ComputeThreads& threads) {
    for (;;) {
        if (auto slot = threads.try_acquire()) {
            return slot;
        }
        std::this_thread::yield();
    }
}

// However what was run there ends, and wherever it is asked from: ten thousand failures.
TEST(ComputeThreads, NeverMoreThanThereAre) {
    // The loops of those who wait outlive the threads that resume them.
    std::array<boost::asio::io_context, 4> loops;
    ComputeThreads threads("test", 2);
    std::atomic<int> running{0};
    std::atomic<int> most{0};
    const auto user = [&](boost::asio::io_context& loop) {
        for (int broken = 0; broken < 2'500; ++broken) {
            auto slot = take(threads);
            const int now = ++running;
            for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
            }
            std::exception_ptr thrown;
            boost::asio::co_spawn(loop, run_on(slot->executor(), throw_here()),
                                  [&](const std::exception_ptr& error) {
                                      thrown = error;
                                      --running;
                                      slot.reset();
                                  });
            loop.restart();
            loop.run();
            EXPECT_TRUE(thrown);
        }
    };
    std::vector<std::thread> users;
    for (boost::asio::io_context& loop : loops) {
        users.emplace_back([&] { user(loop); });
    }
    for (std::thread& thread : users) {
        thread.join();
    }
    EXPECT_LE(most, 2);
    EXPECT_EQ(threads.busy(), 0U);
}

Task<void> compute_until(const std::atomic<bool>& is_stopped) {
    while (!is_stopped) {
        std::this_thread::yield();
    }
    co_return;
}

// A task that never pauses hears of a cancellation by what it was given for that.
TEST(ComputeThreads, ACallerThatLeavesIsHeardOf) {
    boost::asio::io_context loop{1};
    ComputeThreads threads("test", 1);
    const auto slot = threads.try_acquire();
    std::atomic<bool> is_stopped{false};
    bool is_over = false;
    boost::asio::cancellation_signal leave;
    boost::asio::co_spawn(
        loop, run_on(slot->executor(), compute_until(is_stopped), [&] { is_stopped = true; }),
        boost::asio::bind_cancellation_slot(leave.slot(),
                                            [&](const std::exception_ptr&) { is_over = true; }));
    loop.run_for(10ms);
    EXPECT_FALSE(is_over);
    leave.emit(boost::asio::cancellation_type::terminal);
    loop.restart();
    loop.run();
    EXPECT_TRUE(is_over);
}

}  // namespace
}  // namespace sluice::titles
