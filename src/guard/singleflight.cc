#include "guard/singleflight.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <string>

namespace sluice::guard::detail {

namespace asio = boost::asio;

// When all flights are taken, one has landed in about this time.
constexpr Millis kRetryAfterOverload{1000};

Task<std::exception_ptr> run_cancellable(Task<void> task, asio::cancellation_signal& signal) {
    // A task of its own, with the signal owned by who awaits it: the signal's handlers are used
    // until the very end of that task, so it must not own the signal itself.
    const auto executor = co_await asio::this_coro::executor;
    auto [error] = co_await asio::co_spawn(
        executor, std::move(task),
        asio::bind_cancellation_slot(signal.slot(), asio::as_tuple(asio::use_awaitable)));
    co_return error;
}

void cancel(asio::cancellation_signal& signal) {
    signal.emit(asio::cancellation_type::terminal);
}

bool is_cancellation(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const boost::system::system_error& e) {
        return e.code() == asio::error::operation_aborted;
    } catch (...) {
        return false;
    }
}

Error too_many_flights(std::size_t max_flights) {
    return Error{Code::kOverloaded, Blame::kGateway,
                 "all " + std::to_string(max_flights) + " places for work in flight are taken",
                 kRetryAfterOverload};
}

Error flights_closed() {
    return Error{Code::kUnavailable, Blame::kGateway, "shutting down", kRetryAfterOverload};
}

Error waited_too_long() {
    return Error{Code::kDeadlineExceeded, Blame::kGateway,
                 "the deadline passed before the result was there", std::nullopt};
}

Error waiter_left() {
    return Error{Code::kCancelled, Blame::kCaller, "the caller left before the result was there",
                 std::nullopt};
}

Error flight_cancelled() {
    return Error{Code::kCancelled, Blame::kGateway, "the work was cancelled", std::nullopt};
}

Error flight_failed() {
    return Error{Code::kInternal, Blame::kGateway, "the work ended without a result", std::nullopt};
}

}  // namespace sluice::guard::detail
