#include "io/http_server_thread.h"

#include "io/http_server_metrics.h"

#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <netinet/tcp.h>
#include <optional>
#include <utility>
#include <vector>

namespace sluice::io {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr Millis kLongestSweep{250};
constexpr Millis kShortestSweep{5};
constexpr Millis kAcceptPause{100};  // after the process ran out of descriptors or memory

// What the kernel takes of an answer beyond what it may send now. It would take megabytes, and a
// client that reads slowly would seem to read nothing until most of them are gone.
using UnsentInKernel = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_NOTSENT_LOWAT>;
constexpr int kUnsentInKernel = 128 * 1024;

}  // namespace

HttpServerThread::HttpServerThread(ServerShared& shared, asio::io_context* loop,
                                   const HttpServerConfig& config, std::uint64_t seed,
                                   obs::Metrics& metrics, std::shared_ptr<const TlsContext> tls)
    : own_loop_(loop == nullptr ? std::make_unique<asio::io_context>(1) : nullptr),
      core_(shared, loop == nullptr ? *own_loop_ : *loop, config, seed, metrics),
      tls_(std::move(tls)),
      sweep_timer_(core_.io),
      connections_gauge_(metrics.gauge(kHttpConnections)),
      waiting_gauge_(metrics.gauge(kHttpWaitingBytes)) {
    core_.now = shared.clock.now();
    core_.date.update(shared.clock.wall_now());
}

HttpServerThread::~HttpServerThread() {
    SLUICE_ASSERT(!thread_.joinable());
}

void HttpServerThread::add(Acceptor acceptor, ListenerKind kind) {
    listeners_.push_back(std::make_unique<Listener>(
        Listener{std::move(acceptor), kind, Endpoint(), Timer(core_.io)}));
}

void HttpServerThread::start() {
    asio::post(core_.io, [this] {
        for (const auto& listener : listeners_) {
            accept(*listener);
        }
        sweep();
    });
    if (own_loop_) {
        thread_ = std::thread([this] { own_loop_->run(); });
    }
}

void HttpServerThread::join() {
    drained_.get_future().wait();
    if (thread_.joinable()) {
        thread_.join();
    }
}

void HttpServerThread::reconfigure(const HttpServerConfig& config) {
    asio::post(core_.io, [this, config] { core_.config = config; });
}

// --- Accepting ---------------------------------------------------------------------------------

void HttpServerThread::accept(Listener& listener) {
    listener.acceptor.async_accept(core_.io, listener.peer,
                                   [this, &listener](const error_code& ec, Socket socket) {
                                       if (ec == asio::error::operation_aborted || core_.draining) {
                                           return;
                                       }
                                       if (ec) {
                                           accept_failed(listener, ec);
                                           return;
                                       }
                                       accepted(listener, std::move(socket));
                                       accept(listener);
                                   });
}

void HttpServerThread::accepted(Listener& listener, Socket socket) {
    core_.counters.accepted();
    const bool is_tcp = listener.kind == ListenerKind::kTcp;
    if (!has_place(is_tcp)) {
        core_.counters.turned_away();
        return;  // the socket closes with its last owner
    }
    error_code ec;
    socket.non_blocking(true, ec);
    if (!ec && is_tcp) {
        socket.set_option(asio::ip::tcp::no_delay(true), ec);
        error_code ignored;
        socket.set_option(UnsentInKernel(kUnsentInKernel), ignored);
    }
    if (ec) {
        return;  // reset before it was accepted
    }
    Peer peer;
    peer.over_unix_socket = !is_tcp;
    if (is_tcp) {
        peer.address = address_of(listener.peer);
    }
    // A Unix socket is guarded by the file system, so TLS is for TCP only.
    const TlsContext* const tls = is_tcp ? tls_.get() : nullptr;
    const auto session = std::make_shared<HttpSession>(core_, std::move(socket), tls, peer);
    sessions_.push_back(*session);
    session->start();
}

