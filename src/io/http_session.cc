#include "io/http_session.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/core/demangle.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <typeinfo>
#include <utility>

namespace sluice::io {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t kBodyStep = 64 * 1024;  // read at once into a body of its own
constexpr int kRoundsPerTurn = 16;            // reads before other connections come first
constexpr std::uint32_t kMaxLingerBytes = 256 * 1024;
constexpr Millis kLingerTime{2'000};

}  // namespace

HttpSession::HttpSession(ServerCore& core, Socket socket, const TlsContext* tls, Peer peer)
    : core_(core),
      transport_(std::move(socket), tls),
      peer_(peer),
      since_(core.now),
      phase_(tls != nullptr ? Phase::kHandshake : Phase::kIdle) {
    core_.shared.connections.fetch_add(1, std::memory_order_relaxed);
}

HttpSession::~HttpSession() {
    core_.shared.connections.fetch_sub(1, std::memory_order_relaxed);
}

void HttpSession::start() {
    step();
}

// --- The machine -------------------------------------------------------------------------------

void HttpSession::step() {
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
            asio::post(core_.io, [self = shared_from_this()] { self->step(); });
            break;
        case Need::kClose:
            transport_.close();
            workspace_.reset();
            break;
    }
}

void HttpSession::wait(Need need) {
    const auto kind = need == Need::kWritable ? Socket::wait_write : Socket::wait_read;
    transport_.socket().async_wait(kind, [self = shared_from_this()](const error_code& ec) {
        // Waits are also ended by sweep(), drain() and cut(), which leave a note in a member.
        if (!ec || ec == asio::error::operation_aborted) {
            self->step();
        }
    });
}

