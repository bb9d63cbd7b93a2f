#include "io/http_server.h"

#include "io/http_server_thread.h"
#include "io/listener.h"
#include "io/tls.h"

#include <algorithm>
#include <unistd.h>
#include <utility>

namespace sluice::io {

using namespace std::chrono_literals;

HttpServerConfig HttpServerConfig::read(ConfigReader& in) {
    HttpServerConfig c;
    in.list({"listen", "addresses to serve on, host:port or [v6]:port"}, c.listen);
    in.integer({"threads", "threads that serve connections; 0 is one per core"}, c.threads, 0, 256);
    in.integer({.key = "max_connections",
                .help = "open connections; further ones are closed at once",
                .needs_restart = false},
               c.max_connections, std::size_t{1}, std::size_t{1'000'000});
    in.size({.key = "max_header_bytes",
             .help = "request line and header fields together",
             .needs_restart = false},
            c.max_header_bytes, 1024, 256 * 1024);
    in.size({.key = "max_target_bytes", .help = "path and query together", .needs_restart = false},
            c.max_target_bytes, 256, 128 * 1024);
    in.size({.key = "max_body_bytes", .help = "request body, unpacked", .needs_restart = false},
            c.max_body_bytes, 1024, std::size_t{1024} * 1024 * 1024);
    in.size({.key = "max_buffered_body_bytes",
             .help = "large bodies that are arriving or being answered, of all connections "
                     "together; further ones are answered 503",
             .needs_restart = false},
            c.max_buffered_body_bytes, 64 * 1024, std::size_t{1024} * 1024 * 1024 * 1024);
    in.size(
        {.key = "max_waiting_answer_bytes",
         .help = "what answers that clients do not read may hold of memory, of all connections "
                 "together; beyond it those who have read nothing for a second are cut off, then "
                 "the slowest of those who have read one answer for five, and large answers are "
                 "503 until there is room, but for searches that were paid for",
         .needs_restart = false},
        c.max_waiting_answer_bytes, 1024 * 1024, std::size_t{1024} * 1024 * 1024 * 1024);
    in.duration({.key = "header_timeout_s",
                 .help = "from the first byte of a request's head to its last",
                 .needs_restart = false},
                c.header_timeout, 10ms, 10min);
    in.duration({.key = "body_timeout_s",
                 .help = "from the end of a request's head to the end of its body",
                 .needs_restart = false},
                c.body_timeout, 10ms, 60min);
    in.duration({.key = "idle_timeout_s",
                 .help = "a kept-alive connection without a request",
                 .needs_restart = false},
                c.idle_timeout, 10ms, 24h);
    in.duration({.key = "write_timeout_s",
                 .help = "a client that takes nothing of its answer",
                 .needs_restart = false},
                c.write_timeout, 10ms, 60min);
    in.duration({.key = "shutdown_delay_s",
                 .help = "shutdown: how long requests are still taken while /readyz says 503, so "
                         "that balancers go elsewhere first; each answer closes its connection",
                 .needs_restart = false},
                c.shutdown_delay, 0ms, 60min);
    in.duration({.key = "drain_timeout_s",
                 .help = "shutdown: how long requests under way may go on after that",
                 .needs_restart = false},
                c.drain_timeout, 0ms, 60min);
    in.text({"tls_certificate_file", "PEM certificate chain; with tls_key_file switches TLS on"},
            c.tls_certificate_file);
    in.text({"tls_key_file", "PEM private key of tls_certificate_file"}, c.tls_key_file);

    if (c.listen.empty()) {
        in.fail("listen", "expected at least one address, such as 127.0.0.1:8080");
    }
    for (const std::string& address : c.listen) {
        if (const auto parsed = parse_listen_address(address); !parsed.ok()) {
            in.fail("listen", parsed.error().message);
        }
    }
    if (c.tls_certificate_file.empty() != c.tls_key_file.empty()) {
        in.fail(c.tls_key_file.empty() ? "tls_key_file" : "tls_certificate_file",
                "a certificate and its key are needed together");
    }
    if (c.max_buffered_body_bytes < c.max_body_bytes) {
        in.fail("max_buffered_body_bytes", "must not be smaller than max_body_bytes");
    }
    if (c.max_target_bytes > c.max_header_bytes) {
        in.fail("max_target_bytes", "must not be larger than max_header_bytes");
    }
    return c;
}

struct HttpServer::Impl {
    Impl(HttpServerConfig settings, HttpHandler& handler, Clock& clock, Random& seeds,
         const obs::Log& log, obs::Metrics& registry)
        : config(std::move(settings)),
          random(seeds),
          metrics(registry),
          shared{handler, clock, log, {}, {}, {}, {}, obs::LogLimiter(1, 10s)} {}

