// Windows that replicas count in together, through Redis. A request waits for nothing: it is
// counted here, what was counted is told at once, and what all have counted by then is the answer.
// So each replica may pass a window by one request, and by those that come within the time of a
// telling.
#pragma once

#include "access/windows.h"
#include "base/clock.h"
#include "base/task.h"
#include "io/redis.h"

#include <memory>
#include <span>

namespace sluice::access {

// Belongs to the control loop.
class SharedWindows {
 public:
    // Between two tellings.
    static constexpr Millis kPause{1};

    // References outlive it. Before the first request; `windows` is used no more when it goes.
    SharedWindows(io::RedisClient& redis, RequestWindows& windows, Clock& clock);

    // Tells what was counted, for ever; ends by cancellation. What is counted while Redis can't be
    // used is counted here alone.
    Task<void> run();

 private:
    struct News;

    Task<void> tell();
    Task<void> tell(std::span<const RequestWindows::Count> counts);

    io::RedisClient& redis_;
    RequestWindows& windows_;
    Clock& clock_;
    const std::shared_ptr<News> news_;
};

}  // namespace sluice::access
