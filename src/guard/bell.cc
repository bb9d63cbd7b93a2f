#include "guard/bell.h"

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

namespace sluice::guard {

void Bell::ring() {
    rang_ = true;
    if (alarm_) {
        alarm_->ring();
    }
}

Task<void> Bell::wait_until(Clock& clock, Instant deadline) {
    if (!rang_) {
        alarm_ = std::make_shared<Alarm>(co_await boost::asio::this_coro::executor);
        co_await clock.wait(alarm_, deadline);
        alarm_.reset();
        if (!rang_ && clock.now() < deadline) {
            throw boost::system::system_error(boost::asio::error::operation_aborted);
        }
    }
    rang_ = false;
}

}  // namespace sluice::guard
