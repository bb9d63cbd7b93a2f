#include "io/curl_loop.h"

#include "base/result.h"

#include <boost/asio/error.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <curl/curl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <sys/socket.h>
#include <unistd.h>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sluice::io {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// libcurl may ask for another turn at once; after this many the executor gets one in between, so
// that a transfer that makes no progress can't hold the thread.
constexpr int kMaxTurns = 16;

static_assert(CURL_POLL_IN == CURL_CSELECT_IN && CURL_POLL_OUT == CURL_CSELECT_OUT,
              "what libcurl waits for and what it is told share their bits");

void require(CURLMcode code) {
    SLUICE_ASSERT(code == CURLM_OK);
}

using Descriptor = asio::posix::basic_stream_descriptor<Executor>;

// A descriptor while libcurl waits on it. Borrowed: libcurl opens and closes its descriptors
// itself, and not every close is announced (version 7.88 tells nobody when it gives up a connection
// that is being made). An owner could close a number that is somebody else's by then.
struct Socket {
    explicit Socket(const Executor& executor) : descriptor(executor) {}
    ~Socket() { give_back(); }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;

    // Ends every wait and forgets the descriptor, which is closed already or stays open.
    void give_back() {
        if (descriptor.is_open()) {
            descriptor.release();
        }
    }

    Descriptor descriptor;
    int wanted = 0;   // CURL_POLL_IN | CURL_POLL_OUT, as libcurl asks
    int waiting = 0;  // the same bits, of the waits under way
};

// Whether any of the transfer's request went out, a proxy's CONNECT apart.
bool was_sent(CURL* easy) {
    curl_off_t ready_us = 0;
    long sent_bytes = 0;
    curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &ready_us);
    curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &sent_bytes);
    return ready_us > 0 && sent_bytes > 0;
}

}  // namespace