bool HttpServerThread::has_place(bool is_tcp) const {
    const auto& taken = is_tcp ? core_.shared.connections : core_.shared.unix_connections;
    return taken.load(std::memory_order_relaxed) <
           (is_tcp ? core_.config.max_connections : HttpServerConfig::kMaxUnixConnections);
}

// Out of descriptors or memory: the connection stays in the backlog, and accepting again at once
// would fail at once.
void HttpServerThread::accept_failed(Listener& listener, const error_code& ec) {
    core_.counters.accept_failed();
    std::uint64_t suppressed = 0;
    if (core_.shared.accept_errors.allow(core_.shared.clock.now(), suppressed)) {
        core_.shared.log.warn("accept_failed",
                              {{"error", ec.message()}, {"suppressed", suppressed}});
    }
    listener.pause.expires_after(kAcceptPause);
    listener.pause.async_wait([this, &listener](const error_code& cancelled) {
        if (!cancelled && !core_.draining) {
            accept(listener);
        }
    });
}

// --- Sweeping and draining ---------------------------------------------------------------------

// Often enough that no timeout is passed by more than a quarter.
Millis HttpServerThread::sweep_interval() const {
    const HttpServerConfig& c = core_.config;
    const Millis shortest =
        std::min({c.header_timeout, c.body_timeout, c.idle_timeout, c.write_timeout});
    return std::clamp(shortest / 4, kShortestSweep, kLongestSweep);
}

void HttpServerThread::sweep() {
    core_.now = core_.shared.clock.now();
    core_.date.update(core_.shared.clock.wall_now());
    const bool cutting = core_.draining && core_.now >= drain_until_;
    for (auto it = sessions_.begin(); it != sessions_.end();) {
        HttpSession& session = *it++;
        if (cutting) {
            session.cut();
        } else {
            session.sweep(core_.now);
        }
    }
    if (!core_.has_room_for_answers()) {
        drop_unread();
    }
    core_.counters.flush();
    waiting_gauge_.set(static_cast<double>(core_.shared.waiting.total()));
    connections_gauge_.set(
        static_cast<double>(core_.shared.connections.load(std::memory_order_relaxed) +
                            core_.shared.unix_connections.load(std::memory_order_relaxed)));
    if (core_.draining && sessions_.empty()) {
        // Behind everything that was cancelled and still refers to this object.
        asio::post(core_.io, [this] { drained_.set_value(); });
        return;  // without the timer a loop of its own has no work left and ends
    }
    sweep_timer_.expires_after(core_.draining ? kShortestSweep : sweep_interval());
    sweep_timer_.async_wait([this](const error_code& ec) {
        if (!ec || core_.draining) {
            sweep();
        }
    });
}

// Until there is room.
void HttpServerThread::drop_unread() {
    std::vector<std::pair<WaitingReader, HttpSession*>> unread;
    for (HttpSession& session : sessions_) {
        const std::optional<WaitingReader> reader = session.reader(core_.now);
        if (reader && may_be_cut(*reader)) {
            unread.emplace_back(*reader, &session);
        }
    }
    std::ranges::sort(unread, is_cut_before, [](const auto& one) { return one.first; });
    for (const auto& [reader, session] : unread) {
        if (core_.has_room_for_answers()) {
            return;
        }
        session->cut();
        core_.counters.unread_dropped();
    }
}

void HttpServerThread::start_leaving() {
    asio::post(core_.io, [this] { core_.leaving = true; });
}

void HttpServerThread::drain() {
    asio::post(core_.io, [this] { begin_drain(); });
}

void HttpServerThread::begin_drain() {
    core_.draining = true;
    drain_until_ = core_.shared.clock.now() + core_.config.drain_timeout;
    for (const auto& listener : listeners_) {
        error_code ignored;
        listener->acceptor.close(ignored);
        listener->pause.cancel();
    }
    for (auto it = sessions_.begin(); it != sessions_.end();) {
        HttpSession& session = *it++;
        session.drain();
    }
    sweep_timer_.cancel();
}

}  // namespace sluice::io
