#include "io/postgres_connection.h"

#include "base/text.h"
#include "io/postgres_error.h"

#include <boost/asio/as_tuple.hpp>

#include <array>
#include <charconv>
#include <libpq-fe.h>
#include <utility>

namespace sluice::io {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr auto kTuple = asio::as_tuple(use_task);
constexpr std::size_t kMaxAddresses = 64;

void append(std::string& list, std::string_view part) {
    list.append(list.empty() ? "" : ",").append(part);
}

}  // namespace

std::string_view to_string(PostgresFault fault) {
    switch (fault) {
        case PostgresFault::kConnectFailed:
            return "connect_failed";
        case PostgresFault::kTlsFailed:
            return "tls_failed";
        case PostgresFault::kRefused:
            return "refused";
        case PostgresFault::kTimedOut:
            return "timed_out";
        case PostgresFault::kClosed:
            return "closed";
        case PostgresFault::kResultTooLarge:
            return "result_too_large";
        case PostgresFault::kIdle:
            return "idle";
        case PostgresFault::kStopped:
            return "stopped";
    }
    SLUICE_ASSERT(false && "a PostgresFault outside its enumeration");
}

// Bounds one operation in time for as long as it stands.
class PostgresConnection::Limit {
 public:
    Limit(PostgresConnection& connection, Instant deadline, bool ends_it)
        : connection_(connection), alarm_(std::make_shared<Alarm>(connection.executor_)) {
        SLUICE_ASSERT(!connection.is_busy_);
        connection.is_busy_ = true;
        const std::uint64_t operation = ++connection.operation_;
        if (!connection.tasks_.spawn(connection.interrupt_at(connection.shared_from_this(), alarm_,
                                                             deadline, operation, ends_it))) {
            connection.close(PostgresFault::kStopped);
        }
    }
    ~Limit() {
        connection_.is_busy_ = false;
        alarm_->ring();
    }
    Limit(const Limit&) = delete;
    Limit& operator=(const Limit&) = delete;

 private:
    PostgresConnection& connection_;
    std::shared_ptr<Alarm> alarm_;
};

void PostgresConnection::ConnectionDeleter::operator()(pg_conn* connection) const {
    PQfinish(connection);
}

void PostgresConnection::ResultDeleter::operator()(pg_result* result) const {
    PQclear(result);
}

PostgresConnection::PostgresConnection(Executor executor, const Options& options, Clock& clock,
                                       TaskScope& tasks)
    : executor_(std::move(executor)),
      options_(options),
      clock_(clock),
      tasks_(tasks),
      resolver_(executor_),
      descriptor_(executor_) {}

PostgresConnection::~PostgresConnection() {
    // The socket is libpq's to close.
    if (descriptor_.is_open()) {
        descriptor_.release();
    }
}

Task<void> PostgresConnection::interrupt_at(std::shared_ptr<PostgresConnection> self,
                                            std::shared_ptr<Alarm> alarm, Instant deadline,
                                            std::uint64_t operation, bool ends_it) {
    co_await clock_.wait(std::move(alarm), deadline);
    if (!self->is_busy_ || self->operation_ != operation || clock_.now() < deadline) {
        co_return;
    }
    if (ends_it) {
        close(PostgresFault::kTimedOut);
    } else {
        wake();
    }
}

Task<void> PostgresConnection::open(Instant deadline) {
    const Limit limit(*this, deadline, true);
    if (is_open()) {
        co_await connect();
    }
    is_opening_ = false;
}

Task<PostgresConnection::Addresses> PostgresConnection::resolve() {
    Addresses found;
    std::size_t count = 0;
    for (const PostgresTarget::Host& host : options_.target.hosts) {
        const std::string port = std::to_string(host.port);
        if (host.is_unix_socket()) {
            append(found.hosts, host.name);
            found.addresses.append(count == 0 ? "" : ",");
            append(found.ports, port);
            count += 1;
            continue;
        }
        auto [unknown, addresses] = co_await resolver_.async_resolve(host.name, port, kTuple);
        for (const auto& address : addresses) {
            if (count == kMaxAddresses) {
                break;
            }
            append(found.hosts, host.name);
            found.addresses.append(count == 0 ? "" : ",");
            found.addresses.append(address.endpoint().address().to_string());
            append(found.ports, port);
            count += 1;
        }
    }
    co_return found;
}

