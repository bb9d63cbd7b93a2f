// Task<T>: the coroutine type of the whole program (Asio's awaitable), how one is started, and how
// one is awaited on another thread's executor.
//
// Rules that keep coroutines right: parameters by value, or references to objects that app/wire.cc
// owns; no lambda with captures as a coroutine; no aggregate built inside a co_await expression.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace sluice {

// Every loop of the program is an io_context with one thread. Asio's type-erased executor would
// cost each step of a coroutine an allocation and several indirect calls.
using Executor = boost::asio::io_context::executor_type;

template <class T>
using Task = boost::asio::awaitable<T, Executor>;

// What an asynchronous operation of Asio is given to be awaited in a Task.
inline constexpr boost::asio::use_awaitable_t<Executor> use_task;

using Timer = boost::asio::basic_waitable_timer<
    std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>, Executor>;

// Counts the tasks it started, so that shutdown can wait for them. Not thread-safe: spawn, join and
// the destructor belong to the thread of `executor`. Destroying a scope that still counts tasks is
// our own mistake and aborts.
class TaskScope {
 public:
    // `on_exception` is called for an exception that leaves a task: a bug, to be logged.
    // Cancellation is not reported.
    TaskScope(Executor executor, std::function<void(std::exception_ptr)> on_exception);
    ~TaskScope();
    TaskScope(const TaskScope&) = delete;
    TaskScope& operator=(const TaskScope&) = delete;

    // Starts `task` on the scope's executor. False, with the task destroyed unstarted, after
    // close().
    bool spawn(Task<void> task);

    // As spawn(); the task can be cancelled through `signal`, emitted on the scope's thread. The
    // task keeps it alive to its very end.
    bool spawn(Task<void> task, std::shared_ptr<boost::asio::cancellation_signal> signal);

    // From here on spawn() refuses.
    void close();

    // Completes when no task is left. Called after close().
    Task<void> join();

    std::size_t running() const;

 private:
    struct State;
    std::shared_ptr<State> state_;
};

// Runs `task` on `executor` and resumes the caller on its own executor with the result, or with
// what the task threw; right here, without a turn of any loop, when that is the caller's own. A
// cancellation of the caller is carried over to the other executor and reaches the task there; the
// caller still waits for the task's end. `executor` must run one handler at a time (an io_context
// with one thread, or a strand), and both executors' contexts must outlive the call.
Task<void> run_on(Executor executor, Task<void> task);

// The same for a task that computes without a pause in which a cancellation could reach it: when
// the caller is cancelled, `on_cancel` is called on the caller's thread, while the task may run.
Task<void> run_on(Executor executor, Task<void> task, std::function<void()> on_cancel);

template <class T>
Task<void> store_result(Task<T> task, std::optional<T>& out) {
    out.emplace(co_await std::move(task));
}

template <class T>
Task<T> run_on(Executor executor, Task<T> task) {
    if (executor == co_await boost::asio::this_coro::executor) {
        co_return co_await std::move(task);
    }
    std::optional<T> result;
    co_await run_on(std::move(executor), store_result(std::move(task), result));
    co_return std::move(*result);
}

}  // namespace sluice
