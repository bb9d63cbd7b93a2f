// One connection to Redis, for RedisClient only: how it is opened, what is under way on it, and why
// it ended. Belongs to the thread of its executor.
#pragma once

#include "base/clock.h"
#include "base/task.h"
#include "guard/event.h"
#include "io/redis_reply.h"
#include "io/redis_url.h"
#include "io/transport.h"

#include <boost/asio/ip/tcp.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::io {

// Why a connection can't be used.
enum class RedisFault : std::uint8_t {
    kConnectFailed,
    kTlsFailed,
    kLoginRefused,
    kDatabaseRefused,
    kNotServing,       // it loads its data, or is a replica that takes no writes
    kMasterUnknown,    // the sentinel has no master of that name
    kSentinelRefused,  // it does not let us ask, or is none
    kMoved,            // another server is to be used by now
    kTimedOut,
    kClosed,  // by the other side, or by the network
    kGarbled,
    kReplyTooLarge,
    kStopped,  // by us
};
std::string_view to_string(RedisFault fault);

// What an error reply says about the whole connection; nothing for an error of one command.
std::optional<RedisFault> fault_of(const RedisReply& reply);

class RedisConnection : public std::enable_shared_from_this<RedisConnection> {
 public:
    static constexpr std::size_t kMaxPending = 4'096;
    static constexpr std::size_t kMaxUnsentBytes = 32 * 1024 * 1024;

    // `tls` is null for a plain one. References outlive it; its tasks run in `tasks`.
    RedisConnection(const Executor& executor, RedisEndpoint endpoint, const TlsContext* tls,
                    Clock& clock, TaskScope& tasks);

    // Connects, logs in, chooses the database and sees that it is no replica, where it may ask
    // that. Ends with the connection ready or closed, by `deadline` at the latest. Throws when it
    // is cancelled.
    Task<void> open(Instant deadline);
    // The same with a sentinel: where the master is, with the login that is for it. Nothing:
    // fault() says why. The connection is closed then.
    Task<std::optional<RedisEndpoint>> locate_master(Instant deadline);

    const RedisEndpoint& endpoint() const { return endpoint_; }
    // Whether it said so itself.
    bool is_master() const { return is_master_; }
    bool is_open() const { return !fault_; }
    // Whether commands can be sent.
    bool is_ready() const { return is_open() && !is_opening_; }
    // Why it is not.
    RedisFault fault() const { return *fault_; }

    // One command under way. Set when its reply came, and without one when the connection ended.
    struct Pending {
        explicit Pending(Instant at) : sent_at(at) {}
        const Instant sent_at;
        guard::Event done;
        std::optional<RedisReply> reply;
    };
    // Whether another command of so many bytes has room.
    bool has_room(std::size_t bytes) const;
    std::shared_ptr<Pending> send(std::span<const std::string_view> words, Instant now);
    // Since when it owes the next reply; nothing: it owes none.
    std::optional<Instant> owes_since() const;

    // Hands replies to who waits for them, until the connection ends.
    Task<void> serve();

    // Only the first reason counts. Everybody who waits is woken up.
    void close(RedisFault fault);

 private:
    Task<void> give_up_at(std::shared_ptr<RedisConnection> self, std::shared_ptr<Alarm> alarm,
                          Instant deadline);
    Task<void> connect();
    Task<void> shake_hands();
    Task<void> log_in();
    void append_login(std::vector<RedisFault>& meanings);
    void judge_role(const RedisReply& role);
    Task<void> log_in_to_sentinel();
    Task<std::optional<RedisReply>> next_reply();
    Task<bool> fill();
    Task<bool> receive();
    Task<void> wait_for(IoState wish);
    void push_soon();
    void push();
    Task<void> push_later(std::shared_ptr<RedisConnection> self);

    const RedisEndpoint endpoint_;
    Clock& clock_;
    TaskScope& tasks_;
    boost::asio::ip::basic_resolver<boost::asio::ip::tcp, Executor> resolver_;
    Transport transport_;
    std::array<char, 16 * 1024> room_;
    RedisReplyReader replies_;
    std::deque<std::shared_ptr<Pending>> pending_;
    std::string unsent_;
    std::size_t sent_ = 0;  // of unsent_
    bool is_push_due_ = false;
    bool is_pushing_ = false;  // a task does, as soon as there is room
    bool is_opening_ = true;
    bool is_master_ = false;
    std::optional<RedisFault> fault_;
};

}  // namespace sluice::io
