#include "io/egress_monitor.h"

#include "base/exception.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace sluice::io {

namespace {

// More of an answer than anybody needs to know that there is one.
constexpr std::size_t kMaxProbeBytes = 256 * 1024;

}  // namespace

Task<Status> probe_egress(HttpClient& http, Secret proxy, std::string url, Instant deadline) {
    ClientRequest request;
    request.url = std::move(url);
    request.proxy = std::move(proxy);
    request.deadline = deadline;
    request.max_response_bytes = kMaxProbeBytes;
    const Result<ClientResponse> response = co_await http.send(std::move(request));
    if (!response.ok()) {
        co_return response.error();
    }
    if (response->status < 200 || response->status >= 400) {
        co_return Error{
            Code::kUnavailable, Blame::kGateway,
            "egress.health_check_url was answered with HTTP " + std::to_string(response->status),
            std::nullopt};
    }
    co_return Status();
}

EgressMonitor::EgressMonitor(Executor executor, EgressRouter& router, HttpClient& http,
                             Clock& clock, const obs::Log& log)
    : router_(router),
      http_(http),
      clock_(clock),
      alarm_(std::make_shared<Alarm>(executor)),
      tasks_(executor, [&log](const std::exception_ptr& error) {
          log.error("task_failed", {{"exception", exception_type(error)}});
      }) {}

void EgressMonitor::start() {
    tasks_.spawn(run(), new_signal());
}

void EgressMonitor::reconfigured() {
    alarm_->ring();
}

Task<void> EgressMonitor::stop() {
    stopping_ = true;
    tasks_.close();
    for (const auto& weak : std::exchange(signals_, {})) {
        if (const auto signal = weak.lock()) {
            signal->emit(boost::asio::cancellation_type::terminal);
        }
    }
    co_await tasks_.join();
}

Task<void> EgressMonitor::run() {
    while (!stopping_) {
        probe_all();
        co_await clock_.wait(alarm_, clock_.now() + router_.probes().interval);
    }
}

void EgressMonitor::probe_all() {
    EgressRouter::Probes probes = router_.probes();
    const Instant deadline =
        clock_.now() + std::min<Duration>(probes.interval, kEgressProbeTimeout);
    for (EgressRoute& endpoint : probes.endpoints) {
        tasks_.spawn(probe(std::move(endpoint), probes.url, deadline), new_signal());
    }
}

Task<void> EgressMonitor::probe(EgressRoute endpoint, std::string url, Instant deadline) {
    if (stopping_) {
        co_return;  // cancelled before it began, which nobody noticed
    }
    const Status end = co_await probe_egress(http_, endpoint.proxy(), std::move(url), deadline);
    const bool says_nothing = !end.ok() && (end.error().code == Code::kCancelled ||
                                            end.error().code == Code::kOverloaded);
    if (!says_nothing) {
        router_.report_probe(endpoint, end);
    }
}

std::shared_ptr<EgressMonitor::Signal> EgressMonitor::new_signal() {
    std::erase_if(signals_, [](const auto& weak) { return weak.expired(); });
    auto signal = std::make_shared<Signal>();
    signals_.push_back(signal);
    return signal;
}

}  // namespace sluice::io
