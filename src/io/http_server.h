// HTTP/1.1 in. One io_context and one acceptor per core (SO_REUSEPORT); sessions never change
// threads, no lock on the way of a request. Parsing is Beast's; the session loop is ours, so that a
// request costs one read, one write and no allocation that grows with the body.
//
// Bounds: every one of them is in HttpServerConfig and has an answer of its own (400, 408, 413,
// 414, 417, 431, 503, 505, or a closed connection past max_connections).
#pragma once

#include "base/clock.h"
#include "base/config_reader.h"
#include "base/random.h"
#include "io/http_message.h"
#include "obs/log.h"
#include "obs/metrics.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace sluice::io {

struct HttpServerConfig {
    // Places for connections over Unix sockets, which max_connections does not count: whoever may
    // open those gets in however many others have come.
    static constexpr std::size_t kMaxUnixConnections = 64;

    std::vector<std::string> listen = {"127.0.0.1:8080"};  // host:port or [v6]:port; port 0: any
    int threads = 0;                                       // 0: one per core
    std::size_t max_connections = 10'000;
    std::size_t max_header_bytes = 16 * 1024;  // request line and fields together
    std::size_t max_target_bytes = 8 * 1024;
    std::size_t max_body_bytes = 2 * 1024 * 1024;
    std::size_t max_buffered_body_bytes = 64 * 1024 * 1024;   // of all connections together
    std::size_t max_waiting_answer_bytes = 64 * 1024 * 1024;  // the same, that nobody reads
    Millis header_timeout{10'000};          // from the first byte of a head to its last
    Millis body_timeout{30'000};            // from the end of the head to the last byte of the body
    Millis idle_timeout{75'000};            // a kept-alive connection without a request
    Millis write_timeout{30'000};           // a client that does not take its answer
    Millis shutdown_delay{};                // shutdown: how long requests are still taken
    Millis drain_timeout{15'000};           // and then, how long those under way may go on
    std::string tls_certificate_file = {};  // PEM chain; with tls_key_file switches TLS on
    std::string tls_key_file = {};

    static HttpServerConfig read(ConfigReader& in);  // the section "server"
};

// Built on the main thread; start() and drain() are called there too. Owns its threads.
class HttpServer {
 public:
    // All references outlive the server. `random` must be thread-safe.
    HttpServer(HttpServerConfig config, HttpHandler& handler, Clock& clock, Random& random,
               const obs::Log& log, obs::Metrics& metrics);
    ~HttpServer();  // drain(), if that was not called

    // Binds, listens and starts the threads. kUnavailable with the address and the reason (in use,
    // no permission) when that can't be done; kInvalidRequest when an address can't be read or the
    // certificate can't be used.
    Status start();
    // The first half of start(), for who has something to do that only a server that can listen
    // needs: binds and listens, and serves nobody before start(), which then can't fail.
    Status bind();
    // The first of the server's threads is not made but is `loop`, which somebody else runs on one
    // thread from before start() until after drain(): what is answered from that loop then costs
    // the requests that arrive there no change of threads. Before start().
    void share_loop(boost::asio::io_context& loop);
    // Also serves the Unix socket at `path` (mode 0600), replacing a stale one. Before start().
    void add_unix_socket(std::string path);

    // The bound addresses with their real ports, "127.0.0.1:43210", in the order of config.listen.
    std::vector<std::string> addresses() const;

    // Soon to be followed by drain(): everything is served as before, but each connection ends
    // with its next answer, which says Connection: close.
    void start_leaving();

    // Removes the Unix sockets' paths and stops accepting; idle connections close at once, busy
    // ones after their answer (which says Connection: close), and whatever is left after
    // drain_timeout is cut. Returns when all is done.
    void drain();

    // New values for connections and requests from now on; listen, threads and TLS files stay.
    void reconfigure(const HttpServerConfig& config);

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::io
