// Runs tasks to their end inside a test, on the test's own thread and without waiting for real
// time.
#pragma once

#include "base/result.h"
#include "base/task.h"
#include "support/manual_clock.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <optional>
#include <utility>

namespace sluice::test {

// Runs everything that can run without time passing.
inline void run_ready(boost::asio::io_context& io) {
    io.restart();
    io.poll();
}

namespace detail {

// Steps the clock from deadline to deadline until `done`. A task that waits for something else than
// the clock would wait for ever: that aborts the test.
inline void run_until(boost::asio::io_context& io, ManualClock& clock, const bool& done) {
    run_ready(io);
    while (!done) {
        const std::optional<Instant> next = clock.next_deadline();
        SLUICE_ASSERT(next.has_value() && "the task neither ended nor sleeps");
        clock.advance_to(*next);
        run_ready(io);
    }
}

}  // namespace detail

// The result of `task`; what it throws is thrown here. For tasks that touch nothing but the clock
// and each other: real sockets need io.run().
template <class T>
T run_task(boost::asio::io_context& io, ManualClock& clock, Task<T> task) {
    bool done = false;
    std::exception_ptr error;
    std::optional<T> result;
    boost::asio::co_spawn(io, store_result(std::move(task), result), [&](std::exception_ptr e) {
        error = std::move(e);
        done = true;
    });
    detail::run_until(io, clock, done);
    if (error) {
        std::rethrow_exception(error);
    }
    return std::move(*result);
}

inline void run_task(boost::asio::io_context& io, ManualClock& clock, Task<void> task) {
    bool done = false;
    std::exception_ptr error;
    boost::asio::co_spawn(io, std::move(task), [&](std::exception_ptr e) {
        error = std::move(e);
        done = true;
    });
    detail::run_until(io, clock, done);
    if (error) {
        std::rethrow_exception(error);
    }
}

}  // namespace sluice::test
