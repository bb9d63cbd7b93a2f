// A server with a fixed answer, to measure what HTTP costs by itself:
//
//     hello_server PORT [THREADS] [BODY_BYTES]      "/" at once, "/slow" from a Task after 10 ms
//
// bench/http_server/compare runs it against nginx.
#include "base/clock.h"
#include "base/random.h"
#include "io/http_server.h"
#include "obs/log.h"
#include "obs/metrics.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <iostream>
#include <string>

namespace {

using namespace sluice;
using namespace std::chrono_literals;

class FixedHandler final : public io::HttpHandler {
 public:
    FixedHandler(Clock& clock, std::size_t bytes)
        : clock_(clock), body_(std::make_shared<const io::HttpBody>(std::string(bytes, 'x'))) {}

    io::HttpReply handle(const io::HttpRequest& request) override {
        if (request.path == "/slow") {
            return later();
        }
        return fixed();
    }

    io::HttpResponse refuse(const Error& error, const RequestId&) override {
        io::HttpResponse response;
        response.status = 400;
        response.headers = "Content-Type: text/plain\r\n";
        response.lead = error.message + "\n";
        return response;
    }

 private:
    io::HttpResponse fixed() const {
        io::HttpResponse response;
        response.headers = "Content-Type: text/plain\r\n";
        response.body = body_;
        return response;
    }

    Task<io::HttpResponse> later() {
        const Instant then = clock_.now() + 10ms;
        co_await clock_.sleep_until(then);
        co_return fixed();
    }

    Clock& clock_;
    std::shared_ptr<const io::HttpBody> body_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        std::cerr << "usage: hello_server PORT [THREADS] [BODY_BYTES]\n";
        return 2;
    }
    SystemClock clock;
    SystemRandom random;
    const auto sink = obs::make_stderr_sink();
    const obs::Log log(clock, *sink, obs::Level::kInfo);
    obs::Metrics metrics;
    FixedHandler handler(clock, argc > 3 ? std::stoul(argv[3]) : 7168);

    io::HttpServerConfig config;
    config.listen = {std::string("127.0.0.1:") + argv[1]};
    config.threads = argc > 2 ? std::stoi(argv[2]) : 1;
    config.max_connections = 100'000;
    io::HttpServer server(config, handler, clock, random, log, metrics);
    if (const Status started = server.start(); !started.ok()) {
        std::cerr << started.error().message << '\n';
        return 1;
    }
    boost::asio::io_context signals_io;
    boost::asio::signal_set signals(signals_io, SIGINT, SIGTERM);
    signals.async_wait([](const boost::system::error_code&, int) {});
    signals_io.run();
    server.drain();
    std::cerr << metrics.expose();
}
