#include "guard/event.h"

#include "base/result.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/cancellation_condition.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <exception>
#include <utility>

namespace sluice::guard {

namespace asio = boost::asio;

namespace {

// Anything but a cancellation is a mistake of the clock's, which must not pass for a deadline.
void rethrow_unless_cancelled(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const boost::system::system_error& e) {
        if (e.code() != asio::error::operation_aborted) {
            throw;
        }
    }
}

}  // namespace

// Lives while a task waits, and tells the event when it is gone, however the task ends.
class Event::Waiting {
 public:
    Waiting(Event& event, const asio::any_io_executor& executor)
        : timer(executor, asio::steady_timer::time_point::max()), event_(event) {
        SLUICE_ASSERT(event_.waiting_ == nullptr);
        event_.waiting_ = this;
    }
    ~Waiting() { event_.waiting_ = nullptr; }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

    asio::steady_timer timer;  // never expires: cancelled by set()

 private:
    Event& event_;
};

void Event::set() {
    if (std::exchange(set_, true)) {
        return;
    }
    if (waiting_ != nullptr) {
        waiting_->timer.cancel();
    }
}

Task<WaitEnd> Event::wait_until(Clock& clock, Instant deadline) {
    if (set_) {
        co_return WaitEnd::kSet;
    }
    if (deadline <= clock.now()) {
        co_return WaitEnd::kDeadline;
    }
    const auto executor = co_await asio::this_coro::executor;
    Waiting waiting(*this, executor);
    auto happened = waiting.timer.async_wait(asio::deferred);
    auto slept = asio::co_spawn(executor, clock.sleep_until(deadline), asio::deferred);
    auto either = asio::experimental::make_parallel_group(happened, std::move(slept));
    const auto [order, ignored, sleep_error] =
        co_await either.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
    if (set_) {
        co_return WaitEnd::kSet;
    }
    if (sleep_error) {
        rethrow_unless_cancelled(sleep_error);
        co_return WaitEnd::kCancelled;
    }
    co_return WaitEnd::kDeadline;
}

}  // namespace sluice::guard
