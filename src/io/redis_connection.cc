#include "io/redis_connection.h"

#include "base/result.h"
#include "io/tls.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>

#include <charconv>
#include <string>
#include <utility>
#include <vector>

namespace sluice::io {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr auto kTuple = asio::as_tuple(use_task);

// Rings when it goes, however the task ends.
class RingAtEnd {
 public:
    explicit RingAtEnd(std::shared_ptr<Alarm> alarm) : alarm_(std::move(alarm)) {}
    ~RingAtEnd() { alarm_->ring(); }
    RingAtEnd(const RingAtEnd&) = delete;
    RingAtEnd& operator=(const RingAtEnd&) = delete;

 private:
    std::shared_ptr<Alarm> alarm_;
};

// What a sentinel says of its master; nothing when it knows none.
std::optional<RedisEndpoint> server_of(const RedisReply& reply, const RedisEndpoint& sentinel) {
    if (reply.elements.size() != 2 || !reply.elements[0].is_text() ||
        reply.elements[0].text.empty() || !reply.elements[1].is_text()) {
        return std::nullopt;
    }
    RedisEndpoint server = sentinel;
    server.master.clear();
    server.host = reply.elements[0].text;
    const std::string& port = reply.elements[1].text;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), server.port);
    if (error != std::errc() || end != port.data() + port.size() || server.port == 0) {
        return std::nullopt;
    }
    return server;
}

}  // namespace

std::string_view to_string(RedisFault fault) {
    switch (fault) {
        case RedisFault::kConnectFailed:
            return "connect_failed";
        case RedisFault::kTlsFailed:
            return "tls_failed";
        case RedisFault::kLoginRefused:
            return "login_refused";
        case RedisFault::kDatabaseRefused:
            return "database_refused";
        case RedisFault::kNotServing:
            return "not_serving";
        case RedisFault::kMasterUnknown:
            return "master_unknown";
        case RedisFault::kSentinelRefused:
            return "sentinel_refused";
        case RedisFault::kMoved:
            return "moved";
        case RedisFault::kTimedOut:
            return "timed_out";
        case RedisFault::kClosed:
            return "closed";
        case RedisFault::kGarbled:
            return "garbled";
        case RedisFault::kReplyTooLarge:
            return "reply_too_large";
        case RedisFault::kStopped:
            return "stopped";
    }
    SLUICE_ASSERT(false && "a RedisFault outside its enumeration");
}

std::optional<RedisFault> fault_of(const RedisReply& reply) {
    const std::string_view word = reply.error_word();
    if (word == "NOAUTH" || word == "WRONGPASS") {
        return RedisFault::kLoginRefused;
    }
    if (word == "LOADING" || word == "READONLY" || word == "MASTERDOWN") {
        return RedisFault::kNotServing;
    }
    return std::nullopt;
}

RedisConnection::RedisConnection(const Executor& executor, RedisEndpoint endpoint,
                                 const TlsContext* tls, Clock& clock, TaskScope& tasks)
    : endpoint_(std::move(endpoint)),
      clock_(clock),
      tasks_(tasks),
      resolver_(executor),
      transport_(Socket(executor), tls, endpoint_.host) {}

Task<void> RedisConnection::open(Instant deadline) {
    auto alarm = std::make_shared<Alarm>(co_await asio::this_coro::executor);
    const RingAtEnd ring(alarm);
    tasks_.spawn(give_up_at(shared_from_this(), std::move(alarm), deadline));
    co_await connect();
    co_await shake_hands();
    co_await log_in();
    is_opening_ = false;
}

Task<std::optional<RedisEndpoint>> RedisConnection::locate_master(Instant deadline) {
    auto alarm = std::make_shared<Alarm>(co_await asio::this_coro::executor);
    const RingAtEnd ring(alarm);
    tasks_.spawn(give_up_at(shared_from_this(), std::move(alarm), deadline));
    co_await connect();
    co_await shake_hands();
    co_await log_in_to_sentinel();
    if (!is_open()) {
        co_return std::nullopt;
    }
    const std::array<std::string_view, 3> words{"SENTINEL", "get-master-addr-by-name",
                                                endpoint_.master};
    append_command(unsent_, words);
    push();
    const std::optional<RedisReply> reply = co_await next_reply();
    if (!reply) {
        co_return std::nullopt;
    }
    if (reply->is_error()) {
        close(fault_of(*reply).value_or(RedisFault::kSentinelRefused));
        co_return std::nullopt;
    }
    std::optional<RedisEndpoint> server = server_of(*reply, endpoint_);
    close(server ? RedisFault::kStopped : RedisFault::kMasterUnknown);
    co_return server;
}

