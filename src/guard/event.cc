#include "guard/event.h"

#include "base/result.h"

#include <boost/asio/this_coro.hpp>

#include <memory>
#include <utility>

namespace sluice::guard {

namespace asio = boost::asio;

// Lives while a task waits, and tells the event when it is gone, however the task ends.
class Event::Waiting {
 public:
    Waiting(Event& event, const Executor& executor)
        : alarm(std::make_shared<Alarm>(executor)), event_(event) {
        SLUICE_ASSERT(event_.waiting_ == nullptr);
        event_.waiting_ = this;
    }
    ~Waiting() { event_.waiting_ = nullptr; }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

    const std::shared_ptr<Alarm> alarm;

 private:
    Event& event_;
};

void Event::set() {
    if (std::exchange(set_, true)) {
        return;
    }
    if (waiting_ != nullptr) {
        waiting_->alarm->ring();
    }
}

Task<WaitEnd> Event::wait_until(Clock& clock, Instant deadline) {
    if (set_) {
        co_return WaitEnd::kSet;
    }
    if (deadline <= clock.now()) {
        co_return WaitEnd::kDeadline;
    }
    Waiting waiting(*this, co_await asio::this_coro::executor);
    co_await clock.wait(waiting.alarm, deadline);
    if (set_) {
        co_return WaitEnd::kSet;
    }
    co_return clock.now() >= deadline ? WaitEnd::kDeadline : WaitEnd::kCancelled;
}

}  // namespace sluice::guard
