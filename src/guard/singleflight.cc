#include "guard/singleflight.h"

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include <string>

namespace sluice::guard::detail {

namespace asio = boost::asio;

// When all flights are taken, one has landed in about this time.
constexpr Millis kRetryAfterOverload{1000};

void cancel(asio::cancellation_signal& signal) {
    signal.emit(asio::cancellation_type::terminal);
}

bool is_cancellation() {
    try {
        throw;
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
