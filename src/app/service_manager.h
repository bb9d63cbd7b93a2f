// What a service manager hears of this process by sd_notify(3), and how long it waits for a sign of
// life. Where none has started the process (no NOTIFY_SOCKET), nothing is sent.
#pragma once

#include "base/clock.h"

#include <optional>
#include <string>

namespace sluice::app {

// Called on the main thread. A message is a datagram to a local socket; one that can't be sent is
// lost, since serving depends on no reader.
class ServiceManager {
 public:
    // `clock` outlives it.
    explicit ServiceManager(const Clock& clock) : clock_(clock) {}

    // Requests are accepted, after the start and after each reload; `status` is for people.
    void ready(const std::string& status) const;
    // The configuration is being read again; ready() follows, whatever became of it.
    void reloading() const;
    // No more requests are accepted, and the process ends by itself.
    void stopping() const;
    void alive() const;

    // How often alive() is to be called: twice in the time after which the process is killed.
    // Nothing when it is not watched.
    static std::optional<Millis> alive_interval();

 private:
    const Clock& clock_;
};

}  // namespace sluice::app
