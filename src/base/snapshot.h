// A value that is read on every request and replaced now and then (settings). Reading is one atomic
// load: no lock, no reference count.
#pragma once

#include "base/clock.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace sluice {

// get() may be called on any thread; the reference stays valid for kGrace after its replacement,
// which is far longer than any request lives. replace() is thread-safe too.
template <class T>
class Snapshot {
 public:
    static constexpr std::chrono::hours kGrace{1};

    explicit Snapshot(T value) : owned_(std::make_unique<const T>(std::move(value))) {
        current_.store(owned_.get(), std::memory_order_release);
    }

    const T& get() const { return *current_.load(std::memory_order_acquire); }

    void replace(T value, Instant now) {
        auto next = std::make_unique<const T>(std::move(value));
        const std::lock_guard lock(mutex_);
        current_.store(next.get(), std::memory_order_release);
        std::erase_if(retired_, [&](const Retired& old) { return now - old.since > kGrace; });
        retired_.push_back({std::move(owned_), now});
        owned_ = std::move(next);
    }

 private:
    struct Retired {
        std::unique_ptr<const T> value;
        Instant since;
    };

    std::atomic<const T*> current_{nullptr};
    std::mutex mutex_;
    std::unique_ptr<const T> owned_;
    std::vector<Retired> retired_;
};

}  // namespace sluice
