// A SQLite file on a thread of its own, so that no request waits for a disk on its own core.
#pragma once

#include "base/task.h"
#include "io/sqlite.h"
#include "obs/metrics.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace sluice::io {

// Thread-safe. Owned by app/wire.cc, outlives every task that uses it, and is outlived by the
// executors of those tasks.
class SqliteStore {
 public:
    static constexpr std::size_t kDefaultMaxQueued = 256;

    // `name` is the label in metrics and the name of the thread: a short constant, "access". At
    // most `max_queued` jobs wait for the thread.
    SqliteStore(std::string name, SqliteConnection connection, obs::Metrics& metrics,
                std::size_t max_queued = kDefaultMaxQueued);
    // Does what is queued, then closes the file.
    ~SqliteStore();
    SqliteStore(const SqliteStore&) = delete;
    SqliteStore& operator=(const SqliteStore&) = delete;

    // Calls `work(connection)`, which returns a Result, on the store's thread and resumes the
    // caller on its own executor with what it returned. Jobs run one after the other in the order
    // of their calls. kOverloaded when the queue is full; kCancelled when the caller was cancelled
    // before its job began (a job that began is finished and its result given). `work` is copyable
    // and holds no reference to anything that could die before it runs; name it and move it into
    // the call.
    template <class Work>
    Task<std::invoke_result_t<Work&, SqliteConnection&>> run(Work work) {
        using Answer = std::invoke_result_t<Work&, SqliteConnection&>;
        // Shared with the job, which may outlive this frame when the program shuts down.
        auto answer = std::make_shared<std::optional<Answer>>();
        Job job = [answer, work = std::move(work)](SqliteConnection& connection) mutable {
            answer->emplace(work(connection));
            return (*answer)->ok();
        };
        CO_TRY_STATUS(co_await perform(std::move(job)));
        co_return std::move(**answer);
    }

 private:
    using Job = std::function<bool(SqliteConnection&)>;  // whether it went well, for the metrics
    Task<Status> perform(Job job);

    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace sluice::io