HttpSession::Need HttpSession::advance() {
    if (cut_) {
        return Need::kClose;
    }
    if (phase_ == Phase::kLinger) {
        return timed_out_ ? Need::kClose : linger();
    }
    if (phase_ == Phase::kHandshake) {
        const IoResult handshake = transport_.handshake();
        if (handshake.state == IoState::kWantsRead || handshake.state == IoState::kWantsWrite) {
            const bool reads = handshake.state == IoState::kWantsRead;
            return timed_out_ ? Need::kClose : reads ? Need::kReadable : Need::kWritable;
        }
        if (handshake.state != IoState::kOk) {
            return Need::kClose;
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
    if (!workspace_) {
        workspace_ = core_.workspaces.borrow(core_.config.max_header_bytes);
    }
    bool drained = false;
    for (int round = 0; round < kRoundsPerTurn;) {
        while (!closing_ && !workspace_->answers.full() && !workspace_->task &&
               take_request() == Supply::kComplete) {
            serve();
        }
        const bool more_buffered = workspace_->answers.full();
        switch (flush()) {
            case IoState::kOk:
                break;
            case IoState::kWantsWrite:
                return Need::kWritable;
            case IoState::kWantsRead:
                return Need::kReadable;
            case IoState::kEnd:
            case IoState::kBroken:
                return Need::kClose;
        }
        if (workspace_->task) {
            return Need::kReply;
        }
        if (closing_) {
            return after_last_answer();
        }
        if (more_buffered) {
            round += 1;
            continue;
        }
        if (drained) {
            return rest();
        }
        const IoResult read = fill();
        switch (read.state) {
            case IoState::kOk:
                drained = read.drained;
                break;
            case IoState::kWantsRead:
                return rest();
            case IoState::kWantsWrite:
                return Need::kWritable;
            case IoState::kEnd:
            case IoState::kBroken:
                return Need::kClose;
        }
        round += 1;
    }
    return Need::kTurn;
}

// Nothing can be done until more arrives: an idle connection gives everything back.
HttpSession::Need HttpSession::rest() {
    if (workspace_->head_complete) {
        if (phase_ != Phase::kBody) {
            enter(Phase::kBody, core_.shared.clock.now());
        }
        return Need::kReadable;
    }
    if (workspace_->begin != workspace_->end) {
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

HeadLimits HttpSession::head_limits() const {
    // A workspace may have been borrowed before the settings changed.
    const std::size_t fits = workspace_->capacity - WorkspacePool::kBodyRoom;
    return {.max_header_bytes = std::min(core_.config.max_header_bytes, fits),
            .max_target_bytes = core_.config.max_target_bytes};
}

HttpSession::Supply HttpSession::take_request() {
    if (!workspace_->head_complete && take_head() == Supply::kIncomplete) {
        return Supply::kIncomplete;
    }
    return workspace_->head.chunked ? take_chunks() : take_body();
}

HttpSession::Supply HttpSession::take_head() {
    Workspace& w = *workspace_;
    const std::string_view bytes = w.unread();
    const HeadLimits limits = head_limits();
    if (w.scanned > 0 && !head_may_be_complete(bytes, limits, w.scanned)) {
        return Supply::kIncomplete;
    }
    const HeadResult result = parse_head(bytes, limits, w.head);
    switch (result.state) {
        case HeadState::kIncomplete:
            w.scanned = bytes.size();
            return Supply::kIncomplete;
        case HeadState::kRefused:
            refuse(result.refusal, result.reason);
            return Supply::kIncomplete;
        case HeadState::kComplete:
            break;
    }
    w.head_complete = true;
    w.head_size = result.size;
    w.scanned = 0;
    if (w.head.content_length > core_.config.max_body_bytes) {
        refuse(Code::kPayloadTooLarge, "the request body is too large");
        return Supply::kIncomplete;
    }
    return Supply::kComplete;
}

// A body of known length is read where it stands if the buffer has room for it.
bool HttpSession::stays_in_buffer() const {
    const Workspace& w = *workspace_;
    return w.head.content_length <= w.capacity - w.begin - w.head_size;
}

HttpSession::Supply HttpSession::take_body() {
    Workspace& w = *workspace_;
    const std::string_view arrived = w.unread().substr(w.head_size);
    const auto length = static_cast<std::size_t>(w.head.content_length);
    if (stays_in_buffer()) {
        if (arrived.size() < length) {
            return begin_body();
        }
        w.request.body = arrived.substr(0, length);
        w.request_size = w.head_size + length;
        return Supply::kComplete;
    }
    if (!arrived.empty()) {
        w.body.append(arrived);
        w.end = w.begin + w.head_size;
    }
    if (w.body.size() < length) {
        return begin_body();
    }
    w.request.body = w.body;
    w.request_size = w.head_size;
    return Supply::kComplete;
}

HttpSession::Supply HttpSession::take_chunks() {
    Workspace& w = *workspace_;
    std::size_t consumed = 0;
    switch (w.chunks.feed(w.unread().substr(w.head_size), core_.config.max_body_bytes, w.body,
                          consumed)) {
        case ChunkDecoder::State::kMore:
            w.end = w.begin + w.head_size;
            return begin_body();
        case ChunkDecoder::State::kDone:
            w.request.body = w.body;
            w.request_size = w.head_size + consumed;
            return Supply::kComplete;
        case ChunkDecoder::State::kMalformed:
            refuse(Code::kInvalidRequest, "malformed chunked body");
            return Supply::kIncomplete;
        case ChunkDecoder::State::kTooLarge:
            refuse(Code::kPayloadTooLarge, "the request body is too large");
            return Supply::kIncomplete;
    }
    SLUICE_ASSERT(false && "a state outside its enumeration");
}

// The body, or the rest of it, is still to come.
HttpSession::Supply HttpSession::begin_body() {
    Workspace& w = *workspace_;
    if (w.body_begun) {
        return Supply::kIncomplete;
    }
    w.body_begun = true;
    const bool nothing_yet = w.body.empty() && w.unread().size() == w.head_size;
    if (w.head.expects_continue && nothing_yet) {
        w.answers.add_continue();
    }
    if (w.head.chunked && w.room().size() < WorkspacePool::kBodyRoom) {
        // Chunks are read behind the head. The head is parsed again where it is moved to.
        w.compact();
        const HeadResult again = parse_head(w.unread(), head_limits(), w.head);
        SLUICE_ASSERT(again.state == HeadState::kComplete);
    }
    return Supply::kIncomplete;
}

void HttpSession::serve() {
    Workspace& w = *workspace_;
    core_.now = core_.shared.clock.now();
    HttpRequest& request = w.request;
    request.method = w.head.method;
    request.method_text = w.head.method_text;
    request.target = w.head.target;
    request.path = w.head.path;
    request.query = w.head.query;
    request.headers = w.head.fields;
    request.peer = peer_.address;
    request.over_unix_socket = peer_.over_unix_socket;
    request.context.id = RequestId::make(core_.random);
    request.context.trace = TraceContext::continue_or_start(w.head.traceparent, core_.random);
    request.context.started = core_.now;
    request.context.deadline = {};

    std::exception_ptr error;
    try {
        HttpReply reply = core_.shared.handler.handle(request);
        if (auto* const task = std::get_if<Task<HttpResponse>>(&reply)) {
            w.task.emplace(std::move(*task));
            return;
        }
        answer(std::get<HttpResponse>(std::move(reply)));
        return;
    } catch (...) {
        error = std::current_exception();
    }
    fail(error);
}

void HttpSession::answer(HttpResponse response) {
    Workspace& w = *workspace_;
    const RequestContext& context = w.request.context;
    const bool client_closes = !w.head.keep_alive;
    const bool we_close = response.close || core_.draining || peer_finished_;
    const int status = response.status;
    std::string traceparent;
    if (!w.head.traceparent.empty()) {
        traceparent = context.trace.traceparent();
    }
    const AnswerContext answer_context{.date_line = core_.date.text(),
                                       .request_id = context.id.text(),
                                       .traceparent = traceparent,
                                       .request_fields = w.head.fields,
                                       .http11 = w.head.http11,
                                       .head_only = w.head.method == Method::kHead,
                                       .keep_alive = !client_closes && !we_close};
    const std::size_t bytes = w.answers.add(std::move(response), answer_context);
    core_.now = core_.shared.clock.now();
    const Duration took = core_.now - context.started;
    core_.counters.answered(w.head.method, status, took);
    if (core_.shared.log.enabled(obs::Level::kDebug)) {
        log_served(status, bytes, took);
    }
    finish_request();
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

void HttpSession::finish_request() {
    Workspace& w = *workspace_;
    w.begin += w.request_size;
    if (w.begin == w.end) {
        w.begin = 0;
        w.end = 0;
    }
    w.head_complete = false;
    w.body_begun = false;
    w.body.clear();
    w.chunks = ChunkDecoder();
    enter(Phase::kIdle, core_.now);
}

void HttpSession::refuse(Code code, std::string_view reason) {
    Workspace& w = *workspace_;
    const Error error{
        .code = code, .blame = Blame::kCaller, .message = std::string(reason), .retry_after = {}};
    const RequestId id = RequestId::make(core_.random);
    const AnswerContext context{.date_line = core_.date.text(),
                                .request_id = id.text(),
                                .head_only = w.head_complete && w.head.method == Method::kHead,
                                .keep_alive = false};
    w.answers.add(refusal(error, id), context);
    core_.counters.refused(code);
    // What follows a refused request can't be told apart from its rest.
    w.begin = 0;
    w.end = 0;
    w.head_complete = false;
    closing_ = true;
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

// An exception is a bug. Its type is logged and not its text, which may quote what was searched
// for.
void HttpSession::fail(const std::exception_ptr& error) {
    const RequestId& id = workspace_->request.context.id;
    core_.counters.failed();
    std::string type = "unknown";
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& e) {
        type = boost::core::demangle(typeid(e).name());
    } catch (...) {
    }
    core_.shared.log.error("request_failed", {{"request_id", id}, {"exception", type}});
    const Error internal{.code = Code::kInternal,
                         .blame = Blame::kGateway,
                         .message = "internal error",
                         .retry_after = {}};
    answer(refusal(internal, id));
}

// --- The wire ----------------------------------------------------------------------------------

IoResult HttpSession::fill() {
    Workspace& w = *workspace_;
    if (w.head_complete && !w.head.chunked && !stays_in_buffer()) {
        const std::size_t size = w.body.size();
        const auto length = static_cast<std::size_t>(w.head.content_length);
        w.body.resize(size + std::min(kBodyStep, length - size));
        const IoResult read = transport_.read(std::span(w.body).subspan(size));
        w.body.resize(size + read.bytes);
        return read;
    }
    if (!w.head_complete && w.begin > 0) {
        w.compact();
    }
    SLUICE_ASSERT(!w.room().empty());
    const IoResult read = transport_.read(w.room());
    w.end += read.bytes;
    return read;
}

IoState HttpSession::flush() {
    ResponseBatch& answers = workspace_->answers;
    while (!answers.empty()) {
        ResponseBatch::Buffers storage;
        const IoResult write = transport_.write(answers.buffers(storage));
        answers.written(write.bytes);
        if (write.state != IoState::kOk) {
            if (phase_ != Phase::kWrite || write.bytes > 0) {
                enter(Phase::kWrite, core_.shared.clock.now());
            }
            return write.state;
        }
    }
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
    error_code ignored;
    transport_.socket().cancel(ignored);
    if (cut_ || peer_gone_) {
        transport_.close();
        workspace_.reset();
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
    const bool read_ahead = !peer_finished_ && !workspace_->room().empty();
    transport_.socket().async_wait(
        read_ahead ? Socket::wait_read : Socket::wait_error,
        [self = shared_from_this(), exchange = exchange_, read_ahead](const error_code& ec) {
            if (ec || self->exchange_ != exchange || self->cut_) {
                return;
            }
            if (read_ahead) {
                self->look_at_client();
            } else {
                self->lose_client();
            }
        });
}

void HttpSession::look_at_client() {
    Workspace& w = *workspace_;
    const IoResult read = transport_.read(w.room());
    w.end += read.bytes;
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
        if (w.head.http11) {
            w.answers.add_continue();
            if (flush() == IoState::kBroken) {
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

void HttpSession::enter(Phase phase, Instant now) {
    phase_ = phase;
    since_ = now;
}

Millis HttpSession::allowed(Phase phase) const {
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
            return Millis::max();  // the handler's own deadline rules
    }
    SLUICE_ASSERT(false && "a Phase outside its enumeration");
}

void HttpSession::sweep(Instant now) {
    if (phase_ == Phase::kBusy || timed_out_ || now - since_ <= allowed(phase_)) {
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
    if (phase_ == Phase::kBusy) {
        cancel_.emit(asio::cancellation_type::terminal);
    }
    transport_.close();
}

}  // namespace sluice::io
