// PostgreSQL: a few connections for the whole process. One is kept up in the background, so that a
// database that is away costs a request nothing, and one that hangs costs no more than one timeout;
// further ones are made while there is work for them.
//
// Errors, all blamed on the gateway: kUnavailable (no connection, at once; it was lost; the server
// can't or won't do it now; no answer in time) and kOverloaded (too many jobs wait), both with
// retry_after unless a grant is missing, kConflict (a constraint, or a name that is taken) and
// kInternal (SQL that does not fit the schema: our own mistake). A table that somebody took away is
// kUnavailable, since it may come back. What was committed before an error stays; of a transaction
// whose commit got no answer nobody can say.
#pragma once

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "base/task.h"
#include "guard/circuit.h"
#include "guard/event.h"
#include "io/postgres_connection.h"
#include "io/postgres_rows.h"
#include "io/postgres_url.h"
#include "obs/log.h"
#include "obs/metrics.h"

#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sluice::io {

struct PostgresConfig {
    std::optional<PostgresTarget> target = {};  // nothing: there is no PostgreSQL
    Millis timeout{5'000};                      // of one statement, and of making a connection

    bool enabled() const { return target.has_value(); }
};

// The connection of one job. Belongs to the job.
class PostgresSession {
 public:
    PostgresSession(PostgresConnection& connection, Clock& clock, Millis timeout)
        : connection_(connection), clock_(clock), timeout_(timeout) {}

    // One statement with $1, $2, ...; `sql` is a constant of ours, since each text stays prepared.
    Task<Result<PostgresRows>> query(std::string_view sql, PostgresValues values = {});
    // The same of a statement that finds a row wherever the tables are whole. kUnavailable without
    // one: a restore makes tables first and fills them later.
    Task<Result<PostgresRows>> query_row(std::string_view sql, PostgresValues values = {});
    // Several statements without parameters, not kept; with a time of their own.
    Task<Status> script(std::string sql, Millis timeout);

    // What is not committed when the job ends is rolled back.
    Task<Status> begin();           // each statement sees what was committed before it
    Task<Status> begin_snapshot();  // all see the same; for reading
    Task<Status> commit();

 private:
    PostgresConnection& connection_;
    Clock& clock_;
    const Millis timeout_;
};

// Belongs to the thread of its executor, but for run().
class PostgresClient {
 public:
    // How often an idle database is tried, so that a loss is noticed although nobody asks.
    static constexpr Millis kHeartbeatEvery = kAskAgainAfter;
    static constexpr std::size_t kMaxConnections = 4;
    static constexpr std::size_t kMaxQueued = 256;

    // `config` is enabled. `root_certificate` is a file, used where the URL names none. References
    // outlive it.
    PostgresClient(Executor executor, PostgresConfig config, std::string root_certificate,
                   Clock& clock, Random& random, const obs::Log& log, obs::Metrics& metrics);
    ~PostgresClient();
    PostgresClient(const PostgresClient&) = delete;
    PostgresClient& operator=(const PostgresClient&) = delete;

    // Calls `heard` whenever that channel was notified, and after each time that the connection was
    // made again, since something may have been missed. Before start().
    void listen(std::string channel, std::function<void()> heard);

    // Begins to keep a connection up; ends with the first attempt, whose failure it tells. Once.
    Task<Status> start();
    // From `end` on nothing is done any more, so that what is written last waits for no database
    // that hangs: connections end, and whatever waits for them fails. Once, after start(); stop()
    // follows.
    void leave_by(Instant end);
    // Ends the connections and whatever waits for them, and waits for its own tasks. After start().
    Task<void> stop();

    // Calls `work(session)`, which returns a Task of a Result, on this client's executor and
    // resumes the caller on its own with what it gave. Jobs run side by side. kCancelled when the
    // caller left; a job that began by then is finished all the same. `work` is copyable, holds no
    // reference to anything that could die before it runs, and is no coroutine itself: it calls one
    // with copies of what it holds.
    template <class Work>
    std::invoke_result_t<Work&, PostgresSession&> run(Work work) {
        using Answer = typename std::invoke_result_t<Work&, PostgresSession&>::value_type;
        auto job = std::make_shared<JobOf<Work, Answer>>(std::move(work));
        CO_TRY_STATUS(co_await run_on(executor_, perform(job)));
        co_return *std::move(job->answer);
    }

    bool is_up() const { return ready_ > 0; }
    const Executor& executor() const { return executor_; }

    struct View {
        bool is_up = false;
        std::string server;       // "host:port"
        std::string_view reason;  // while it is down
        std::string detail;       // what the server or libpq said about it; may be empty
    };
    View view() const;

 private:
    struct Job {
        virtual ~Job() = default;
        virtual Task<bool> run(PostgresSession& session) = 0;  // whether it went well

        bool began = false;
        Status status = {};
        std::exception_ptr exception = nullptr;  // what escaped from it: a bug, the caller's to see
        guard::Event done;
    };
    using JobPtr = std::shared_ptr<Job>;

    template <class Work, class Answer>
    struct JobOf final : Job {
        explicit JobOf(Work w) : work(std::move(w)) {}
        Task<bool> run(PostgresSession& session) override {
            Answer got = co_await work(session);
            const bool ok = got.ok();
            answer.emplace(std::move(got));
            co_return ok;
        }
        Work work;
        std::optional<Answer> answer;
    };

    struct Counters;
    struct Channel {
        std::string name;
        std::function<void()> heard;
    };
    struct Worker {
        std::shared_ptr<PostgresConnection> connection;
        bool is_lead = false;  // the one that is kept up, and hears notifications
        bool is_idle = false;  // it waits for work
    };
    using WorkerPtr = std::shared_ptr<Worker>;

    Error unusable() const;
    Task<Status> perform(JobPtr job);
    void dispatch();
    JobPtr take();
    void withdraw(const JobPtr& job);
    void end_everything();
    Task<void> leave(Instant end);
    Task<void> keep_up();
    Task<void> help(WorkerPtr helper);
    WorkerPtr add_worker(bool is_lead);
    Task<void> listen_on(std::shared_ptr<PostgresConnection> connection);
    Task<void> serve(WorkerPtr worker);
    Task<void> work(JobPtr job, std::shared_ptr<PostgresConnection> connection);
    void hear(const std::vector<std::string>& channels);
    void retire(const WorkerPtr& worker);
    void fail_queue();
    void suspect_others(const WorkerPtr& worker);
    void count(PostgresFault fault);
    void change_ready(int by);
    void went_up();
    void went_down(const PostgresConnection& connection);
    Instant next_attempt();

    const Executor executor_;
    const PostgresConfig config_;
    const PostgresConnection::Options options_;
    Clock& clock_;
    Random& random_;
    const obs::Log& log_;
    obs::Metrics& metrics_;
    std::unique_ptr<Counters> counters_;
    guard::Circuit circuit_;  // of connections: closed while one is up, its probe is an attempt
    TaskScope tasks_;
    guard::Event tried_;
    std::vector<Channel> channels_;
    std::vector<WorkerPtr> workers_;  // whose connections are open or being opened
    std::deque<JobPtr> queue_;
    int ready_ = 0;                 // connections that can be used
    Instant help_from_{};           // no further connection is tried before
    std::shared_ptr<Alarm> pause_;  // between two attempts
    const std::shared_ptr<Alarm> leaves_ = std::make_shared<Alarm>(executor_);
    bool is_stopping_ = false;
    std::optional<PostgresFault> fault_;  // while it is down, once that is known
    std::string detail_;
    Instant changed_at_{};
};

}  // namespace sluice::io
