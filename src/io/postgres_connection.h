// One connection to PostgreSQL, for PostgresClient only: how it is opened, one statement at a time
// on it, and why it ended. libpq is driven without ever waiting inside it, names of hosts included.
// Belongs to the thread of its executor.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "io/postgres_rows.h"
#include "io/postgres_url.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

struct pg_conn;
struct pg_result;

namespace sluice::io {

// When it makes sense to ask a database again that is away: retry_after of every such error.
inline constexpr Millis kAskAgainAfter{1'000};

// Why a connection can't be used.
enum class PostgresFault : std::uint8_t {
    kConnectFailed,
    kTlsFailed,
    kRefused,  // the server does not let us in: user, password, database, too many connections
    kTimedOut,
    kClosed,  // by the other side, or by the network
    kResultTooLarge,
    kIdle,     // by us: nothing was to be done on it
    kStopped,  // by us
};
std::string_view to_string(PostgresFault fault);

class PostgresConnection : public std::enable_shared_from_this<PostgresConnection> {
 public:
    static constexpr std::size_t kMaxResultBytes = 64 * 1024 * 1024;

    // What is the same for every connection to one target. `root_certificate` is used where the
    // target names none. The server ends a statement that takes longer than `timeout`, and a
    // transaction in which nothing happens for so long.
    struct Options {
        PostgresTarget target;
        std::string root_certificate;
        Millis timeout{};
    };

    // References outlive it; its tasks run in `tasks`.
    PostgresConnection(Executor executor, const Options& options, Clock& clock, TaskScope& tasks);
    ~PostgresConnection();
    PostgresConnection(const PostgresConnection&) = delete;
    PostgresConnection& operator=(const PostgresConnection&) = delete;

    // Connects and logs in. Ends with the connection ready or closed, by `deadline` at the latest.
    Task<void> open(Instant deadline);
    bool is_open() const { return !fault_; }
    // Whether statements can be sent.
    bool is_ready() const { return is_open() && !is_opening_; }
    // Why it is not.
    PostgresFault fault() const { return *fault_; }
    // What libpq says about it, for people; may be empty. Holds no password.
    const std::string& detail() const { return detail_; }

    // One statement, which stays prepared: `sql` is a constant of ours. A deadline that passes ends
    // the connection. Errors as io/postgres.h has them.
    Task<Result<PostgresRows>> query(std::string_view sql, PostgresValues values, Instant deadline);
    // Several statements without parameters, in one message, not kept.
    Task<Status> script(std::string sql, Instant deadline);
    bool is_in_transaction() const;

    // Between statements: until something came, wake() was called, or `deadline`.
    Task<void> wait_for_input(Instant deadline);
    void wake();
    // Names of channels that were notified since the last call.
    std::vector<std::string> take_notifications();

    // Only the first reason counts. Who waits for a statement is woken up.
    void close(PostgresFault fault);

 private:
    struct ConnectionDeleter {
        void operator()(pg_conn* connection) const;
    };
    struct ResultDeleter {
        void operator()(pg_result* result) const;
    };
    using ResultPtr = std::unique_ptr<pg_result, ResultDeleter>;
    // "name" and numeric address of every host, in order.
    struct Addresses {
        std::string hosts;
        std::string addresses;
        std::string ports;
    };

    class Limit;
    Task<void> interrupt_at(std::shared_ptr<PostgresConnection> self, std::shared_ptr<Alarm> alarm,
                            Instant deadline, std::uint64_t operation, bool ends_it);
    Task<Addresses> resolve();
    Task<void> connect();
    void begin_connecting(const Addresses& addresses);
    void fail_connecting();
    Task<bool> wait_for(bool to_write);
    Task<bool> read();
    Task<bool> flush();
    Task<Result<PostgresRows>> send_and_collect(bool sent);
    bool take(pg_result* result, PostgresRows& rows);
    Error lost() const;

    const Executor executor_;
    const Options& options_;
    Clock& clock_;
    TaskScope& tasks_;
    boost::asio::ip::basic_resolver<boost::asio::ip::tcp, Executor> resolver_;
    boost::asio::posix::basic_stream_descriptor<Executor> descriptor_;  // libpq's socket
    std::unique_ptr<pg_conn, ConnectionDeleter> connection_;
    std::unordered_map<std::string_view, std::string> statements_;  // names of prepared ones
    std::uint64_t operation_ = 0;                                   // the one under way, or last
    bool is_busy_ = false;
    bool is_opening_ = true;
    std::string detail_;
    std::optional<PostgresFault> fault_;
};

}  // namespace sluice::io
