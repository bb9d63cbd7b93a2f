// What the sessions of one server thread share: settings, the buffers that busy connections borrow,
// the date, the counters. Everything here belongs to that thread except where it says otherwise.
#pragma once

#include "base/clock.h"
#include "base/random.h"
#include "base/task.h"
#include "io/http_message.h"
#include "io/http_request_reader.h"
#include "io/http_server.h"
#include "io/response_batch.h"
#include "io/waiting_bytes.h"
#include "obs/log.h"
#include "obs/metrics.h"

#include <boost/asio/io_context.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::io {

// Everything that a connection needs while a request is being read or answered. Idle ones have
// none.
struct Workspace {
    explicit Workspace(std::size_t max_header_bytes) : input(max_header_bytes) {}

    // As new, but for its memory.
    void reset();

    RequestReader input;
    HttpRequest request;                     // the one being answered
    std::optional<Task<HttpResponse>> task;  // its handler's, not started yet
    ResponseBatch answers;
};

// Not thread-safe.
class WorkspacePool {
 public:
    static constexpr std::size_t kMaxKept = 64;

    std::unique_ptr<Workspace> borrow(std::size_t max_header_bytes);
    void give_back(std::unique_ptr<Workspace> workspace);

 private:
    std::vector<std::unique_ptr<Workspace>> kept_;
};

// Counts on the thread, plainly; flush() adds them to the registry.
class ServerCounters {
 public:
    explicit ServerCounters(obs::Metrics& metrics);

    void answered(Method method, int status, Duration took);
    void refused(Code reason);
    void cancelled() { cancelled_ += 1; }
    void failed() { failed_ += 1; }
    void accepted() { accepted_ += 1; }
    void accept_failed() { accept_failed_ += 1; }
    void turned_away() { turned_away_ += 1; }
    void unread_dropped() { unread_dropped_ += 1; }
    void unread_refused() { unread_refused_ += 1; }

    void flush();

 private:
    static constexpr std::size_t kMethods = 8;
    static constexpr std::size_t kClasses = 5;

    obs::Metrics& metrics_;
    std::array<std::array<std::uint64_t, kClasses>, kMethods> requests_{};
    std::vector<double> seconds_;  // per bucket of kHttpRequestSeconds
    double seconds_sum_ = 0;
    std::array<std::uint64_t, 64> refused_{};  // by Code
    std::uint64_t cancelled_ = 0;
    std::uint64_t failed_ = 0;
    std::uint64_t accepted_ = 0;
    std::uint64_t accept_failed_ = 0;
    std::uint64_t turned_away_ = 0;
    std::uint64_t unread_dropped_ = 0;
    std::uint64_t unread_refused_ = 0;
    obs::Histogram histogram_;
    obs::Counter cancelled_total_;
    obs::Counter failed_total_;
    obs::Counter accepted_total_;
    obs::Counter accept_failed_total_;
    obs::Counter turned_away_total_;
    obs::Counter unread_dropped_total_;
    obs::Counter unread_refused_total_;
};

// What all threads share.
struct ServerShared {
    HttpHandler& handler;
    Clock& clock;
    const obs::Log& log;
    std::atomic<std::size_t> connections{0};       // over TCP
    std::atomic<std::size_t> unix_connections{0};  // have places of their own
    std::atomic<std::size_t> body_bytes{0};        // of bodies outside of read buffers
    WaitingBytes waiting{};                        // in answers that clients do not take
    obs::LogLimiter accept_errors;
};

// What one connection adds to ServerShared::body_bytes, for as long as this object lives.
class BodyBytes {
 public:
    explicit BodyBytes(std::atomic<std::size_t>& all) : all_(all) {}
    ~BodyBytes() { hold(0); }
    BodyBytes(const BodyBytes&) = delete;
    BodyBytes& operator=(const BodyBytes&) = delete;

    // From now on it adds `bytes`. False when that is more than before, and all together are more
    // than `most`.
    bool hold(std::size_t bytes, std::size_t most = 0) {
        if (bytes == held_) {
            return true;
        }
        const bool grows = bytes > held_;
        const std::size_t change = bytes - held_;  // wraps around where it shrinks, as the sum does
        held_ = bytes;
        return all_.fetch_add(change, std::memory_order_relaxed) + change <= most || !grows;
    }

 private:
    std::atomic<std::size_t>& all_;
    std::size_t held_ = 0;
};

struct ServerCore {
    ServerCore(ServerShared& shared_by_all, boost::asio::io_context& loop,
               const HttpServerConfig& settings, std::uint64_t seed, obs::Metrics& metrics)
        : shared(shared_by_all), io(loop), config(settings), ids(seed), counters(metrics) {}

    bool has_room_for_answers() const {
        return shared.waiting.total() <= config.max_waiting_answer_bytes;
    }
    // Why `answer` is not given to `request` now, which is counted; nothing: it may be given, as it
    // may where it adds little, was paid for, or goes to the Unix socket: who may use that looks at
    // what is going on.
    std::optional<Error> refuse_for_room(const HttpResponse& answer, const HttpRequest& request);

    ServerShared& shared;
    boost::asio::io_context& io;
    HttpServerConfig config;
    SeededRandom ids;  // they need to be unique, not unguessable
    DateLine date;
    ServerCounters counters;
    WorkspacePool workspaces;
    bool leaving = false;   // each connection ends with its next answer
    bool draining = false;  // and nothing new is accepted
    Instant now{};          // as of the last sweep or request
};

}  // namespace sluice::io
