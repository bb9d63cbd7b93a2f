// A value that many threads read and few replace (settings, the table of tokens): readers hold on
// to the version they began with.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

namespace sluice {

// Thread-safe. Reading locks and counts in a stripe of the thread's own, so cores that read at the
// same time share no cache line; replacing visits every stripe. (std::atomic<std::shared_ptr> would
// be one lock and one count for all, and libstdc++ 12's is a data race by the letter of the
// standard, which ThreadSanitizer reports.)
template <class T>
class Published {
 public:
    Published() = default;
    explicit Published(std::shared_ptr<const T> value) { set(std::move(value)); }

    // The version in force; null when none was ever set.
    std::shared_ptr<const T> get() const {
        const Stripe& stripe = stripes_[stripe_of_this_thread()];
        const std::lock_guard lock(stripe.mutex);
        return stripe.value;
    }

    // Later get()s give `value`; while this runs, other threads may still be given the old version.
    // That lives until its last reader lets go of it.
    void set(const std::shared_ptr<const T>& value) {
        const std::lock_guard one_writer(writers_);
        for (Stripe& stripe : stripes_) {
            // A count of its own for each stripe, all of them together holding on to the value.
            std::shared_ptr<const T> next;
            if (value) {
                next = std::shared_ptr<const T>(value.get(), [value](const T*) {});
            }
            const std::lock_guard lock(stripe.mutex);
            stripe.value.swap(next);
        }
    }

 private:
    static constexpr std::size_t kStripes = 16;

    struct alignas(64) Stripe {
        mutable std::mutex mutex;
        std::shared_ptr<const T> value;
    };

    static std::size_t stripe_of_this_thread() {
        static std::atomic<std::size_t> threads{0};
        thread_local const std::size_t stripe =
            threads.fetch_add(1, std::memory_order_relaxed) % kStripes;
        return stripe;
    }

    std::mutex writers_;
    std::array<Stripe, kStripes> stripes_;
};

}  // namespace sluice
