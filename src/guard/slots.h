// So many at once and no queue: who finds none free is refused.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <utility>

namespace sluice::guard {

class Slots;

// One of the slots. Gives it back when it is destroyed. The Slots must outlive it.
class Slot {
 public:
    Slot(Slot&& other) noexcept : slots_(std::exchange(other.slots_, nullptr)) {}
    Slot& operator=(Slot&& other) noexcept {
        std::swap(slots_, other.slots_);
        return *this;
    }
    inline ~Slot();

 private:
    friend class Slots;
    explicit Slot(Slots& slots) : slots_(&slots) {}
    Slots* slots_;  // null: moved from
};

// Thread-safe and lock-free. What was done while a slot was held happens before what is done by the
// one who gets it next.
class Slots {
 public:
    explicit Slots(std::size_t capacity) : capacity_(capacity) {}
    Slots(const Slots&) = delete;
    Slots& operator=(const Slots&) = delete;

    std::optional<Slot> try_acquire() {
        std::size_t used = in_use_.load(std::memory_order_relaxed);
        do {
            if (used >= capacity_) {
                return std::nullopt;
            }
        } while (!in_use_.compare_exchange_weak(used, used + 1, std::memory_order_acquire,
                                                std::memory_order_relaxed));
        return Slot(*this);
    }

    std::size_t capacity() const { return capacity_; }
    std::size_t in_use() const { return in_use_.load(std::memory_order_relaxed); }

 private:
    friend class Slot;
    const std::size_t capacity_;
    std::atomic<std::size_t> in_use_{0};
};

inline Slot::~Slot() {
    if (slots_ != nullptr) {
        slots_->in_use_.fetch_sub(1, std::memory_order_release);
    }
}

}  // namespace sluice::guard
