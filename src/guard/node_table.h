// A hash index over nodes that somebody else owns: open addressing in one flat array of 16-byte
// slots, so that a look-up costs one miss for the slot and one for the node, however many there
// are. It grows a few slots at a time, so no single insertion pays for the whole table.
#pragma once

#include "base/result.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

namespace sluice::guard {

// Not thread-safe. Nodes must outlive their stay in the table. Uses no memory while it is empty and
// has never been filled; after that it keeps its largest size until clear().
template <class Node>
class NodeTable {
 public:
    // Old slots that each insertion moves while the table grows. The new table has room for as many
    // insertions as there are nodes at that moment, at least 5/8 of the old slots, so two would do.
    static constexpr std::size_t kSlotsMovedPerInsert = 8;

    NodeTable() = default;
    NodeTable(NodeTable&& other) noexcept { swap(other); }
    NodeTable& operator=(NodeTable&& other) noexcept {
        NodeTable(std::move(other)).swap(*this);
        return *this;
    }

    std::size_t size() const { return size_; }
    // Slots in the larger of the two arrays, for tests and for accounting.
    std::size_t capacity() const { return current_.capacity; }
    bool growing() const { return previous_.capacity != 0; }

    // The node with this hash that `matches(const Node&)` accepts, or null.
    template <class Matches>
    Node* find(std::uint64_t hash, Matches&& matches) const {
        const Slot* slot = current_.find(hash, matches);
        if (slot == nullptr && growing()) {
            slot = previous_.find(hash, matches);
        }
        return slot == nullptr ? nullptr : slot->node;
    }

    // Adds a node that is not there yet. If memory runs out it throws and nothing has changed.
    void insert(std::uint64_t hash, Node* node) {
        if ((size_ + 1) * kLoadDenominator > current_.capacity * kLoadNumerator) {
            grow();
        }
        move_slots(kSlotsMovedPerInsert);
        current_.place(hash, node);
        size_ += 1;
    }

    // Removes a node that is there.
    void erase(std::uint64_t hash, const Node* node) {
        const auto is_it = [node](const Node& candidate) { return &candidate == node; };
        size_ -= 1;
        if (Slot* slot = current_.find(hash, is_it); slot != nullptr) {
            current_.close_gap(slot);
            return;
        }
        SLUICE_ASSERT(growing());
        Slot* slot = previous_.find(hash, is_it);
        SLUICE_ASSERT(slot != nullptr);
        *slot = Slot{kMoved, nullptr};
    }

    // Goes on with growing, up to `count` slots. Insertions do that too; a walk with at() sees only
    // what has been moved.
    void move_slots(std::size_t count) {
        if (!growing()) {
            return;
        }
        for (; count > 0 && moved_ < previous_.capacity; --count, ++moved_) {
            Slot& slot = previous_.slots[moved_];
            if (slot.node != nullptr) {
                current_.place(slot.hash, slot.node);
                slot = Slot{kMoved, nullptr};
            }
        }
        if (moved_ == previous_.capacity) {
            previous_ = Array();
            moved_ = 0;
        }
    }

    // Forgets every node and gives the memory back.
    void clear() { *this = NodeTable(); }

    // The node in slot `index % capacity()`, or null: for walks over all nodes in no order, a few
    // slots at a time. An erased node's slot may hold another one afterwards.
    Node* at(std::size_t index) const {
        return current_.capacity == 0 ? nullptr
                                      : current_.slots[index & (current_.capacity - 1)].node;
    }

 private:
    struct Slot {
        std::uint64_t hash;
        Node* node;
    };
    // In a slot without a node: a probe goes on past kMoved, and ends at kNever.
    static constexpr std::uint64_t kNever = 0;
    static constexpr std::uint64_t kMoved = 1;
    static constexpr std::size_t kMinCapacity = 16;
    // At most 5/8 full: a miss then looks at four slots on average, which is one cache line.
    static constexpr std::size_t kLoadNumerator = 5;
    static constexpr std::size_t kLoadDenominator = 8;

    struct Free {
        void operator()(Slot* slots) const { std::free(slots); }
    };

    struct Array {
        std::unique_ptr<Slot[], Free> slots;
        std::size_t capacity = 0;  // a power of two, or 0
        int shift = 0;

        static Array make(std::size_t capacity) {
            // calloc: for a large array the kernel gives zeroed pages as they are touched, where a
            // vector would write to all of them at once.
            auto* memory = static_cast<Slot*>(std::calloc(capacity, sizeof(Slot)));
            if (memory == nullptr) {
                throw std::bad_alloc();
            }
            Array array;
            array.slots.reset(memory);
            array.capacity = capacity;
            array.shift = 64 - std::countr_zero(capacity);
            return array;
        }

        std::size_t mask() const { return capacity - 1; }
        // Multiplying by 2^64 / phi spreads hashes that differ in a few bits only over the top
        // bits.
        std::size_t home(std::uint64_t hash) const {
            return static_cast<std::size_t>((hash * 0x9E3779B97F4A7C15ULL) >> shift);
        }

        template <class Matches>
        Slot* find(std::uint64_t hash, Matches&& matches) const {
            if (capacity == 0) {
                return nullptr;
            }
            for (std::size_t i = home(hash);; i = (i + 1) & mask()) {
                Slot& slot = slots[i];
                if (slot.node == nullptr) {
                    if (slot.hash == kNever) {
                        return nullptr;
                    }
                    continue;
                }
                if (slot.hash == hash && matches(std::as_const(*slot.node))) {
                    return &slot;
                }
            }
        }

        void place(std::uint64_t hash, Node* node) {
            std::size_t i = home(hash);
            while (slots[i].node != nullptr) {
                i = (i + 1) & mask();
            }
            slots[i] = Slot{hash, node};
        }

        // Empties a slot and moves later ones of its run back, so that no probe ends too early.
        // Only for an array without kMoved slots.
        void close_gap(Slot* slot) {
            auto gap = static_cast<std::size_t>(slot - slots.get());
            for (std::size_t i = (gap + 1) & mask(); slots[i].node != nullptr;
                 i = (i + 1) & mask()) {
                const std::size_t from_home = (i - home(slots[i].hash)) & mask();
                const std::size_t from_gap = (i - gap) & mask();
                if (from_home >= from_gap) {
                    slots[gap] = slots[i];
                    gap = i;
                }
            }
            slots[gap] = Slot{kNever, nullptr};
        }
    };

    void grow() {
        Array next = Array::make(current_.capacity == 0 ? kMinCapacity : current_.capacity * 2);
        move_slots(previous_.capacity);  // none are left; see kSlotsMovedPerInsert
        previous_ = std::exchange(current_, std::move(next));
        moved_ = 0;
    }

    void swap(NodeTable& other) noexcept {
        std::swap(current_, other.current_);
        std::swap(previous_, other.previous_);
        std::swap(moved_, other.moved_);
        std::swap(size_, other.size_);
    }

    Array current_;
    Array previous_;         // while growing: the slots that are not in current_ yet
    std::size_t moved_ = 0;  // slots of previous_ that have been dealt with
    std::size_t size_ = 0;
};

}  // namespace sluice::guard