void PostgresConnection::begin_connecting(const Addresses& addresses) {
    const PostgresTarget& target = options_.target;
    const std::string password(target.password.reveal());
    // A server that is well gives a slow statement up just before we give up the connection.
    const std::string server_side =
        "-c statement_timeout=" + std::to_string(options_.timeout.count() * 9 / 10) +
        " -c idle_in_transaction_session_timeout=" + std::to_string(options_.timeout.count());
    const std::string& root =
        target.root_certificate.empty() ? options_.root_certificate : target.root_certificate;
    std::vector<const char*> names;
    std::vector<const char*> values;
    for (const auto& [name, value] : std::initializer_list<std::pair<const char*, const char*>>{
             {"host", addresses.hosts.c_str()},
             {"hostaddr", addresses.addresses.c_str()},
             {"port", addresses.ports.c_str()},
             {"user", target.user.c_str()},
             {"password", password.c_str()},
             {"dbname", target.database.c_str()},
             {"sslmode", target.ssl_mode.c_str()},
             {"sslrootcert", root.c_str()},
             {"sslcert", target.certificate.c_str()},
             {"sslkey", target.certificate_key.c_str()},
             {"gssencmode", "disable"},
             {"target_session_attrs", "read-write"},
             {"client_encoding", "UTF8"},
             {"application_name", "sluice"},
             {"options", server_side.c_str()}}) {
        names.push_back(name);
        values.push_back(value);
    }
    names.push_back(nullptr);
    values.push_back(nullptr);
    connection_.reset(PQconnectStartParams(names.data(), values.data(), 0));
}

Task<void> PostgresConnection::connect() {
    const Addresses addresses = co_await resolve();
    if (!is_open()) {
        co_return;
    }
    if (addresses.hosts.empty()) {
        detail_ = "no host of that name is known";
        close(PostgresFault::kConnectFailed);
        co_return;
    }
    begin_connecting(addresses);
    if (!connection_ || PQstatus(connection_.get()) == CONNECTION_BAD) {
        fail_connecting();
        co_return;
    }
    PQsetNoticeReceiver(connection_.get(), [](void*, const PGresult*) {}, nullptr);
    PostgresPollingStatusType step = PGRES_POLLING_WRITING;
    while (step == PGRES_POLLING_READING || step == PGRES_POLLING_WRITING) {
        // libpq goes from one address to the next with a socket of its own for each.
        descriptor_.assign(PQsocket(connection_.get()));
        const bool is_there = co_await wait_for(step == PGRES_POLLING_WRITING);
        if (descriptor_.is_open()) {
            descriptor_.release();
        }
        if (!is_there) {
            co_return;
        }
        step = PQconnectPoll(connection_.get());
    }
    if (step != PGRES_POLLING_OK || PQsetnonblocking(connection_.get(), 1) != 0) {
        fail_connecting();
        co_return;
    }
    descriptor_.assign(PQsocket(connection_.get()));
}

// libpq tells people, not programs, why it failed.
void PostgresConnection::fail_connecting() {
    detail_ = one_line(connection_ ? PQerrorMessage(connection_.get()) : "out of memory");
    if (detail_.find("FATAL:") != std::string::npos ||
        detail_.find("no password supplied") != std::string::npos) {
        close(PostgresFault::kRefused);
    } else if (detail_.find("SSL") != std::string::npos ||
               detail_.find("certificate") != std::string::npos) {
        close(PostgresFault::kTlsFailed);
    } else {
        close(PostgresFault::kConnectFailed);
    }
}

Task<bool> PostgresConnection::wait_for(bool to_write) {
    const auto what = to_write ? asio::posix::descriptor_base::wait_write
                               : asio::posix::descriptor_base::wait_read;
    // close() cancels the wait; so does wake(), of which only wait_for_input() knows.
    co_await descriptor_.async_wait(what, kTuple);
    co_return is_open();
}

Task<bool> PostgresConnection::read() {
    if (!is_open() || !co_await wait_for(false)) {
        co_return false;
    }
    if (PQconsumeInput(connection_.get()) != 1) {
        close(PostgresFault::kClosed);
    }
    co_return is_open();
}

Task<bool> PostgresConnection::flush() {
    while (is_open()) {
        const int left = PQflush(connection_.get());
        if (left == 0) {
            co_return true;
        }
        if (left < 0 || !co_await wait_for(true) || PQconsumeInput(connection_.get()) != 1) {
            close(PostgresFault::kClosed);
        }
    }
    co_return false;
}

