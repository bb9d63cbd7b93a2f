// One thread of the server: its acceptors, its sessions, and the sweep that watches over both.
#pragma once

#include "base/result.h"
#include "io/http_server_core.h"
#include "io/http_session.h"
#include "io/listener.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/intrusive/list.hpp>

#include <cstdint>
#include <future>
#include <memory>
#include <thread>
#include <vector>

namespace sluice::io {

class TlsContext;

enum class ListenerKind : std::uint8_t { kTcp, kUnix };

// Built, filled with acceptors, started and joined by the main thread; works on its own.
class HttpServerThread {
 public:
    // `loop`: an event loop that somebody else runs, until after join(); null: one of its own, on a
    // thread of its own. `tls` null: plain connections. All references outlive this object.
    HttpServerThread(ServerShared& shared, boost::asio::io_context* loop,
                     const HttpServerConfig& config, std::uint64_t seed, obs::Metrics& metrics,
                     std::shared_ptr<const TlsContext> tls);
    ~HttpServerThread();

    boost::asio::io_context& io() { return core_.io; }
    void add(Acceptor acceptor, ListenerKind kind);
    void start();

    // From any thread.
    void reconfigure(const HttpServerConfig& config);
    // From here on each connection ends with its next answer.
    void start_leaving();
    // Stops accepting, closes what is idle, cuts what is left after the drain timeout.
    void drain();

    // Waits until the last session has ended, after drain().
    void join();

 private:
    struct Listener {
        Acceptor acceptor;
        ListenerKind kind;
        Endpoint peer;  // of the connection accepted last
        Timer pause;
    };

    void accept(Listener& listener);
    void accepted(Listener& listener, Socket socket);
    bool has_place(bool is_tcp) const;
    void accept_failed(Listener& listener, const boost::system::error_code& ec);
    void sweep();
    void drop_unread();
    void begin_drain();
    Millis sweep_interval() const;

    std::unique_ptr<boost::asio::io_context> own_loop_;
    ServerCore core_;
    std::shared_ptr<const TlsContext> tls_;
    std::vector<std::unique_ptr<Listener>> listeners_;
    boost::intrusive::list<HttpSession, boost::intrusive::base_hook<SessionHook>,
                           boost::intrusive::constant_time_size<false>>
        sessions_;
    Timer sweep_timer_;
    Instant drain_until_{};
    obs::Gauge connections_gauge_;
    obs::Gauge waiting_gauge_;
    std::promise<void> drained_;
    std::thread thread_;
};

}  // namespace sluice::io
