#include "io/sqlite_store.h"

#include "io/sqlite_metrics.h"

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <thread>

namespace sluice::io {

namespace asio = boost::asio;

namespace {

using JobFunction = std::function<bool(SqliteConnection&)>;
using Completion = asio::any_completion_handler<void()>;

// A job and the caller that waits for it. Only one side touches it at a time: the caller until it
// is queued, the store's thread while it runs, and the caller again once `done` was posted.
struct Waiting {
    JobFunction job;
    std::optional<asio::executor_work_guard<Executor>> home;  // the caller's loop goes on
    std::optional<Completion>
        done;  // made in place: Boost 1.81's move assignment recurses for ever
    Status status = {};
    std::exception_ptr exception =
        nullptr;  // what escaped from the job: a bug, the caller's to see
};
using WaitingPtr = std::shared_ptr<Waiting>;

void resume_caller(Waiting& waiting) {
    // From here on the executor owns the caller's coroutine, so that a loop that ends before it
    // gets here destroys it.
    const auto home = *std::exchange(waiting.home, std::nullopt);
    asio::post(home.get_executor(), [done = std::move(*waiting.done)]() mutable {
        // A slot belongs to the caller's executor, so it is emptied here and not on our thread.
        auto slot = asio::get_associated_cancellation_slot(done);
        if (slot.is_connected()) {
            slot.clear();
        }
        std::move(done)();
    });
}

Error refusal(Code code, std::string_view store, std::string_view what) {
    return Error{code, Blame::kGateway, "database " + std::string(store) + ": " + std::string(what),
                 std::nullopt};
}

}  // namespace

struct SqliteStore::Impl : std::enable_shared_from_this<SqliteStore::Impl> {
    Impl(std::string name_of_store, SqliteConnection opened, obs::Metrics& metrics,
         std::size_t most_queued)
        : name(std::move(name_of_store)),
          connection(std::move(opened)),
          max_queued(most_queued),
          succeeded(metrics.counter(kSqliteJobs, {name, "succeeded"})),
          failed(metrics.counter(kSqliteJobs, {name, "failed"})),
          refused(metrics.counter(kSqliteJobs, {name, "refused"})),
          cancelled(metrics.counter(kSqliteJobs, {name, "cancelled"})),
          queued(metrics.gauge(kSqliteQueued, {name})) {}

    // False, with the job left to the caller, when there is no room.
    bool enqueue(WaitingPtr waiting) {
        const std::lock_guard lock(mutex);
        if (queue.size() >= max_queued) {
            return false;
        }
        queue.push_back(std::move(waiting));
        queued.set(static_cast<double>(queue.size()));
        wake.notify_one();
        return true;
    }

    // True if it was still queued and no longer is.
    bool withdraw(const WaitingPtr& waiting) {
        const std::lock_guard lock(mutex);
        const auto found = std::find(queue.begin(), queue.end(), waiting);
        if (found == queue.end()) {
            return false;
        }
        queue.erase(found);
        queued.set(static_cast<double>(queue.size()));
        return true;
    }

    // The next job; nothing once the store closes and none is left.
    WaitingPtr take() {
        std::unique_lock lock(mutex);
        wake.wait(lock, [this] { return closing || !queue.empty(); });
        if (queue.empty()) {
            return nullptr;
        }
        auto waiting = std::move(queue.front());
        queue.pop_front();
        queued.set(static_cast<double>(queue.size()));
        return waiting;
    }

    void serve() {
        // Linux keeps 15 characters of a thread's name.
        pthread_setname_np(pthread_self(), ("db-" + name).substr(0, 15).c_str());
        while (const WaitingPtr waiting = take()) {
            run(*waiting);
            resume_caller(*waiting);
        }
    }

    void run(Waiting& waiting) {
        bool ok = false;
        try {
            ok = waiting.job(connection);
        } catch (...) {
            waiting.exception = std::current_exception();
        }
        // What the job holds is destroyed on the thread that used it.
        waiting.job = nullptr;
        (ok ? succeeded : failed).add();
    }

    // Completes when the job ran, was refused or was withdrawn by a cancellation.
    void start(const WaitingPtr& waiting) {
        auto slot = asio::get_associated_cancellation_slot(*waiting->done);
        if (slot.is_connected()) {
            slot.assign(
                [self = weak_from_this(), job = std::weak_ptr(waiting)](asio::cancellation_type) {
                    const auto store = self.lock();
                    const auto cancelled_job = job.lock();
                    if (store && cancelled_job && store->withdraw(cancelled_job)) {
                        store->cancelled.add();
                        cancelled_job->status = refusal(Code::kCancelled, store->name,
                                                        "the caller left before its job began");
                        resume_caller(*cancelled_job);
                    }
                });
        }
        if (!enqueue(waiting)) {
            refused.add();
            waiting->status = refusal(Code::kOverloaded, name, "too many jobs wait for it");
            resume_caller(*waiting);
        }
    }

    const std::string name;
    SqliteConnection connection;
    const std::size_t max_queued;

    std::mutex mutex;
    std::condition_variable wake;
    std::deque<WaitingPtr> queue;
    bool closing = false;

    obs::Counter succeeded;
    obs::Counter failed;
    obs::Counter refused;
    obs::Counter cancelled;
    obs::Gauge queued;
    std::thread thread;
};

SqliteStore::SqliteStore(std::string name, SqliteConnection connection, obs::Metrics& metrics,
                         std::size_t max_queued)
    : impl_(std::make_shared<Impl>(std::move(name), std::move(connection), metrics, max_queued)) {
    impl_->thread = std::thread([impl = impl_.get()] { impl->serve(); });
}

SqliteStore::~SqliteStore() {
    {
        const std::lock_guard lock(impl_->mutex);
        impl_->closing = true;
    }
    impl_->wake.notify_one();
    impl_->thread.join();
}

Task<Status> SqliteStore::perform(Job job) {
    auto waiting = std::make_shared<Waiting>();
    waiting->job = std::move(job);
    waiting->home.emplace(co_await asio::this_coro::executor);

    auto initiate = [impl = impl_.get(), waiting](auto handler) {
        waiting->done.emplace(std::move(handler));
        impl->start(waiting);
    };
    co_await asio::async_initiate<decltype(use_task), void()>(std::move(initiate), use_task);
    if (waiting->exception) {
        std::rethrow_exception(waiting->exception);
    }
    co_return std::move(waiting->status);
}

}  // namespace sluice::io
