// A loop on which real time passes, for tests of what talks to other programs. Tests that need no
// more than the clock go through support/run_task.h.
#pragma once

#include "base/clock.h"
#include "base/task.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <utility>

namespace sluice::test {

// How long a test waits for what comes at once, on a machine however slow. Nothing that works takes
// so long, and nothing that a test shows depends on it.
constexpr Duration kPatience = std::chrono::seconds(60);

class RealLoop {
 public:
    // The result of `task`; what it throws is thrown here. Other tasks of the loop go on meanwhile,
    // and afterwards.
    template <class T>
    T run(Task<T> task) {
        std::optional<T> result;
        run(store_result(std::move(task), result));
        return *std::move(result);
    }
    void run(Task<void> task) {
        bool done = false;
        boost::asio::co_spawn(loop, std::move(task), [&](const std::exception_ptr& error) {
            done = true;
            if (error) {
                std::rethrow_exception(error);
            }
        });
        while (!done) {
            loop.restart();
            loop.run_one();
        }
    }

    // Lets things happen until `condition` holds, which is looked at after each of them. False when
    // it did not for kPatience.
    bool until(const std::function<bool()>& condition) {
        const Instant end = clock.now() + kPatience;
        while (!condition() && clock.now() < end) {
            loop.restart();
            loop.run_one_for(std::chrono::milliseconds(10));
        }
        return condition();
    }
    // Lets things happen for so long.
    void pass(Duration time) {
        const Instant end = clock.now() + time;
        while (clock.now() < end) {
            loop.restart();
            loop.run_one_until(end);
        }
    }

    boost::asio::io_context loop{1};
    SystemClock clock;
};

}  // namespace sluice::test
