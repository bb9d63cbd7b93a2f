// Threads for what takes longer than an event loop may be held up: each does one thing at a time
// for whoever took it. They run at the lowest priority, so that what needs no computing stays quick
// while they are busy.
#pragma once

#include "base/task.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::titles {

// Thread-safe. Outlives its slots. Outlived by the executors of those who wait for a thread.
class ComputeThreads {
    struct Worker;

 public:
    // A thread that is one's own. Given back when this object is destroyed, by then idle.
    class Slot {
     public:
        Slot(Slot&& other) noexcept : worker_(std::exchange(other.worker_, nullptr)) {}
        Slot& operator=(Slot&&) = delete;
        ~Slot();

        // Runs one thing at a time: see run_on() in base/task.h.
        Executor executor() const;

     private:
        friend class ComputeThreads;
        explicit Slot(Worker& worker) : worker_(&worker) {}
        Worker* worker_;  // null: moved from
    };

    // kUsual: short work that somebody waits for, which may take very long at the lowest one beside
    // a busy process.
    enum class Priority : bool { kLowest, kUsual };

    // `name` is that of the threads, at most 12 characters.
    ComputeThreads(std::string_view name, std::size_t count, Priority priority = Priority::kLowest);
    ~ComputeThreads();
    ComputeThreads(const ComputeThreads&) = delete;
    ComputeThreads& operator=(const ComputeThreads&) = delete;

    // Nothing when all are busy: there is no queue.
    std::optional<Slot> try_acquire();

    std::size_t count() const { return workers_.size(); }
    std::size_t busy() const;

 private:
    std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace sluice::titles