    Status open_tcp(const std::string& address);
    Status open_unix(const std::string& path);
    Status open_all();

    HttpServerConfig config;
    Random& random;
    obs::Metrics& metrics;
    ServerShared shared;
    boost::asio::io_context* shared_loop = nullptr;
    std::vector<std::string> unix_paths;
    std::vector<std::string> addresses;
    std::vector<std::unique_ptr<HttpServerThread>> threads;
    bool running = false;
};

Status HttpServer::Impl::open_tcp(const std::string& address) {
    TRY(Endpoint endpoint, parse_listen_address(address));
    TRY_STATUS(check_unused(endpoint));
    for (const auto& thread : threads) {
        TRY(auto acceptor, listen_tcp(thread->io(), endpoint));
        endpoint = acceptor.local_endpoint();  // where port 0 became a real one
        thread->add(std::move(acceptor), ListenerKind::kTcp);
    }
    addresses.push_back(describe(endpoint));
    return {};
}

Status HttpServer::Impl::open_unix(const std::string& path) {
    TRY(auto first, listen_unix(threads.front()->io(), path));
    for (std::size_t i = 1; i < threads.size(); ++i) {
        TRY(auto shared_acceptor, share(threads[i]->io(), first));
        threads[i]->add(std::move(shared_acceptor), ListenerKind::kUnix);
    }
    threads.front()->add(std::move(first), ListenerKind::kUnix);
    return {};
}

Status HttpServer::Impl::open_all() {
    std::shared_ptr<const TlsContext> tls;
    if (!config.tls_certificate_file.empty()) {
        TRY(tls, TlsContext::load(config.tls_certificate_file, config.tls_key_file));
    }
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    const unsigned count = config.threads > 0 ? static_cast<unsigned>(config.threads) : cores;
    for (unsigned i = 0; i < count; ++i) {
        boost::asio::io_context* const loop = i == 0 ? shared_loop : nullptr;
        threads.push_back(
            std::make_unique<HttpServerThread>(shared, loop, config, random.u64(), metrics, tls));
    }
    for (const std::string& address : config.listen) {
        Status opened = open_tcp(address);
        if (!opened.ok()) {
            Error error = opened.error();
            error.message += "; another address is chosen with --listen";
            return error;
        }
    }
    for (const std::string& path : unix_paths) {
        TRY_STATUS(open_unix(path));
    }
    return {};
}

HttpServer::HttpServer(HttpServerConfig config, HttpHandler& handler, Clock& clock, Random& random,
                       const obs::Log& log, obs::Metrics& metrics)
    : impl_(std::make_unique<Impl>(std::move(config), handler, clock, random, log, metrics)) {}

HttpServer::~HttpServer() {
    drain();
}

Status HttpServer::bind() {
    SLUICE_ASSERT(!impl_->running && impl_->threads.empty());
    Status opened = impl_->open_all();
    if (!opened.ok()) {
        impl_->threads.clear();
        impl_->addresses.clear();
    }
    return opened;
}

Status HttpServer::start() {
    SLUICE_ASSERT(!impl_->running);
    if (impl_->threads.empty()) {
        TRY_STATUS(bind());
    }
    impl_->running = true;
    for (const auto& thread : impl_->threads) {
        thread->start();
    }
    return {};
}

void HttpServer::share_loop(boost::asio::io_context& loop) {
    SLUICE_ASSERT(!impl_->running);
    impl_->shared_loop = &loop;
}

void HttpServer::add_unix_socket(std::string path) {
    SLUICE_ASSERT(!impl_->running);
    impl_->unix_paths.push_back(std::move(path));
}

std::vector<std::string> HttpServer::addresses() const {
    return impl_->addresses;
}

void HttpServer::start_leaving() {
    for (const auto& thread : impl_->threads) {
        thread->start_leaving();
    }
}

void HttpServer::drain() {
    if (impl_->threads.empty()) {
        return;  // nothing is bound
    }
    // Once and first: afterwards the paths may be a successor's.
    for (const std::string& path : std::exchange(impl_->unix_paths, {})) {
        ::unlink(path.c_str());
    }
    if (!std::exchange(impl_->running, false)) {
        impl_->threads.clear();
        return;
    }
    for (const auto& thread : impl_->threads) {
        thread->drain();
    }
    for (const auto& thread : impl_->threads) {
        thread->join();
    }
    impl_->threads.clear();
}

void HttpServer::reconfigure(const HttpServerConfig& config) {
    impl_->config = config;
    for (const auto& thread : impl_->threads) {
        thread->reconfigure(config);
    }
}

}  // namespace sluice::io
