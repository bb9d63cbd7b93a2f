// A value that many threads read and few replace (settings, the table of tokens): readers hold on
// to the version they began with.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace sluice {

// Thread-safe. The lock covers the copy of one pointer. (std::atomic<std::shared_ptr> would be the
// same lock spelled differently, but libstdc++ 12's is a data race by the letter of the standard,
// which ThreadSanitizer reports.)
template <class T>
class Published {
 public:
    Published() = default;
    explicit Published(std::shared_ptr<const T> value) : value_(std::move(value)) {}

    // The version in force; null when none was ever set.
    std::shared_ptr<const T> get() const {
        const std::lock_guard lock(mutex_);
        return value_;
    }

    // Later get()s give `value`. The old version lives until its last reader lets go of it.
    void set(std::shared_ptr<const T> value) {
        // It leaves in the parameter, so that it is destroyed after the lock is released.
        const std::lock_guard lock(mutex_);
        value_.swap(value);
    }

 private:
    mutable std::mutex mutex_;
    std::shared_ptr<const T> value_;
};

}  // namespace sluice
