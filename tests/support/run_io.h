// Runs a task to its end on a loop that waits for other threads: for tests of what has threads of
// its own. Tasks that only need the clock go through support/run_task.h.
#pragma once

#include "base/task.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <optional>
#include <utility>

namespace sluice::test {

// The result of `task`; what it throws is thrown here.
template <class T>
T run_io(boost::asio::io_context& io, Task<T> task) {
    std::exception_ptr error;
    std::optional<T> result;
    boost::asio::co_spawn(io, store_result(std::move(task), result),
                          [&](std::exception_ptr e) { error = std::move(e); });
    io.restart();
    io.run();
    if (error) {
        std::rethrow_exception(error);
    }
    return std::move(*result);
}

}  // namespace sluice::test
