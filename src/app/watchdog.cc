#include "app/watchdog.h"

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <utility>

namespace sluice::app {

namespace {

void watch(const std::stop_token& stop, Millis limit, const std::function<void()>& act) {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    stopped.wait_for(lock, stop, limit, [] { return false; });
    if (!stop.stop_requested()) {
        act();
    }
}

}  // namespace

Watchdog::Watchdog(Millis limit, std::function<void()> act)
    : thread_([limit, act = std::move(act)](const std::stop_token& stop) {
          watch(stop, limit, act);
      }) {}

}  // namespace sluice::app
