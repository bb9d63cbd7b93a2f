#include "web/key_order.h"

#include <algorithm>
#include <bit>

namespace sluice::web {

namespace {

// What a pass grows by at a weight of one: enough for a queue of kMaxKeys keys of the largest
// weight, and far from an overflow in any lifetime of a process.
constexpr std::uint64_t kStride = std::uint64_t{1} << 32;

static_assert(kStride > std::uint64_t{kMaxKeys} * kMaxKeyWeight);
static_assert(kMaxKeyWeight <= kMaxKeyInFlight, "ranks of both kinds have a bit");

void set_bit(auto& bits, std::uint32_t index) {
    bits[index / 64] |= std::uint64_t{1} << (index % 64);
}

void clear_bit(auto& bits, std::uint32_t index) {
    bits[index / 64] &= ~(std::uint64_t{1} << (index % 64));
}

}  // namespace

KeyOrder::KeyOrder(Rotation rotation) : rotation_(rotation) {}

std::uint32_t KeyOrder::rank_of(const KeySlot& slot) const {
    switch (rotation_) {
        case Rotation::kLeastUsed:
            return slot.in_flight;
        case Rotation::kRoundRobin:
            return 0;
        case Rotation::kWeighted:
            return slot.weight;
    }
    SLUICE_ASSERT(false && "a Rotation outside its enumeration");
}

void KeyOrder::insert(std::vector<KeySlot>& slots, KeyIndex key) {
    KeySlot& slot = slots[key];
    slot.rank = rank_of(slot);
    if (slot.rank >= queues_.size()) {
        queues_.resize(slot.rank + 1);
    }
    Queue& queue = queues_[slot.rank];
    if (queue.size == 0) {
        set_bit(filled_, slot.rank);
        // Turns that were missed while it was empty are not made up for.
        queue.pass = std::max(queue.pass, pass_);
        queue.head = key;
    } else {
        slots[queue.tail].next = key;
    }
    slot.previous = queue.tail;
    slot.next = kNoKeyIndex;
    queue.tail = key;
    queue.size += 1;
}

void KeyOrder::erase(std::vector<KeySlot>& slots, KeyIndex key) {
    KeySlot& slot = slots[key];
    Queue& queue = queues_[slot.rank];
    (slot.previous == kNoKeyIndex ? queue.head : slots[slot.previous].next) = slot.next;
    (slot.next == kNoKeyIndex ? queue.tail : slots[slot.next].previous) = slot.previous;
    if (queue.head != kNoKeyIndex) {
        // What the next turn of this queue will touch is on its way by then.
        __builtin_prefetch(&slots[std::min<std::size_t>(slots[queue.head].next, slots.size() - 1)]);
    }
    slot.previous = slot.next = kNoKeyIndex;
    queue.size -= 1;
    if (queue.size == 0) {
        clear_bit(filled_, slot.rank);
    }
}

std::optional<std::uint32_t> KeyOrder::next_queue(const Bits& queues) const {
    std::optional<std::uint32_t> best;
    for (std::size_t word = 0; word < queues.size(); ++word) {
        for (std::uint64_t bits = queues[word]; bits != 0; bits &= bits - 1) {
            const auto rank = static_cast<std::uint32_t>(word * 64) +
                              static_cast<std::uint32_t>(std::countr_zero(bits));
            if (rotation_ != Rotation::kWeighted) {
                return rank;
            }
            if (!best || queues_[rank].pass < queues_[*best].pass) {
                best = rank;
            }
        }
    }
    return best;
}

std::optional<KeyIndex> KeyOrder::first(const std::vector<KeySlot>& slots,
                                        std::span<const KeyIndex> tried) const {
    Bits left = filled_;
    while (const auto rank = next_queue(left)) {
        // Each step past the head is over a key that was tried, so there are few.
        for (KeyIndex key = queues_[*rank].head; key != kNoKeyIndex; key = slots[key].next) {
            if (std::find(tried.begin(), tried.end(), key) == tried.end()) {
                return key;
            }
        }
        clear_bit(left, *rank);
    }
    return std::nullopt;
}

void KeyOrder::count_turn(const std::vector<KeySlot>& slots, KeyIndex key) {
    if (rotation_ != Rotation::kWeighted) {
        return;
    }
    Queue& queue = queues_[slots[key].rank];
    pass_ = std::max(pass_, queue.pass);
    queue.pass += kStride / (std::uint64_t{slots[key].weight} * queue.size);
}

}  // namespace sluice::web
