#include "app/late_start.h"

#include <cstdint>

namespace sluice::app {

namespace {

constexpr Millis kLogInterval{60'000};

}  // namespace

LateStart::LateStart(Clock& clock, const obs::Log& log)
    : clock_(clock), log_(log), lines_(1, kLogInterval) {}

Task<bool> LateStart::take(std::function<Task<Status>()> step) {
    for (;;) {
        Task<Status> work = step();
        const Status done = co_await std::move(work);
        if (done.ok()) {
            co_return true;
        }
        if (!is_stopping_) {
            tell(done.error());
            co_await clock_.sleep_until(clock_.now() + kInterval);
        }
        if (is_stopping_) {
            co_return false;
        }
    }
}

void LateStart::tell(const Error& reason) {
    std::uint64_t suppressed = 0;
    const bool is_due = lines_.allow(clock_.now(), suppressed);
    if (is_due || reason.message != told_) {
        told_ = reason.message;
        log_.error("start_incomplete", {{"code", to_string(reason.code)},
                                        {"reason", reason.message},
                                        {"suppressed", suppressed}});
    }
}

}  // namespace sluice::app