Task<void> RedisConnection::give_up_at(std::shared_ptr<RedisConnection> self,
                                       std::shared_ptr<Alarm> alarm, Instant deadline) {
    co_await clock_.wait(std::move(alarm), deadline);
    if (self->is_opening_ && clock_.now() >= deadline) {
        close(RedisFault::kTimedOut);
    }
}

Task<void> RedisConnection::connect() {
    const std::string port = std::to_string(endpoint_.port);
    auto [unknown, addresses] = co_await resolver_.async_resolve(endpoint_.host, port, kTuple);
    Socket& socket = transport_.socket();
    error_code ec = unknown;
    for (const auto& address : addresses) {
        if (!is_open()) {
            co_return;
        }
        error_code ignored;
        socket.close(ignored);
        auto [refused] =
            co_await socket.async_connect(Socket::endpoint_type(address.endpoint()), kTuple);
        ec = refused;
        if (!ec) {
            break;
        }
    }
    if (ec) {
        close(RedisFault::kConnectFailed);
        co_return;
    }
    error_code ignored;  // it would only be slower
    socket.set_option(tcp::no_delay(true), ignored);
    socket.non_blocking(true, ec);
    if (ec) {
        close(RedisFault::kConnectFailed);
    }
}

Task<void> RedisConnection::shake_hands() {
    while (is_open()) {
        const IoResult step = transport_.handshake();
        if (step.state == IoState::kOk) {
            co_return;
        }
        if (step.state == IoState::kEnd || step.state == IoState::kBroken) {
            close(RedisFault::kTlsFailed);
            co_return;
        }
        co_await wait_for(step.state);
    }
}

void RedisConnection::append_login(std::vector<RedisFault>& meanings) {
    if (endpoint_.password.empty()) {
        return;
    }
    std::vector<std::string_view> words{"AUTH"};
    if (!endpoint_.user.empty()) {
        words.push_back(endpoint_.user);
    }
    words.push_back(endpoint_.password.reveal());
    append_command(unsent_, words);
    meanings.push_back(RedisFault::kLoginRefused);
}

Task<void> RedisConnection::log_in() {
    if (!is_open()) {
        co_return;
    }
    std::vector<RedisFault> meanings;  // of a refusal of each command
    append_login(meanings);
    const std::string database = std::to_string(endpoint_.database);
    append_command(unsent_, std::vector<std::string_view>{"SELECT", database});
    meanings.push_back(RedisFault::kDatabaseRefused);
    append_command(unsent_, std::vector<std::string_view>{"PING"});
    meanings.push_back(RedisFault::kNotServing);
    append_command(unsent_, std::vector<std::string_view>{"ROLE"});
    push();
    for (const RedisFault meaning : meanings) {
        const std::optional<RedisReply> reply = co_await next_reply();
        if (!reply) {
            co_return;
        }
        if (reply->is_error()) {
            close(fault_of(*reply).value_or(meaning));
            co_return;
        }
        if (reply->kind != RedisReply::Kind::kStatus) {
            close(RedisFault::kGarbled);
            co_return;
        }
    }
    if (const std::optional<RedisReply> role = co_await next_reply()) {
        judge_role(*role);
    }
}

// Who may not ask finds out by a write that is refused.
void RedisConnection::judge_role(const RedisReply& role) {
    if (role.is_error()) {
        return;
    }
    if (role.kind != RedisReply::Kind::kArray || role.elements.empty()) {
        close(RedisFault::kGarbled);
        return;
    }
    is_master_ = role.elements.front().text == "master";
    if (!is_master_) {
        close(RedisFault::kNotServing);
    }
}

// The login is the server's. A sentinel may want the same one or none, so only what it refuses
// without it counts.
Task<void> RedisConnection::log_in_to_sentinel() {
    if (!is_open()) {
        co_return;
    }
    std::vector<RedisFault> ignored;
    append_login(ignored);
    append_command(unsent_, std::vector<std::string_view>{"PING"});
    push();
    for (std::size_t i = 0; i < ignored.size(); ++i) {
        if (!co_await next_reply()) {
            co_return;
        }
    }
    const std::optional<RedisReply> pong = co_await next_reply();
    if (pong && pong->kind != RedisReply::Kind::kStatus) {
        close(fault_of(*pong).value_or(pong->is_error() ? RedisFault::kSentinelRefused
                                                        : RedisFault::kGarbled));
    }
}

