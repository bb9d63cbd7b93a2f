#include "io/postgres.h"

#include "base/exception.h"
#include "guard/backoff.h"
#include "io/postgres_error.h"
#include "io/postgres_metrics.h"

#include <algorithm>
#include <chrono>

namespace sluice::io {

using namespace std::chrono_literals;

namespace {

// A further connection that nobody needed for so long is closed.
constexpr Millis kHelpIdle{10'000};
// After one that could not be made no other is tried for so long.
constexpr Millis kHelpPause{1'000};

guard::CircuitConfig circuit_config() {
    guard::CircuitConfig config;
    config.failure_threshold = 1;
    config.open_for = 200ms;
    config.max_open_for = 5s;
    return config;
}

// Replicas that lost the same database come back to it one after another.
guard::BackoffConfig spread_config() {
    guard::BackoffConfig config;
    config.base = 100ms;
    config.cap = 100ms;
    config.jitter = guard::Jitter::kFull;
    return config;
}

}  // namespace

struct PostgresClient::Counters {
    explicit Counters(obs::Metrics& metrics)
        : up(metrics.gauge(kPostgresUp)),
          queued(metrics.gauge(kPostgresQueued)),
          succeeded(metrics.counter(kPostgresJobs, {"succeeded"})),
          failed(metrics.counter(kPostgresJobs, {"failed"})),
          timed_out(metrics.counter(kPostgresJobs, {"timed_out"})),
          unavailable(metrics.counter(kPostgresJobs, {"unavailable"})),
          overloaded(metrics.counter(kPostgresJobs, {"overloaded"})),
          cancelled(metrics.counter(kPostgresJobs, {"cancelled"})),
          seconds(metrics.histogram(kPostgresJobSeconds)) {}

    obs::Gauge up;
    obs::Gauge queued;
    obs::Counter succeeded;
    obs::Counter failed;
    obs::Counter timed_out;
    obs::Counter unavailable;
    obs::Counter overloaded;
    obs::Counter cancelled;
    obs::Histogram seconds;
};

Task<Result<PostgresRows>> PostgresSession::query(std::string_view sql, PostgresValues values) {
    return connection_.query(sql, std::move(values), clock_.now() + timeout_);
}

Task<Result<PostgresRows>> PostgresSession::query_row(std::string_view sql, PostgresValues values) {
    CO_TRY(PostgresRows rows, co_await query(sql, std::move(values)));
    if (rows.empty()) {
        co_return away(
            "a table of the database lacks the row that it always has; where no restore is under "
            "way, restore it from a backup");
    }
    co_return rows;
}

Task<Status> PostgresSession::script(std::string sql, Millis timeout) {
    return connection_.script(std::move(sql), clock_.now() + timeout);
}

Task<Status> PostgresSession::begin() {
    return script("BEGIN ISOLATION LEVEL READ COMMITTED", timeout_);
}

Task<Status> PostgresSession::begin_snapshot() {
    return script("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", timeout_);
}

Task<Status> PostgresSession::commit() {
    return script("COMMIT", timeout_);
}

PostgresClient::PostgresClient(Executor executor, PostgresConfig config,
                               std::string root_certificate, Clock& clock, Random& random,
                               const obs::Log& log, obs::Metrics& metrics)
    : executor_(std::move(executor)),
      config_(std::move(config)),
      options_{config_.target.value(), std::move(root_certificate), config_.timeout},
      clock_(clock),
      random_(random),
      log_(log),
      metrics_(metrics),
      counters_(std::make_unique<Counters>(metrics)),
      circuit_(circuit_config()),
      tasks_(executor_,
             [this](const std::exception_ptr& error) {
                 log_.error("postgres_task_failed", {{"exception", exception_type(error)}});
             }),
      changed_at_(clock.now()) {}

PostgresClient::~PostgresClient() = default;

void PostgresClient::listen(std::string channel, std::function<void()> heard) {
    channels_.push_back({std::move(channel), std::move(heard)});
}

Task<Status> PostgresClient::start() {
    tasks_.spawn(keep_up());
    co_await tried_.wait_until(clock_, Instant::max());
    if (!is_up()) {
        co_return unusable();
    }
    co_return Status();
}

Error PostgresClient::unusable() const {
    const View now = view();
    return away("the database at " + now.server + " can't be used: " + std::string(now.reason) +
                (now.detail.empty() ? "" : " (" + now.detail + ")"));
}

void PostgresClient::leave_by(Instant end) {
    tasks_.spawn(leave(end));
}

Task<void> PostgresClient::leave(Instant end) {
    co_await clock_.wait(leaves_, end);
    end_everything();
}

void PostgresClient::end_everything() {
    is_stopping_ = true;
    fail_queue();
    for (const WorkerPtr& worker : workers_) {
        worker->connection->close(PostgresFault::kStopped);
    }
    if (pause_) {
        pause_->ring();
    }
}

Task<void> PostgresClient::stop() {
    end_everything();
    leaves_->ring();
    tasks_.close();
    co_await tasks_.join();
}

Task<Status> PostgresClient::perform(JobPtr job) {
    if (!is_up() || is_stopping_) {
        counters_->unavailable.add();
        co_return unusable();
    }
    if (queue_.size() >= kMaxQueued) {
        counters_->overloaded.add();
        co_return Error{Code::kOverloaded, Blame::kGateway, "too many jobs wait for the database",
                        kAskAgainAfter};
    }
    queue_.push_back(job);
    counters_->queued.set(static_cast<double>(queue_.size()));
    dispatch();
    guard::WaitEnd end = co_await job->done.wait_until(clock_, clock_.now() + config_.timeout);
    if (end == guard::WaitEnd::kDeadline && job->began) {
        // Each of its statements has a deadline of its own.
        end = co_await job->done.wait_until(clock_, Instant::max());
    }
    if (end == guard::WaitEnd::kCancelled) {
        withdraw(job);
        counters_->cancelled.add();
        co_return Error{Code::kCancelled, Blame::kCaller, "the caller left", {}};
    }
    if (end == guard::WaitEnd::kDeadline) {
        withdraw(job);
        counters_->timed_out.add();
        co_return away("no connection to the database was free in time");
    }
    if (job->exception) {
        std::rethrow_exception(job->exception);
    }
    co_return std::move(job->status);
}

// Somebody idle takes the next job, or else one more helper.
void PostgresClient::dispatch() {
    for (const WorkerPtr& worker : workers_) {
        if (worker->is_idle) {
            worker->is_idle = false;
            worker->connection->wake();
            return;
        }
    }
    // The lead has its place also while it is away.
    const auto helpers = static_cast<std::size_t>(
        std::ranges::count_if(workers_, [](const WorkerPtr& worker) { return !worker->is_lead; }));
    if (helpers + 1 < kMaxConnections && clock_.now() >= help_from_) {
        // It counts from now on, whenever its turn of the loop comes.
        const WorkerPtr helper = add_worker(false);
        if (!tasks_.spawn(help(helper))) {
            std::erase(workers_, helper);
        }
    }
}

PostgresClient::JobPtr PostgresClient::take() {
    if (queue_.empty()) {
        return nullptr;
    }
    JobPtr job = std::move(queue_.front());
    queue_.pop_front();
    counters_->queued.set(static_cast<double>(queue_.size()));
    return job;
}

void PostgresClient::withdraw(const JobPtr& job) {
    std::erase(queue_, job);
    counters_->queued.set(static_cast<double>(queue_.size()));
}

void PostgresClient::fail_queue() {
    while (const JobPtr job = take()) {
        counters_->unavailable.add();
        job->status = away("the connection to the database was lost");
        job->done.set();
    }
}

Task<void> PostgresClient::keep_up() {
    while (!is_stopping_) {
        std::optional<guard::CircuitPass> pass = circuit_.try_enter(clock_.now());
        if (!pass) {
            pause_ = std::make_shared<Alarm>(executor_);
            co_await clock_.wait(pause_, next_attempt());
            continue;
        }
        const WorkerPtr lead = add_worker(true);
        const std::shared_ptr<PostgresConnection> connection = lead->connection;
        co_await connection->open(clock_.now() + config_.timeout);
        if (connection->is_ready()) {
            co_await listen_on(connection);
        }
        if (connection->is_ready()) {
            pass->report(guard::CallOutcome::kSuccess, clock_.now());
            change_ready(1);
            went_up();
            tried_.set();
            co_await serve(lead);
            change_ready(-1);
            pass = circuit_.try_enter(clock_.now());
        }
        if (pass) {
            pass->report(guard::CallOutcome::kFailure, clock_.now());
        }
        retire(lead);
        went_down(*connection);
        tried_.set();
    }
}

// A connection for as long as there is more work than others can do.
Task<void> PostgresClient::help(WorkerPtr helper) {
    co_await helper->connection->open(clock_.now() + config_.timeout);
    if (helper->connection->is_ready()) {
        change_ready(1);
        co_await serve(helper);
        change_ready(-1);
    } else {
        help_from_ = clock_.now() + kHelpPause;
    }
    retire(helper);
}

PostgresClient::WorkerPtr PostgresClient::add_worker(bool is_lead) {
    const auto worker = std::make_shared<Worker>();
    worker->connection = std::make_shared<PostgresConnection>(executor_, options_, clock_, tasks_);
    worker->is_lead = is_lead;
    // Work goes to the first that is idle: the lead, so that helpers can go.
    workers_.insert(worker->is_lead ? workers_.begin() : workers_.end(), worker);
    return worker;
}

Task<void> PostgresClient::listen_on(std::shared_ptr<PostgresConnection> connection) {
    std::string sql;
    for (const Channel& channel : channels_) {
        sql.append("LISTEN ").append(channel.name).append(";");
    }
    if (sql.empty()) {
        co_return;
    }
    const Status listens =
        co_await connection->script(std::move(sql), clock_.now() + config_.timeout);
    if (!listens.ok()) {
        connection->close(PostgresFault::kRefused);
    }
}

void PostgresClient::hear(const std::vector<std::string>& channels) {
    for (const Channel& channel : channels_) {
        if (std::ranges::find(channels, channel.name) != channels.end()) {
            channel.heard();
        }
    }
}

Task<void> PostgresClient::serve(WorkerPtr worker) {
    const bool is_lead = worker->is_lead;
    const std::shared_ptr<PostgresConnection> connection = worker->connection;
    Instant next = clock_.now() + (is_lead ? kHeartbeatEvery : kHelpIdle);
    while (connection->is_open()) {
        hear(connection->take_notifications());
        if (JobPtr job = take()) {
            co_await work(std::move(job), connection);
            next = clock_.now() + (is_lead ? kHeartbeatEvery : kHelpIdle);
            continue;
        }
        if (clock_.now() < next) {
            worker->is_idle = true;
            co_await connection->wait_for_input(next);
            worker->is_idle = false;
            continue;
        }
        if (!is_lead) {
            connection->close(PostgresFault::kIdle);
            break;
        }
        // Nobody has to be told how it ends: a loss ends the connection.
        const Status ignored = co_await connection->script("", clock_.now() + config_.timeout);
        next = clock_.now() + kHeartbeatEvery;
    }
    if (connection->fault() == PostgresFault::kTimedOut) {
        suspect_others(worker);
    }
}

// Tells its caller how it ended, whatever happens.
Task<void> PostgresClient::work(JobPtr job, std::shared_ptr<PostgresConnection> connection) {
    job->began = true;
    const Instant began = clock_.now();
    PostgresSession session(*connection, clock_, config_.timeout);
    bool went_well = false;
    try {
        went_well = co_await job->run(session);
    } catch (...) {
        job->exception = std::current_exception();
    }
    if (connection->is_in_transaction()) {
        const Status rolled_back =
            co_await connection->script("ROLLBACK", clock_.now() + config_.timeout);
        if (!rolled_back.ok()) {
            connection->close(PostgresFault::kClosed);
        }
    }
    (went_well               ? counters_->succeeded
     : connection->is_open() ? counters_->failed
                             : counters_->unavailable)
        .add();
    counters_->seconds.observe(std::chrono::duration<double>(clock_.now() - began).count());
    job->done.set();
}

void PostgresClient::retire(const WorkerPtr& worker) {
    std::erase(workers_, worker);
    count(worker->connection->fault());
    if (!is_up()) {
        fail_queue();
    } else if (!queue_.empty()) {
        dispatch();
    }
}

// What hangs for one hangs for all: nobody else shall wait to find that out. Who waits for a
// statement has a deadline of that one's own.
void PostgresClient::suspect_others(const WorkerPtr& worker) {
    for (const WorkerPtr& other : workers_) {
        if (other != worker && other->is_idle) {
            other->connection->close(PostgresFault::kTimedOut);
        }
    }
    fail_queue();
}

void PostgresClient::count(PostgresFault fault) {
    if (fault != PostgresFault::kIdle && fault != PostgresFault::kStopped) {
        metrics_.counter(kPostgresFaults, {std::string(to_string(fault))}).add();
    }
}

Instant PostgresClient::next_attempt() {
    const Instant reopens = circuit_.reopens_at().value_or(clock_.now());
    return reopens + guard::backoff_delay(spread_config(), 0, random_, std::nullopt);
}

void PostgresClient::change_ready(int by) {
    ready_ += by;
    counters_->up.set(is_up() ? 1 : 0);
}

void PostgresClient::went_up() {
    const Instant now = clock_.now();
    log_.info("postgres_available",
              {{"down_ms", std::chrono::duration_cast<Millis>(now - changed_at_)}});
    fault_.reset();
    detail_.clear();
    changed_at_ = now;
    for (const Channel& channel : channels_) {
        channel.heard();
    }
}

void PostgresClient::went_down(const PostgresConnection& connection) {
    const bool was_up = !std::exchange(fault_, connection.fault()).has_value();
    detail_ = connection.detail();
    if (!was_up || *fault_ == PostgresFault::kStopped) {
        return;
    }
    changed_at_ = clock_.now();
    log_.warn("postgres_unavailable", {{"reason", to_string(*fault_)}, {"detail", detail_}});
}

PostgresClient::View PostgresClient::view() const {
    View view;
    view.is_up = is_up();
    view.server = config_.target->name();
    if (!view.is_up) {
        view.reason = fault_ ? to_string(*fault_) : std::string_view("not_tried");
        view.detail = detail_;
    }
    return view;
}

}  // namespace sluice::io
