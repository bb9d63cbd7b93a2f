#include "titles/compute_threads.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <pthread.h>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

namespace sluice::titles {

namespace asio = boost::asio;

namespace {

constexpr int kLowestPriority = 19;

}  // namespace

struct ComputeThreads::Worker {
    Worker(const std::string& name, Priority priority)
        : work(loop.get_executor()), thread([this, name, priority] {
              pthread_setname_np(pthread_self(), name.c_str());
              // Of this thread alone, as Linux has it; where that is refused it runs as all others.
              if (priority == Priority::kLowest) {
                  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kLowestPriority);
              }
              loop.run();
          }) {}
    ~Worker() {
        work.reset();
        thread.join();
    }

    asio::io_context loop{1};
    asio::executor_work_guard<Executor> work;
    std::atomic<bool> is_taken{false};
    std::thread thread;
};

// What was done with the slot happens before what is done by whoever gets it next.
ComputeThreads::Slot::~Slot() {
    if (worker_ != nullptr) {
        worker_->is_taken.store(false, std::memory_order_release);
    }
}

Executor ComputeThreads::Slot::executor() const {
    return worker_->loop.get_executor();
}

ComputeThreads::ComputeThreads(std::string_view name, std::size_t count, Priority priority) {
    for (std::size_t i = 0; i < count; ++i) {
        workers_.push_back(
            std::make_unique<Worker>(std::string(name) + "-" + std::to_string(i), priority));
    }
}

ComputeThreads::~ComputeThreads() = default;

std::optional<ComputeThreads::Slot> ComputeThreads::try_acquire() {
    for (const auto& worker : workers_) {
        if (!worker->is_taken.load(std::memory_order_relaxed) &&
            !worker->is_taken.exchange(true, std::memory_order_acquire)) {
            return Slot(*worker);
        }
    }
    return std::nullopt;
}

std::size_t ComputeThreads::busy() const {
    return static_cast<std::size_t>(std::ranges::count_if(workers_, [](const auto& worker) {
        return worker->is_taken.load(std::memory_order_relaxed);
    }));
}

}  // namespace sluice::titles
