#include "base/clock.h"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace sluice {

Instant SystemClock::now() const {
    return std::chrono::steady_clock::now();
}

WallTime SystemClock::wall_now() const {
    return std::chrono::system_clock::now();
}

Task<void> SystemClock::sleep_until(Instant deadline) {
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, deadline);
    co_await timer.async_wait(boost::asio::use_awaitable);
}

}  // namespace sluice
