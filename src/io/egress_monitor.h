// Looks every few seconds whether each egress endpoint works, through the endpoint itself. Whether
// one is reached tells nothing about who can see what: it is no check of anonymity.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/secret.h"
#include "base/task.h"
#include "io/egress.h"
#include "io/http_client.h"
#include "obs/log.h"

#include <boost/asio/cancellation_signal.hpp>

#include <memory>
#include <string>
#include <vector>

namespace sluice::io {

// How long a probe may take, or the interval between two if that is shorter.
inline constexpr Millis kEgressProbeTimeout{5'000};

// One probe: a GET of `url` through `proxy`. Good: 2xx or 3xx. Else an Error that says what went
// wrong, without the proxy's password; kCancelled when the caller was cancelled.
Task<Status> probe_egress(HttpClient& http, Secret proxy, std::string url, Instant deadline);

// Belongs to the control loop.
class EgressMonitor {
 public:
    // References outlive it. `executor` is the control loop's.
    EgressMonitor(Executor executor, EgressRouter& router, HttpClient& http, Clock& clock,
                  const obs::Log& log);

    // Begins to probe what the router says. Once.
    void start();
    // The router was configured anew: endpoints are probed now, and at its interval from now on.
    void reconfigured();
    // Ends every probe and waits for that.
    Task<void> stop();

 private:
    using Signal = boost::asio::cancellation_signal;

    Task<void> run();
    void probe_all();
    Task<void> probe(EgressRoute endpoint, std::string url, Instant deadline);
    std::shared_ptr<Signal> new_signal();

    EgressRouter& router_;
    HttpClient& http_;
    Clock& clock_;
    std::shared_ptr<Alarm> alarm_;
    std::vector<std::weak_ptr<Signal>> signals_;  // of what runs in tasks_
    bool stopping_ = false;
    TaskScope tasks_;
};

}  // namespace sluice::io
