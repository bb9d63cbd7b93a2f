// One connection: reads requests, has them answered in order, writes the answers. A state machine
// that does all it can (advance()), then waits for the one thing that it lacks; so a request costs
// one wait, and an idle connection holds neither a coroutine nor a buffer.
//
// Belongs to its core's thread. Kept alive by whatever it waits for.
#pragma once

#include "base/clock.h"
#include "io/http_server_core.h"
#include "io/transport.h"
#include "io/waiting_bytes.h"

#include <boost/asio/cancellation_signal.hpp>
#include <boost/intrusive/list.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>

namespace sluice::io {

struct Peer {
    Address address;
    bool over_unix_socket = false;
};

// For a list of sessions; a session that ends leaves it.
using SessionHook =
    boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

class HttpSession : public SessionHook, public std::enable_shared_from_this<HttpSession> {
 public:
    // Counts as a connection until it is destroyed. `tls` null: plain.
    HttpSession(ServerCore& core, Socket socket, const TlsContext* tls, Peer peer);
    ~HttpSession();
    HttpSession(const HttpSession&) = delete;
    HttpSession& operator=(const HttpSession&) = delete;

    void start() { step(); }

    // Ends what has gone on for longer than the settings allow. Called for each session now and
    // then.
    void sweep(Instant now);
    // Closes the connection if it is idle. Otherwise it closes with its next answer, as the core
    // says that it is draining.
    void drain();
    // Closes the connection, whatever it is doing. A handler's Task is cancelled.
    void cut();
    // How the client takes an answer that waits; nothing: it takes what comes.
    std::optional<WaitingReader> reader(Instant now) const {
        if (phase_ != Phase::kWrite || cut_) {
            return std::nullopt;
        }
        return WaitingReader{
            .held = now - held_since_, .silent = now - since_, .taken = taken_while_held_};
    }

 private:
    enum class Phase : std::uint8_t { kHandshake, kIdle, kHead, kBody, kBusy, kWrite, kLinger };
    // What the session can't go on without. kTurn: nothing, but other connections come first.
    enum class Need : std::uint8_t { kReadable, kWritable, kReply, kTurn, kClose };

    void step();
    void end();
    void wait(Need need);
    void await_input();
    std::optional<Need> prepare();
    static Need need_of(IoState state);
    Need advance();
    bool nothing_arrived() const;
    Need rest();
    Need after_last_answer();
    Need linger();

    bool take_request();
    bool may_go_on_reading();
    void serve();
    void fill_request();
    bool refused_by_head();
    void answer(HttpResponse response);
    void refuse(Code code, std::string_view reason);
    void refuse(const Error& error);
    HttpResponse refusal(const Error& error, const RequestId& id);
    void fail(const std::exception_ptr& error);
    void log_served(int status, std::size_t bytes, Duration took) const;

    IoResult fill();
    IoState flush(std::size_t& may_write);
    void hold_answers() {
        if (!held_answers_.any()) {
            held_since_ = core_.shared.clock.now();
            taken_while_held_ = 0;
        }
        held_answers_.hold(workspace_->answers);
    }

    void start_reply();
    void finish_reply(const std::exception_ptr& error, HttpResponse response);
    void watch();
    void look_at_client();
    void lose_client();

    void enter(Phase phase, Instant now) {
        phase_ = phase;
        since_ = now;
    }
    Duration allowed(Phase phase) const;

    ServerCore& core_;
    Transport transport_;
    const Peer peer_;
    std::unique_ptr<Workspace> workspace_;  // null while idle
    Instant since_;                         // when phase_ began, or last made progress
    std::uint32_t exchange_ = 0;            // counts Tasks, so that a late watch is told apart
    std::uint32_t lingered_ = 0;            // bytes thrown away while lingering
    Phase phase_ = Phase::kIdle;
    std::atomic<std::size_t>& places_;  // where this connection is counted
    BodyBytes body_bytes_;
    HeldAnswers held_answers_;          // while the client takes none
    Instant held_since_{};              // when it first did so; with held_answers_
    std::size_t taken_while_held_ = 0;  // bytes, of these and of what came behind them
    bool awaits_input_ = false;         // a wait for input is under way
    bool steps_on_input_ = false;       // the machine goes on when it ends
    bool awaits_turn_ = false;          // others come first; whoever waits for us is not late
    bool timed_out_ = false;
    bool cut_ = false;
    bool closing_ = false;        // after the answers that are waiting to be written
    bool linger_ = false;         // the client may still be sending then
    bool peer_finished_ = false;  // it sends nothing more, but may still read
    bool peer_gone_ = false;
    boost::asio::cancellation_signal cancel_;  // reaches the handler's Task
};

}  // namespace sluice::io