bool RedisConnection::has_room(std::size_t bytes) const {
    return pending_.size() < kMaxPending && unsent_.size() + bytes <= kMaxUnsentBytes;
}

std::shared_ptr<RedisConnection::Pending> RedisConnection::send(
    std::span<const std::string_view> words, Instant now) {
    auto pending = std::make_shared<Pending>(now);
    pending_.push_back(pending);
    append_command(unsent_, words);
    push_soon();
    return pending;
}

std::optional<Instant> RedisConnection::owes_since() const {
    return pending_.empty() ? std::nullopt : std::optional(pending_.front()->sent_at);
}

Task<void> RedisConnection::serve() {
    while (std::optional<RedisReply> reply = co_await next_reply()) {
        if (pending_.empty()) {
            close(RedisFault::kGarbled);
            break;
        }
        const std::shared_ptr<Pending> pending = std::move(pending_.front());
        pending_.pop_front();
        pending->reply = std::move(reply);
        pending->done.set();
    }
}

void RedisConnection::close(RedisFault fault) {
    if (fault_) {
        return;
    }
    fault_ = fault;
    resolver_.cancel();
    transport_.close();
    for (const auto& pending : pending_) {
        pending->done.set();
    }
    pending_.clear();
}

Task<std::optional<RedisReply>> RedisConnection::next_reply() {
    for (;;) {
        RedisReply reply;
        switch (replies_.next(reply)) {
            case RedisReplyReader::State::kReply:
                co_return std::move(reply);
            case RedisReplyReader::State::kNeedsMore:
                break;
            case RedisReplyReader::State::kGarbled:
                close(RedisFault::kGarbled);
                co_return std::nullopt;
            case RedisReplyReader::State::kTooLarge:
                close(RedisFault::kReplyTooLarge);
                co_return std::nullopt;
        }
        if (!co_await fill()) {
            co_return std::nullopt;
        }
    }
}

Task<bool> RedisConnection::fill() {
    if (!transport_.is_tls()) {
        co_return co_await receive();
    }
    while (is_open()) {
        const IoResult got = transport_.read(room_);
        switch (got.state) {
            case IoState::kOk:
                replies_.feed(std::string_view(room_.data(), got.bytes));
                co_return true;
            case IoState::kWantsRead:
            case IoState::kWantsWrite:
                co_await wait_for(got.state);
                break;
            case IoState::kEnd:
            case IoState::kBroken:
                close(RedisFault::kClosed);
                break;
        }
    }
    co_return false;
}

// fill() of a plain connection. The loop reads as soon as there is something: one system call for
// each batch of replies, where waiting and then reading until nothing is left would be three.
Task<bool> RedisConnection::receive() {
    if (!is_open()) {
        co_return false;
    }
    const asio::mutable_buffer room = asio::buffer(room_);
    const auto [ec, bytes] = co_await transport_.socket().async_read_some(room, kTuple);
    if (ec) {
        close(RedisFault::kClosed);
        co_return false;
    }
    replies_.feed(std::string_view(room_.data(), bytes));
    co_return true;
}

Task<void> RedisConnection::wait_for(IoState wish) {
    const auto what = wish == IoState::kWantsWrite ? Socket::wait_write : Socket::wait_read;
    const auto [ec] = co_await transport_.socket().async_wait(what, kTuple);
    if (ec) {
        close(RedisFault::kClosed);
    }
}

// What is asked for in one turn of the loop leaves together.
void RedisConnection::push_soon() {
    if (!is_push_due_) {
        is_push_due_ = true;
        asio::post(resolver_.get_executor(), [self = shared_from_this()] {
            self->is_push_due_ = false;
            self->push();
        });
    }
}

// Sends what fits now, and leaves the rest to a task.
void RedisConnection::push() {
    if (is_pushing_ || !is_open()) {
        return;
    }
    const std::array<asio::const_buffer, 1> rest{asio::buffer(unsent_) + sent_};
    const IoResult put = transport_.write(rest);
    sent_ += put.bytes;
    switch (put.state) {
        case IoState::kOk:
            unsent_.clear();
            sent_ = 0;
            break;
        case IoState::kWantsRead:
        case IoState::kWantsWrite:
            is_pushing_ = true;
            tasks_.spawn(push_later(shared_from_this()));
            break;
        case IoState::kEnd:
        case IoState::kBroken:
            close(RedisFault::kClosed);
            break;
    }
}

Task<void> RedisConnection::push_later(std::shared_ptr<RedisConnection> self) {
    co_await wait_for(IoState::kWantsWrite);
    self->is_pushing_ = false;
    push();
}

}  // namespace sluice::io
