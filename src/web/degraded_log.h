// Log lines about searches that could not be served as they should be. An outage makes thousands of
// them: of each kind a few a minute are written, and each says how many were held back before it.
// Thread-safe.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "obs/log.h"
#include "web/types.h"

namespace sluice::web {

class DegradedLog {
 public:
    // Of each kind.
    static constexpr int kLines = 6;
    static constexpr Millis kPer{60'000};

    // References outlive it.
    DegradedLog(const obs::Log& log, const Clock& clock);

    // An old answer was served for want of a new one.
    void stale(Lane lane, const Error& why);
    // An answer was served that somebody who failed may be missing from.
    void degraded(Lane lane);
    // There was no answer at all. Nothing is written when that is the caller's doing.
    void unanswered(Lane lane, const Error& why);

 private:
    const obs::Log& log_;
    const Clock& clock_;
    obs::LogLimiter stale_;
    obs::LogLimiter degraded_;
    obs::LogLimiter unanswered_;
};

}  // namespace sluice::web
