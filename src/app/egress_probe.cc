#include "app/egress_probe.h"

#include "io/egress_monitor.h"
#include "io/http_client.h"
#include "obs/log.h"
#include "obs/metrics.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <utility>

namespace sluice::app {

namespace {

void pass_on(const std::exception_ptr& error) {
    if (error) {
        std::rethrow_exception(error);
    }
}

Task<void> probe(io::HttpClient& http, const Clock& clock, Secret proxy, std::string url,
                 ProbedEndpoint& out) {
    const Instant begun = clock.now();
    const Instant deadline = begun + io::kEgressProbeTimeout;
    out.end = co_await io::probe_egress(http, std::move(proxy), std::move(url), deadline);
    out.elapsed = std::chrono::duration_cast<Millis>(clock.now() - begun);
}

}  // namespace

std::vector<ProbedEndpoint> probe_endpoints(const Config& config) {
    const io::EgressConfig& egress = config.web.egress;
    std::vector<ProbedEndpoint> probed;
    if (egress.health_check_url.empty()) {
        return probed;
    }
    for (const auto& [name, endpoint] : egress.endpoints) {
        probed.push_back({name, endpoint.address, {}, {}});
    }
    const SystemClock clock;
    const std::unique_ptr<obs::LogSink> sink = obs::make_stderr_sink();
    const obs::Log log(clock, *sink, obs::Level::kError);
    obs::Metrics metrics;
    boost::asio::io_context loop(1);
    io::CurlHttpClient http(loop.get_executor(), config.upstream, clock, log, metrics);
    auto out = probed.begin();
    for (const auto& [name, endpoint] : egress.endpoints) {
        boost::asio::co_spawn(
            loop, probe(http, clock, endpoint.url, egress.health_check_url, *out++), pass_on);
    }
    loop.run();
    return probed;
}

}  // namespace sluice::app
