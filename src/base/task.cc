#include "base/task.h"

#include "base/result.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

namespace sluice {

namespace asio = boost::asio;

struct TaskScope::State {
    explicit State(Executor ex, std::function<void(std::exception_ptr)> handler)
        : executor(std::move(ex)), on_exception(std::move(handler)), idle(executor) {
        idle.expires_at(std::chrono::steady_clock::time_point::max());
    }

    // Called when a task is done, whichever way.
    void finished(const std::exception_ptr& error) {
        running -= 1;
        if (running == 0) {
            idle.cancel();
        }
        if (!error) {
            return;
        }
        try {
            std::rethrow_exception(error);
        } catch (const boost::system::system_error& e) {
            if (e.code() == asio::error::operation_aborted) {
                return;
            }
            on_exception(error);
        } catch (...) {
            on_exception(error);
        }
    }

    Executor executor;
    std::function<void(std::exception_ptr)> on_exception;
    asio::steady_timer idle;  // never expires: cancelled when the last task is done
    std::size_t running = 0;
    bool closed = false;
};

TaskScope::TaskScope(Executor executor, std::function<void(std::exception_ptr)> on_exception)
    : state_(std::make_shared<State>(std::move(executor), std::move(on_exception))) {}

TaskScope::~TaskScope() { SLUICE_ASSERT(state_->running == 0); }

bool TaskScope::spawn(Task<void> task) {
    if (state_->closed) {
        return false;
    }
    state_->running += 1;
    asio::co_spawn(state_->executor, std::move(task),
                   [state = state_](const std::exception_ptr& error) { state->finished(error); });
    return true;
}

bool TaskScope::spawn(Task<void> task, asio::cancellation_signal& signal) {
    if (state_->closed) {
        return false;
    }
    state_->running += 1;
    asio::co_spawn(
        state_->executor, std::move(task),
        asio::bind_cancellation_slot(signal.slot(), [state = state_](const std::exception_ptr& e) {
            state->finished(e);
        }));
    return true;
}

void TaskScope::close() { state_->closed = true; }

Task<void> TaskScope::join() {
    auto state = state_;
    while (state->running > 0) {
        co_await state->idle.async_wait(asio::as_tuple(asio::use_awaitable));
    }
}

std::size_t TaskScope::running() const { return state_->running; }

Task<void> run_on(Executor executor, Task<void> task) {
    co_await asio::co_spawn(std::move(executor), std::move(task), asio::use_awaitable);
}

}  // namespace sluice
