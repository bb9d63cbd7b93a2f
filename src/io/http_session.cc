#include "io/http_session.h"

#include "base/exception.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace sluice::io {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr int kRoundsPerTurn = 16;  // reads before other connections come first
constexpr std::size_t kBytesPerTurn = std::size_t{1024} * 1024;  // written, likewise
constexpr Millis kTurnTime{1};  // likewise; a request that has been begun is served
constexpr std::uint32_t kMaxLingerBytes = 256 * 1024;
constexpr Millis kLingerTime{2'000};
constexpr Millis kBodyRetry{1'000};  // when there may be room for a large body again

}  // namespace

HttpSession::HttpSession(ServerCore& core, Socket socket, const TlsContext* tls, Peer peer)
    : core_(core),
      transport_(std::move(socket), tls),
      peer_(peer),
      since_(core.now),
      phase_(tls != nullptr ? Phase::kHandshake : Phase::kIdle),
      places_(peer.over_unix_socket ? core.shared.unix_connections : core.shared.connections),
      body_bytes_(core.shared.body_bytes),
      held_answers_(core.shared.waiting) {
    places_.fetch_add(1, std::memory_order_relaxed);
}

HttpSession::~HttpSession() {
    places_.fetch_sub(1, std::memory_order_relaxed);
}

// --- The machine -------------------------------------------------------------------------------

void HttpSession::step() {
    awaits_turn_ = false;
    const Need need = advance();
    switch (need) {
        case Need::kReadable:
        case Need::kWritable:
            wait(need);
            break;
        case Need::kReply:
            start_reply();
            break;
        case Need::kTurn:
            awaits_turn_ = true;
            asio::post(core_.io, [self = shared_from_this()] { self->step(); });
            break;
        case Need::kClose:
            end();
            break;
    }
}

void HttpSession::end() {
    transport_.close();
    held_answers_.release();
    workspace_.reset();
}

void HttpSession::wait(Need need) {
    if (need == Need::kReadable) {
        steps_on_input_ = true;
        await_input();
        return;
    }
    transport_.socket().async_wait(Socket::wait_write,
                                   [self = shared_from_this()](const error_code& ec) {
                                       // Waits are also ended by sweep(), drain() and cut(), which
                                       // leave a note in a member.
                                       if (!ec || ec == asio::error::operation_aborted) {
                                           self->step();
                                       }
                                   });
}

// One wait at a time, whoever needs it: the one that looked out for the client during a reply goes
// on as the wait for its next request.
void HttpSession::await_input() {
    if (awaits_input_) {
        return;
    }
    awaits_input_ = true;
    transport_.socket().async_wait(
        Socket::wait_read, [self = shared_from_this()](const error_code& ec) {
            self->awaits_input_ = false;
            if (std::exchange(self->steps_on_input_, false)) {
                if (!ec || ec == asio::error::operation_aborted) {
                    self->step();
                }
            } else if (!ec && self->phase_ == Phase::kBusy && !self->cut_) {
                self->look_at_client();
            }
        });
}

// What comes before requests are read; nothing when they may be.
std::optional<HttpSession::Need> HttpSession::prepare() {
    if (cut_) {
        return Need::kClose;
    }
    if (phase_ == Phase::kLinger) {
        return timed_out_ ? Need::kClose : linger();
    }
    if (phase_ == Phase::kHandshake) {
        const IoResult handshake = transport_.handshake();
        if (handshake.state != IoState::kOk) {
            return timed_out_ ? Need::kClose : need_of(handshake.state);
        }
        enter(Phase::kIdle, core_.now);
    }
    if (timed_out_) {
        if (phase_ != Phase::kHead && phase_ != Phase::kBody) {
            return Need::kClose;
        }
        timed_out_ = false;
        refuse(Code::kRequestTimeout, "the request took too long to arrive");
    }
    return std::nullopt;
}

// What a transport that did not do all lacks.
HttpSession::Need HttpSession::need_of(IoState state) {
    return state == IoState::kWantsRead    ? Need::kReadable
           : state == IoState::kWantsWrite ? Need::kWritable
                                           : Need::kClose;
}

HttpSession::Need HttpSession::advance() {
    if (const auto need = prepare()) {
        return *need;
    }
    if (!workspace_) {
        workspace_ = core_.workspaces.borrow(core_.config.max_header_bytes);
    }
    bool drained = false;
    std::size_t may_write = kBytesPerTurn;
    const Instant turn_ends = core_.shared.clock.now() + kTurnTime;
    bool turn_over = false;
    for (int round = 0; round < kRoundsPerTurn; ++round) {
        while (!turn_over && !closing_ && !workspace_->answers.full() && !workspace_->task &&
               take_request()) {
            serve();
            turn_over = core_.now >= turn_ends;
        }
        const bool more_buffered = workspace_->answers.full();
        const IoState flushed = flush(may_write);
        if (flushed != IoState::kOk) {
            return need_of(flushed);
        }
        if (may_write == 0) {
            return Need::kTurn;
        }
        if (workspace_->task) {
            return Need::kReply;
        }
        if (closing_) {
            return after_last_answer();
        }
        if (turn_over) {
            return Need::kTurn;
        }
        if (more_buffered) {
            continue;
        }
        if (drained || nothing_arrived()) {
            return rest();
        }
        const IoResult read = fill();
        if (read.state == IoState::kWantsRead) {
            return rest();
        }
        if (read.state != IoState::kOk) {
            return need_of(read.state);
        }
        drained = read.drained;
    }
    return Need::kTurn;
}

// Whether a read would find nothing: what a wait that still goes on says, except that TLS may hold
// bytes back that have left the socket.
bool HttpSession::nothing_arrived() const {
    return awaits_input_ && !transport_.is_tls();
}

// Nothing can be done until more arrives: an idle connection gives everything back.
HttpSession::Need HttpSession::rest() {
    if (workspace_->input.in_body()) {
        if (phase_ != Phase::kBody) {
            enter(Phase::kBody, core_.shared.clock.now());
        }
        return Need::kReadable;
    }
    if (workspace_->input.in_head()) {
        if (phase_ != Phase::kHead) {
            enter(Phase::kHead, core_.shared.clock.now());
        }
        return Need::kReadable;
    }
    if (core_.draining) {
        return Need::kClose;
    }
    core_.workspaces.give_back(std::move(workspace_));
    enter(Phase::kIdle, core_.now);
    return Need::kReadable;
}

// Closing a socket while the client still sends would reset the connection, and the reset could
// overtake the answer. So the sending side is closed, and what still arrives is thrown away.
HttpSession::Need HttpSession::after_last_answer() {
    if (!linger_) {
        return Need::kClose;
    }
    core_.workspaces.give_back(std::move(workspace_));
    body_bytes_.hold(0);
    transport_.finish_sending();
    enter(Phase::kLinger, core_.shared.clock.now());
    return linger();
}

HttpSession::Need HttpSession::linger() {
    std::array<char, 4096> scratch;
    while (lingered_ < kMaxLingerBytes) {
        const IoResult read = transport_.read(scratch);
        if (read.state == IoState::kWantsRead) {
            return Need::kReadable;
        }
        if (read.state != IoState::kOk) {
            return Need::kClose;
        }
        lingered_ += static_cast<std::uint32_t>(read.bytes);
    }
    return Need::kClose;
}

// --- Requests ----------------------------------------------------------------------------------

// True when a request is complete and can be served.
bool HttpSession::take_request() {
    RequestReader& input = workspace_->input;
    const HeadLimits limits{.max_header_bytes = core_.config.max_header_bytes,
                            .max_target_bytes = core_.config.max_target_bytes};
    switch (input.next(limits, core_.config.max_body_bytes)) {
        case RequestReader::State::kComplete:
            body_bytes_.hold(input.own_body_bytes());
            return true;
        case RequestReader::State::kRefused:
            refuse(input.refusal(), input.reason());
            return false;
        case RequestReader::State::kIncomplete:
            break;
    }
    if (may_go_on_reading() && input.take_continue()) {
        workspace_->answers.add_continue();
    }
    return false;
}

// Of a request that has not arrived whole: false when it has been refused.
bool HttpSession::may_go_on_reading() {
    RequestReader& input = workspace_->input;
    if (input.take_head_due() && refused_by_head()) {
        return false;
    }
    if (!body_bytes_.hold(input.own_body_bytes(), core_.config.max_buffered_body_bytes)) {
        refuse({.code = Code::kOverloaded,
                .blame = Blame::kGateway,
                .message = "too many large request bodies at once",
                .retry_after = kBodyRetry});
        return false;
    }
    return true;
}

bool HttpSession::refused_by_head() {
    fill_request();
    try {
        std::optional<HttpResponse> refusal = core_.shared.handler.refuse_head(workspace_->request);
        if (!refusal) {
            return false;
        }
        refusal->close = true;
        answer(*std::move(refusal));
    } catch (...) {
        fail(std::current_exception());
        closing_ = true;
    }
    linger_ = true;
    return true;
}

void HttpSession::fill_request() {
    Workspace& w = *workspace_;
    const RequestHead& head = w.input.head();
    core_.now = core_.shared.clock.now();
    HttpRequest& request = w.request;
    request.method = head.method;
    request.method_text = head.method_text;
    request.target = head.target;
    request.path = head.path;
    request.query = head.query;
    request.headers = head.fields;
    request.body = w.input.body();
    request.peer = peer_.address;
    request.over_unix_socket = peer_.over_unix_socket;
    request.context.id = RequestId::make(core_.ids);
    request.context.trace = TraceContext::continue_or_start(head.traceparent, core_.ids);
    request.context.started = core_.now;
}

void HttpSession::serve() {
    Workspace& w = *workspace_;
    fill_request();
    try {
        HttpReply reply = core_.shared.handler.handle(w.request);
        if (auto* const task = std::get_if<Task<HttpResponse>>(&reply)) {
            w.task.emplace(std::move(*task));
        } else {
            answer(std::get<HttpResponse>(std::move(reply)));
        }
    } catch (...) {
        fail(std::current_exception());
    }
}

void HttpSession::answer(HttpResponse response) {
    Workspace& w = *workspace_;
    if (const auto error = core_.refuse_for_room(response, w.request)) {
        response = refusal(*error, w.request.context.id);
    }
    const RequestHead& head = w.input.head();
    const RequestContext& context = w.request.context;
    const bool client_closes = !head.keep_alive;
    const bool was_last = peer_finished_ && !w.input.any_behind();
    const bool we_close = response.close || core_.leaving || core_.draining || was_last;
    const int status = response.status;
    std::string traceparent;
    if (!head.traceparent.empty()) {
        traceparent = context.trace.traceparent();
    }
    const AnswerContext answer_context{.date_line = core_.date.text(),
                                       .request_id = context.id.text(),
                                       .traceparent = traceparent,
                                       .request_fields = head.fields,
                                       .http11 = head.http11,
                                       .head_only = head.method == Method::kHead,
                                       .keep_alive = !client_closes && !we_close};
    const std::size_t bytes = w.answers.add(std::move(response), answer_context);
    core_.now = core_.shared.clock.now();
    const Duration took = core_.now - context.started;
    core_.counters.answered(head.method, status, took);
    if (core_.shared.log.enabled(obs::Level::kDebug)) {
        log_served(status, bytes, took);
    }
    w.input.finish();
    body_bytes_.hold(0);
    enter(Phase::kIdle, core_.now);
    if (client_closes || we_close) {
        closing_ = true;
        linger_ = !client_closes && !peer_finished_;
    }
}

void HttpSession::log_served(int status, std::size_t bytes, Duration took) const {
    const HttpRequest& request = workspace_->request;
    core_.shared.log.debug("request_served",
                           {{"request_id", request.context.id},
                            {"method", to_string(request.method)},
                            {"path", request.path},
                            {"status", status},
                            {"bytes", bytes},
                            {"ms", std::chrono::duration<double, std::milli>(took).count()}});
}

void HttpSession::refuse(Code code, std::string_view reason) {
    refuse(
        {.code = code, .blame = Blame::kCaller, .message = std::string(reason), .retry_after = {}});
}

void HttpSession::refuse(const Error& error) {
    Workspace& w = *workspace_;
    const RequestId id = RequestId::make(core_.ids);
    const bool to_head = w.input.in_body() && w.input.head().method == Method::kHead;
    const AnswerContext context{.date_line = core_.date.text(),
                                .request_id = id.text(),
                                .head_only = to_head,
                                .keep_alive = false};
    w.answers.add(refusal(error, id), context);
    core_.counters.refused(error.code);
    closing_ = true;  // what follows a refused request can't be told apart from its rest
    linger_ = true;
}

HttpResponse HttpSession::refusal(const Error& error, const RequestId& id) {
    try {
        return core_.shared.handler.refuse(error, id);
    } catch (...) {
        core_.counters.failed();
        HttpResponse bare;
        bare.status = 500;
        bare.close = true;
        return bare;
    }
}

void HttpSession::fail(const std::exception_ptr& error) {
    const RequestId& id = workspace_->request.context.id;
    core_.counters.failed();
    core_.shared.log.error("request_failed",
                           {{"request_id", id}, {"exception", exception_type(error)}});
    const Error internal{.code = Code::kInternal,
                         .blame = Blame::kGateway,
                         .message = "internal error",
                         .retry_after = {}};
    answer(refusal(internal, id));
}

// --- The wire ----------------------------------------------------------------------------------

IoResult HttpSession::fill() {
    RequestReader& input = workspace_->input;
    const IoResult read = transport_.read(input.room());
    input.filled(read.bytes);
    return read;
}

// Writes what waits, or until `may_write`, from which it takes what it wrote, has come to 0.
IoState HttpSession::flush(std::size_t& may_write) {
    ResponseBatch& answers = workspace_->answers;
    while (!answers.empty() && may_write > 0) {
        ResponseBatch::Buffers storage;
        const IoResult write = transport_.write(answers.buffers(storage));
        answers.written(write.bytes);
        may_write -= std::min(may_write, write.bytes);
        taken_while_held_ += write.bytes;
        if (phase_ == Phase::kWrite && write.bytes > 0) {
            since_ = core_.shared.clock.now();  // also of who took a turn's worth
        }
        if (write.state != IoState::kOk) {
            answers.await_room();
            hold_answers();
            if (phase_ != Phase::kWrite) {
                enter(Phase::kWrite, core_.shared.clock.now());
            }
            return write.state;
        }
    }
    held_answers_.written(answers);
    return IoState::kOk;
}

// --- Replies that take time --------------------------------------------------------------------

void HttpSession::start_reply() {
    enter(Phase::kBusy, core_.now);
    exchange_ += 1;
    Task<HttpResponse> task = std::move(*workspace_->task);
    workspace_->task.reset();
    asio::co_spawn(core_.io, std::move(task),
                   asio::bind_cancellation_slot(
                       cancel_.slot(), [self = shared_from_this()](const std::exception_ptr& error,
                                                                   HttpResponse response) {
                           self->finish_reply(error, std::move(response));
                       }));
    watch();
}

void HttpSession::finish_reply(const std::exception_ptr& error, HttpResponse response) {
    exchange_ += 1;
    if (!awaits_input_) {
        error_code ignored;
        transport_.socket().cancel(ignored);
    }
    if (cut_ || peer_gone_) {
        end();
        return;
    }
    if (error) {
        fail(error);
    } else {
        answer(std::move(response));
    }
    step();
}

// Looks out for the client's leaving while a reply is awaited. Requests that it sends meanwhile are
// read ahead into the room behind this one.
void HttpSession::watch() {
    if (!peer_finished_ && !workspace_->input.room_behind().empty()) {
        await_input();
        return;
    }
    transport_.socket().async_wait(
        Socket::wait_error,
        [self = shared_from_this(), exchange = exchange_](const error_code& ec) {
            if (!ec && self->exchange_ == exchange && !self->cut_) {
                self->lose_client();
            }
        });
}

void HttpSession::look_at_client() {
    Workspace& w = *workspace_;
    const IoResult read = transport_.read(w.input.room_behind());
    w.input.filled_behind(read.bytes);
    if (read.state == IoState::kBroken) {
        lose_client();
        return;
    }
    if (read.state == IoState::kEnd) {
        // Either it has sent all that it wants to and waits for the answer, or it is gone. An
        // interim answer, which any HTTP/1.1 client must be able to skip, tells: where nobody is
        // left to read it, a reset comes back. Without one on HTTP/1.0, the answer is worked out to
        // the end.
        peer_finished_ = true;
        if (w.input.head().http11) {
            w.answers.add_continue();
            std::size_t may_write = kBytesPerTurn;
            if (flush(may_write) == IoState::kBroken) {
                lose_client();
                return;
            }
            phase_ = Phase::kBusy;
        }
    }
    watch();
}

void HttpSession::lose_client() {
    peer_gone_ = true;
    core_.counters.cancelled();
    cancel_.emit(asio::cancellation_type::terminal);
}

// --- Time --------------------------------------------------------------------------------------

Duration HttpSession::allowed(Phase phase) const {
    switch (phase) {
        case Phase::kHandshake:
        case Phase::kHead:
            return core_.config.header_timeout;
        case Phase::kIdle:
            return core_.config.idle_timeout;
        case Phase::kBody:
            return core_.config.body_timeout;
        case Phase::kWrite:
            return core_.config.write_timeout;
        case Phase::kLinger:
            return kLingerTime;
        case Phase::kBusy:
            return Duration::max();  // the handler's own deadline rules
    }
    SLUICE_ASSERT(false && "a Phase outside its enumeration");
}

void HttpSession::sweep(Instant now) {
    if (awaits_turn_ || timed_out_ || now - since_ <= allowed(phase_)) {
        return;
    }
    timed_out_ = true;
    error_code ignored;
    transport_.socket().cancel(ignored);
}

void HttpSession::drain() {
    if (phase_ == Phase::kIdle) {
        error_code ignored;
        transport_.socket().cancel(ignored);
    }
}

void HttpSession::cut() {
    if (cut_) {
        return;
    }
    cut_ = true;
    held_answers_.release();
    if (phase_ == Phase::kBusy) {
        cancel_.emit(asio::cancellation_type::terminal);
    }
    transport_.close();
}

}  // namespace sluice::io
