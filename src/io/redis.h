// Redis: one connection for the whole process, shared by everybody on the control loop. Commands
// are pipelined on it; it is kept up in the background, so that a Redis that is away costs a
// request nothing, and one that hangs costs no more than one timeout.
#pragma once

#include "base/clock.h"
#include "base/config_reader.h"
#include "base/random.h"
#include "base/result.h"
#include "base/secret.h"
#include "base/task.h"
#include "guard/circuit.h"
#include "guard/event.h"
#include "io/redis_connection.h"
#include "io/redis_reply.h"
#include "io/redis_url.h"
#include "obs/log.h"
#include "obs/metrics.h"

#include <boost/asio/cancellation_signal.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::io {

class TlsContext;

struct RedisConfig {
    Secret url = {};  // as parse_redis_urls() takes it; empty: no Redis
    // Of `url`: the first that serves is used; or sentinels, of which the first that answers says
    // which server that is.
    std::vector<RedisEndpoint> endpoints = {};
    bool required = false;
    Millis timeout{500};  // of one command, and of making a connection

    bool enabled() const { return !endpoints.empty(); }
    bool wants_tls() const;

    static RedisConfig read(ConfigReader in);  // the section "redis"
};

// A Lua script and what Redis knows it by. Make it once and keep it.
class RedisScript {
 public:
    explicit RedisScript(std::string_view text);
    const std::string& text() const { return text_; }
    const std::string& sha1() const { return sha1_; }

 private:
    std::string text_;
    std::string sha1_;
};

// Belongs to the thread of its executor.
class RedisClient {
 public:
    // How often an idle connection is tried, so that a loss is noticed although nobody asks.
    static constexpr Millis kHeartbeatEvery{1'000};
    // Between two attempts, at most.
    static constexpr Millis kRetryEvery{1'000};
    // How often it is seen whether another server is to be used than the one that works: a new
    // master, as sentinels have it, or one that stands before it in the list.
    static constexpr Millis kWatchEvery{1'000};

    // `config` has at least one endpoint. `tls` may be null unless one of them wants it. References
    // outlive it.
    RedisClient(Executor executor, RedisConfig config, std::shared_ptr<const TlsContext> tls,
                Clock& clock, Random& random, const obs::Log& log, obs::Metrics& metrics);
    ~RedisClient();
    RedisClient(const RedisClient&) = delete;
    RedisClient& operator=(const RedisClient&) = delete;

    // Begins to keep the connection up; ends with the first attempt, whose failure it tells. Once.
    Task<Status> start();
    // Ends the connection and whatever waits for it, and waits for its own tasks. After start().
    Task<void> stop();

    // Sends a command and gives its reply, which is no error reply. All errors are blamed on the
    // gateway but kCancelled (the caller left; what was sent may be carried out):
    // kUnavailable (no connection, at once; or it was lost, or Redis refused the command),
    // kTimeout (no reply by `deadline` or within the configured timeout; the latter ends the
    // connection, since every later reply waits behind that one), kOverloaded (too much under way).
    Task<Result<RedisReply>> command(std::vector<std::string> words, Instant deadline);

    // The same for a script, which is sent as a whole only where Redis does not know it yet.
    Task<Result<RedisReply>> run(const RedisScript& script, std::vector<std::string> keys,
                                 std::vector<std::string> arguments, Instant deadline);

    // Where work goes on that belongs to what is kept in Redis, and that stop() has to wait for.
    TaskScope& tasks() { return tasks_; }

    bool is_up() const { return connection_ && connection_->is_ready(); }
    // How many there have been. After another one Redis may know less than before it: it may have
    // been restarted with older data, or be another server.
    std::uint64_t connections() const { return connections_; }
    // After a Redis that was away is back, every client that can reach it has noticed that it was
    // away and has a connection by then.
    Millis back_within() const;
    const RedisConfig& config() const { return config_; }
    const Executor& executor() const { return executor_; }

    struct View {
        bool is_up = false;
        std::string server;       // "host:port", of the connection or of the last attempt
        std::string_view reason;  // while it is down
    };
    View view() const;

 private:
    struct Counters;

    Task<void> keep_up();
    Task<std::shared_ptr<RedisConnection>> attempt();
    Task<void> use(std::shared_ptr<RedisConnection> connection);
    Task<void> beat(std::shared_ptr<RedisConnection> connection, std::shared_ptr<Alarm> alarm);
    Task<void> lose_patience(std::shared_ptr<RedisConnection> connection,
                             std::shared_ptr<Alarm> alarm);
    Task<void> watch(std::shared_ptr<RedisConnection> connection, std::shared_ptr<Alarm> alarm);
    Task<bool> another_serves(const RedisConnection& connection);
    std::shared_ptr<RedisConnection> make_connection(RedisEndpoint endpoint);
    bool uses_sentinels() const { return config_.endpoints.front().is_sentinel(); }
    Task<Result<RedisReply>> exchange(std::vector<std::string_view> words, Instant deadline);
    Result<RedisReply> judge(Result<RedisReply> reply);
    void count(RedisFault fault);
    void went_up();
    void went_down(RedisFault fault);
    Instant next_attempt();

    const Executor executor_;
    const RedisConfig config_;
    const std::shared_ptr<const TlsContext> tls_;
    Clock& clock_;
    Random& random_;
    const obs::Log& log_;
    obs::Metrics& metrics_;
    std::unique_ptr<Counters> counters_;
    obs::LogLimiter refusals_;
    guard::Circuit circuit_;  // of connections: closed while one is up, its probe is an attempt
    TaskScope tasks_;
    const std::shared_ptr<boost::asio::cancellation_signal> stop_ =
        std::make_shared<boost::asio::cancellation_signal>();
    guard::Event tried_;
    std::shared_ptr<RedisConnection> connection_;  // the last one that was tried
    std::shared_ptr<Alarm> beat_;                  // what its heartbeat waits on
    std::shared_ptr<Alarm> patience_;              // what the timeout of its replies waits on
    std::shared_ptr<RedisConnection> probe_;       // to see whether another is to be used
    std::shared_ptr<Alarm> watch_;                 // what that waits on between two looks
    std::size_t endpoint_ = 0;                     // that led to the connection
    std::size_t first_ = 0;                        // of the endpoints, in the next attempt
    std::uint64_t connections_ = 0;
    std::optional<RedisFault> fault_;  // while it is down, once that is known
    Instant changed_at_{};
};

}  // namespace sluice::io