struct CurlLoop::Impl : std::enable_shared_from_this<Impl> {
    Impl(Executor ex, Limits limits, const Clock& clk, const obs::Log& logger, OnDone done)
        : executor(std::move(ex)),
          clock{clk},
          log(logger),
          on_done(std::move(done)),
          timer(executor) {
        // Once in a process; libcurl counts further calls.
        static const CURLcode global = curl_global_init(CURL_GLOBAL_DEFAULT);
        SLUICE_ASSERT(global == CURLE_OK);
        multi = curl_multi_init();
        SLUICE_ASSERT(multi != nullptr);
        require(curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, &Impl::on_interest));
        require(curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, this));
        require(curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, &Impl::on_timer));
        require(curl_multi_setopt(multi, CURLMOPT_TIMERDATA, this));
        require(
            curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, limits.connections_per_host));
        require(curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, limits.idle_connections));
    }

    void shut() {
        stopped = true;
        require(curl_multi_cleanup(multi));
        timer.cancel();
        for (auto& [fd, socket] : sockets) {
            socket->give_back();
        }
        sockets.clear();
    }

    void start(CURL* easy, Opening& opening) {
        opening = {this, easy};
        curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, &Impl::on_open);
        curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, &opening);
        require(curl_multi_add_handle(multi, easy));
        transfers += 1;
        take_turns();
    }

    void stop(CURL* easy) {
        remove(easy);
        take_turns();
    }

    void remove(CURL* easy) {
        require(curl_multi_remove_handle(multi, easy));
        transfers -= 1;
        if (transfers == 0) {
            // The executor may run out of work now.
            timer.cancel();
            armed_for = Instant::max();
        }
    }

    // Tells libcurl that a socket is ready or that its instant has come.
    void act(curl_socket_t fd, int events) {
        int running = 0;
        const CURLMcode code = curl_multi_socket_action(multi, fd, events, &running);
        if (code != CURLM_OK) {
            log.error("curl_loop_failed", {{"reason", curl_multi_strerror(code)}});
        }
    }

    // Gives libcurl the turns that it asks for at once and reports what has ended.
    void take_turns() {
        report_ended();
        for (int turn = 0; due && turn < kMaxTurns; ++turn) {
            due = false;
            act(CURL_SOCKET_TIMEOUT, 0);
            report_ended();
        }
        if (due) {
            due = false;
            wake_at(clock.now());
        }
    }

    void report_ended() {
        int left = 0;
        while (const CURLMsg* message = curl_multi_info_read(multi, &left)) {
            if (message->msg != CURLMSG_DONE) {
                continue;
            }
            // The message is gone once its handle is.
            CURL* easy = message->easy_handle;
            const CURLcode code = message->data.result;
            remove(easy);
            on_done(easy, code);
        }
    }

    // libcurl moves its instant with every request. The timer only follows to an earlier one; to a
    // later one it is moved when it has fired too early, which is rare.
    void wake_at(Instant instant) {
        wanted_at = instant;
        if (armed_for <= instant) {
            return;
        }
        armed_for = instant;
        timer.expires_after(std::max(instant - clock.now(), Duration::zero()));
        timer.async_wait([self = shared_from_this()](error_code error) {
            if (!error && !self->stopped) {
                self->on_woken();
            }
        });
    }

    void on_woken() {
        armed_for = Instant::max();
        if (transfers == 0 || wanted_at == Instant::max()) {
            return;
        }
        if (wanted_at > clock.now()) {
            return wake_at(wanted_at);
        }
        wanted_at = Instant::max();
        due = true;
        take_turns();
    }

    void arm(const std::shared_ptr<Socket>& socket) {
        const int missing = socket->wanted & ~socket->waiting;
        if (missing & CURL_POLL_IN) {
            wait(socket, CURL_POLL_IN, Descriptor::wait_read);
        }
        if (missing & CURL_POLL_OUT) {
            wait(socket, CURL_POLL_OUT, Descriptor::wait_write);
        }
    }

    void wait(const std::shared_ptr<Socket>& socket, int bit, Descriptor::wait_type what) {
        socket->waiting |= bit;
        socket->descriptor.async_wait(what,
                                      [self = shared_from_this(), socket, bit](error_code error) {
                                          socket->waiting &= ~bit;
                                          self->on_ready(socket, bit, error);
                                      });
    }

    void on_ready(const std::shared_ptr<Socket>& socket, int bit, error_code error) {
        if (stopped || !socket->descriptor.is_open()) {
            return;
        }
        // Interest may have ended, or ended and begun again, while this was on its way.
        if (error != asio::error::operation_aborted && (socket->wanted & bit) != 0) {
            act(socket->descriptor.native_handle(), error ? CURL_CSELECT_ERR : bit);
            take_turns();
        }
        if (!stopped && socket->descriptor.is_open()) {
            arm(socket);
        }
    }

    void watch(curl_socket_t fd, int what) {
        auto& socket = sockets[fd];
        if (!socket) {
            socket = std::make_shared<Socket>(executor);
            error_code error;
            socket->descriptor.assign(fd, error);
            if (error) {
                // The transfer ends by its deadline.
                log.error("curl_socket_not_watched", {{"reason", error.message()}});
                sockets.erase(fd);
                return;
            }
        }
        socket->wanted = what;
        arm(socket);
    }

    void unwatch(curl_socket_t fd) {
        const auto found = sockets.find(fd);
        if (found == sockets.end()) {
            return;
        }
        found->second->give_back();
        sockets.erase(found);
    }

    // A new descriptor that has the number of a watched one: that one was closed unannounced, and
    // libcurl, which goes by numbers, may take the new one for watched.
    void renew(curl_socket_t fd) {
        const auto found = sockets.find(fd);
        if (found == sockets.end()) {
            return;
        }
        const int wanted = found->second->wanted;
        unwatch(fd);
        watch(fd, wanted);
    }

    static int on_interest(CURL*, curl_socket_t fd, int what, void* loop, void*) {
        auto* self = static_cast<Impl*>(loop);
        if (what == CURL_POLL_REMOVE) {
            self->unwatch(fd);
        } else {
            self->watch(fd, what);
        }
        return 0;
    }

    static int on_timer(CURLM*, long milliseconds, void* loop) {
        auto* self = static_cast<Impl*>(loop);
        self->due = milliseconds == 0;
        if (self->stopped || milliseconds <= 0) {
            self->wanted_at = Instant::max();
        } else {
            self->wake_at(self->clock.now() + std::chrono::milliseconds(milliseconds));
        }
        return 0;
    }

    static curl_socket_t on_open(void* data, curlsocktype purpose, curl_sockaddr* address) {
        if (purpose != CURLSOCKTYPE_IPCXN) {
            return CURL_SOCKET_BAD;
        }
        auto* opening = static_cast<Opening*>(data);
        if (was_sent(opening->easy)) {
            opening->is_second = true;
            return CURL_SOCKET_BAD;
        }
        const int fd = ::socket(address->family, address->socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                                address->protocol);
        if (fd < 0) {
            opening->error = errno;
            return CURL_SOCKET_BAD;
        }
        static_cast<Impl*>(opening->loop)->renew(fd);
        return fd;
    }

    Executor executor;
    const Clock& clock;
    const obs::Log& log;
    OnDone on_done;
    CURLM* multi = nullptr;
    Timer timer;
    std::unordered_map<curl_socket_t, std::shared_ptr<Socket>> sockets;
    std::size_t transfers = 0;
    Instant wanted_at = Instant::max();  // when libcurl wants a turn; max: at no time
    Instant armed_for = Instant::max();  // what the timer is set for; max: it is not
    bool due = false;                    // libcurl asked for a turn at once
    bool stopped = false;
};

CurlLoop::CurlLoop(Executor executor, Limits limits, const Clock& clock, const obs::Log& log,
                   OnDone on_done)
    : impl_(std::make_shared<Impl>(std::move(executor), limits, clock, log, std::move(on_done))) {}

CurlLoop::~CurlLoop() {
    impl_->shut();
}

void CurlLoop::start(void* easy, Opening& opening) {
    impl_->start(easy, opening);
}

void CurlLoop::stop(void* easy) {
    impl_->stop(easy);
}

}  // namespace sluice::io
