#include "base/task.h"

#include "base/result.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
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
    Timer idle;  // never expires: cancelled when the last task is done
    std::size_t running = 0;
    bool closed = false;
};

namespace {

// What co_spawn() starts. It lives in the outermost frame, which is the last part of a task to go:
// handlers inside the signal are used until then, so neither the task nor its completion handler
// may own it.
class CancellableTask {
 public:
    CancellableTask(Task<void> task, std::shared_ptr<asio::cancellation_signal> signal)
        : task_(std::move(task)), signal_(std::move(signal)) {}

    Task<void> operator()() { return std::move(task_); }

 private:
    Task<void> task_;
    std::shared_ptr<asio::cancellation_signal> signal_;
};

}  // namespace

TaskScope::TaskScope(Executor executor, std::function<void(std::exception_ptr)> on_exception)
    : state_(std::make_shared<State>(std::move(executor), std::move(on_exception))) {}

TaskScope::~TaskScope() {
    SLUICE_ASSERT(state_->running == 0);
}

bool TaskScope::spawn(Task<void> task) {
    if (state_->closed) {
        return false;
    }
    state_->running += 1;
    asio::co_spawn(state_->executor, std::move(task),
                   [state = state_](const std::exception_ptr& error) { state->finished(error); });
    return true;
}

bool TaskScope::spawn(Task<void> task, std::shared_ptr<asio::cancellation_signal> signal) {
    if (state_->closed) {
        return false;
    }
    state_->running += 1;
    const asio::cancellation_slot slot = signal->slot();
    asio::co_spawn(
        state_->executor, CancellableTask(std::move(task), std::move(signal)),
        asio::bind_cancellation_slot(
            slot, [state = state_](const std::exception_ptr& e) { state->finished(e); }));
    return true;
}

void TaskScope::close() {
    state_->closed = true;
}

Task<void> TaskScope::join() {
    auto state = state_;
    while (state->running > 0) {
        co_await state->idle.async_wait(asio::as_tuple(use_task));
    }
}

std::size_t TaskScope::running() const {
    return state_->running;
}

namespace {

// What a cancellation on its way to the other executor keeps alive. asio::co_spawn's own forwarding
// posts a pointer into the caller's cancellation slot, which is gone if the task ends first.
struct AwayCall {
    asio::cancellation_signal signal;  // once the task is started, touched on its executor only
};

struct StartAway {
    template <class Handler>
    void operator()(Handler&& handler, const Executor& executor, Task<void> task,
                    std::function<void()> on_cancel) const {
        auto call = std::make_shared<AwayCall>();
        const auto slot = asio::get_associated_cancellation_slot(handler);
        if (slot.is_connected()) {
            auto forward = [call, executor,
                            on_cancel = std::move(on_cancel)](asio::cancellation_type type) {
                if (on_cancel) {
                    on_cancel();
                }
                asio::post(executor, [call, type] { call->signal.emit(type); });
            };
            asio::cancellation_slot(slot).assign(std::move(forward));
        }
        // Keeps the caller's io_context from running out of work meanwhile.
        auto home = asio::make_work_guard(asio::get_associated_executor(handler));
        auto come_back = [call, home = std::move(home), handler = std::forward<Handler>(handler)](
                             const std::exception_ptr& error) mutable {
            const auto executor_of_caller = home.get_executor();
            asio::post(executor_of_caller, [home = std::move(home), handler = std::move(handler),
                                            error]() mutable { std::move(handler)(error); });
        };
        asio::co_spawn(executor, std::move(task),
                       asio::bind_cancellation_slot(call->signal.slot(), std::move(come_back)));
    }
};

}  // namespace

Task<void> run_on(Executor executor, Task<void> task) {
    if (executor == co_await asio::this_coro::executor) {
        co_await std::move(task);
        co_return;
    }
    co_await run_on(std::move(executor), std::move(task), nullptr);
}

Task<void> run_on(Executor executor, Task<void> task, std::function<void()> on_cancel) {
    const auto token = use_task;
    co_await asio::async_initiate<const asio::use_awaitable_t<Executor>, void(std::exception_ptr)>(
        StartAway(), token, std::move(executor), std::move(task), std::move(on_cancel));
}

}  // namespace sluice
