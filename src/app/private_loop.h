// A loop of a command's own, which runs tasks to their end on the calling thread.
#pragma once

#include "base/task.h"

#include <memory>
#include <optional>
#include <utility>

namespace sluice::app {

// Belongs to one thread. What a task leaves to be done later is not waited for. An exception of the
// task is thrown again.
class PrivateLoop {
 public:
    PrivateLoop();
    ~PrivateLoop();
    PrivateLoop(const PrivateLoop&) = delete;
    PrivateLoop& operator=(const PrivateLoop&) = delete;

    Executor executor();

    void run(Task<void> task);
    template <class T>
    T run(Task<T> task) {
        std::optional<T> result;
        run(store_result(std::move(task), result));
        return std::move(*result);
    }

 private:
    struct Loop;
    std::unique_ptr<Loop> loop_;
};

}  // namespace sluice::app