Task<Result<PostgresRows>> PostgresConnection::query(std::string_view sql, PostgresValues values,
                                                     Instant deadline) {
    if (!is_ready()) {
        co_return lost();
    }
    const Limit limit(*this, deadline, true);
    auto known = statements_.find(sql);
    if (known == statements_.end()) {
        const std::string name = "s" + std::to_string(statements_.size() + 1);
        const std::string text(sql);
        CO_TRY(const PostgresRows none,
               co_await send_and_collect(
                   PQsendPrepare(connection_.get(), name.c_str(), text.c_str(), 0, nullptr) == 1));
        known = statements_.emplace(sql, name).first;
    }
    std::vector<const char*> texts;
    std::vector<int> lengths;
    std::vector<int> formats;
    for (const PostgresValue& value : values) {
        texts.push_back(value.is_null() ? nullptr : value.text().data());
        lengths.push_back(value.is_null() ? 0 : static_cast<int>(value.text().size()));
        formats.push_back(value.is_binary() ? 1 : 0);
    }
    const int sent = PQsendQueryPrepared(connection_.get(), known->second.c_str(),
                                         static_cast<int>(values.size()), texts.data(),
                                         lengths.data(), formats.data(), 1);
    co_return co_await send_and_collect(sent == 1);
}

Task<Status> PostgresConnection::script(std::string sql, Instant deadline) {
    if (!is_ready()) {
        co_return lost();
    }
    const Limit limit(*this, deadline, true);
    CO_TRY(const PostgresRows none,
           co_await send_and_collect(PQsendQuery(connection_.get(), sql.c_str()) == 1));
    co_return Status();
}

Task<Result<PostgresRows>> PostgresConnection::send_and_collect(bool sent) {
    if (!sent) {
        close(PostgresFault::kClosed);
        co_return lost();
    }
    // Row by row, so that a result that is too large is noticed before it is there.
    PQsetSingleRowMode(connection_.get());
    if (!co_await flush()) {
        co_return lost();
    }
    PostgresRows rows;
    std::optional<Error> error;
    for (;;) {
        while (PQisBusy(connection_.get()) != 0) {
            if (!co_await read()) {
                co_return lost();
            }
        }
        const ResultPtr result(PQgetResult(connection_.get()));
        if (!result) {
            break;
        }
        if (!take(result.get(), rows)) {
            error = to_error(result.get());
        }
        if (!is_open()) {
            co_return lost();
        }
    }
    if (PQstatus(connection_.get()) == CONNECTION_BAD) {
        close(PostgresFault::kClosed);
        co_return lost();
    }
    if (error) {
        co_return *std::move(error);
    }
    co_return std::move(rows);
}

// False for an error of the statement.
bool PostgresConnection::take(pg_result* result, PostgresRows& rows) {
    switch (PQresultStatus(result)) {
        case PGRES_SINGLE_TUPLE:
        case PGRES_TUPLES_OK:
        case PGRES_COMMAND_OK:
        case PGRES_EMPTY_QUERY:  // of a heartbeat
            break;
        case PGRES_FATAL_ERROR:
            if (ends_connection(result)) {
                close(PostgresFault::kClosed);
            }
            return false;
        default:
            close(PostgresFault::kClosed);
            return false;
    }
    const int columns = PQnfields(result);
    rows.set_columns(static_cast<std::size_t>(columns));
    for (int row = 0; row < PQntuples(result); ++row) {
        for (int column = 0; column < columns; ++column) {
            const bool is_null = PQgetisnull(result, row, column) == 1;
            const auto size = static_cast<std::size_t>(PQgetlength(result, row, column));
            rows.add_cell(
                is_null ? std::nullopt
                        : std::optional(std::string_view(PQgetvalue(result, row, column), size)));
        }
    }
    if (rows.bytes() > kMaxResultBytes) {
        close(PostgresFault::kResultTooLarge);
    }
    const std::string_view changed = PQcmdTuples(result);
    std::int64_t number = 0;
    std::from_chars(changed.data(), changed.data() + changed.size(), number);
    rows.set_changed(number);
    return true;
}

bool PostgresConnection::is_in_transaction() const {
    return is_ready() && PQtransactionStatus(connection_.get()) != PQTRANS_IDLE;
}

Task<void> PostgresConnection::wait_for_input(Instant deadline) {
    const Limit limit(*this, deadline, false);
    if (is_open() && co_await wait_for(false) && PQconsumeInput(connection_.get()) != 1) {
        close(PostgresFault::kClosed);
    }
}

void PostgresConnection::wake() {
    boost::system::error_code ignored;
    descriptor_.cancel(ignored);
}

std::vector<std::string> PostgresConnection::take_notifications() {
    std::vector<std::string> channels;
    while (PGnotify* notified = is_ready() ? PQnotifies(connection_.get()) : nullptr) {
        channels.emplace_back(notified->relname);
        PQfreemem(notified);
    }
    return channels;
}

void PostgresConnection::close(PostgresFault fault) {
    if (fault_) {
        return;
    }
    fault_ = fault;
    resolver_.cancel();
    wake();
}

Error PostgresConnection::lost() const {
    return away(fault_ == PostgresFault::kTimedOut ? "the database did not answer in time"
                                                   : "the connection to the database was lost");
}

}  // namespace sluice::io
