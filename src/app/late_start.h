// A start that goes on in the background, since its database was away: step by step, each tried
// until it is done.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "obs/log.h"

#include <functional>
#include <string>

namespace sluice::app {

// Of the control loop.
class LateStart {
 public:
    static constexpr Millis kInterval{500};

    // References outlive it.
    LateStart(Clock& clock, const obs::Log& log);

    // Takes `step`, and again every kInterval until it succeeds; why it does not is logged when
    // that changes, and once a minute. False when stop() came before that.
    Task<bool> take(std::function<Task<Status>()> step);

    // A step under way is finished, none is tried again.
    void stop() { is_stopping_ = true; }

 private:
    void tell(const Error& reason);

    Clock& clock_;
    const obs::Log& log_;
    obs::LogLimiter lines_;
    std::string told_;  // the reason that was logged last
    bool is_stopping_ = false;
};

}  // namespace sluice::app
