#include "base/clock.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include <utility>

namespace sluice {

namespace asio = boost::asio;

Alarm::Alarm(Executor executor) : timer_(std::move(executor), Instant::max()) {}

void Alarm::ring() {
    timer_.cancel();
}

Task<void> Clock::sleep_until(Instant deadline) {
    auto alarm = std::make_shared<Alarm>(co_await asio::this_coro::executor);
    co_await wait(std::move(alarm), deadline);
    if (now() < deadline) {
        throw boost::system::system_error(asio::error::operation_aborted);
    }
}

Instant SystemClock::now() const {
    return std::chrono::steady_clock::now();
}

WallTime SystemClock::wall_now() const {
    return std::chrono::system_clock::now();
}

Task<void> SystemClock::wait(std::shared_ptr<Alarm> alarm, Instant deadline) {
    alarm->timer_.expires_at(deadline);
    co_await alarm->timer_.async_wait(asio::as_tuple(use_task));
}

}  // namespace sluice
