// The keys of one provider that may be used now, in the order in which they are taken. Every
// operation takes the same time however many keys there are.
//
// Keys of one rank form a queue; what a rank is depends on the rotation: the calls under way, the
// weight, or nothing. So "fewest calls under way, and of those the longest unused" is the head of
// the lowest queue, and a share by weight is a choice between at most kMaxKeyWeight queues (by
// stride: each queue has a pass that grows by the inverse of its share; the lowest is next).
#pragma once

#include "web/key_runtime.h"

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace sluice::web {

inline constexpr KeyIndex kNoKeyIndex = std::numeric_limits<KeyIndex>::max();

// What is touched at every pick, in one cache line.
struct alignas(64) KeySlot {
    static constexpr std::int64_t kNoQuota = std::numeric_limits<std::int64_t>::max();
    enum class Place : std::uint8_t { kFree, kRemoved, kDisabled, kReady, kResting, kSaturated };

    KeyIndex previous = kNoKeyIndex;  // in its queue
    KeyIndex next = kNoKeyIndex;
    std::uint32_t rank = 0;  // of the queue it is in, while kReady
    std::uint32_t in_flight = 0;
    std::int64_t used = 0;
    std::int64_t quota = kNoQuota;         // without one: never reached
    Instant quota_until = Instant::max();  // end of the quota's period
    Instant rest_until = Instant::min();   // of a penalty
    std::uint16_t max_in_flight = 1;
    std::uint16_t weight = 1;
    std::uint16_t provider = 0;
    Place place = Place::kFree;
    KeyStatus rest_status = KeyStatus::kCooling;     // of the penalty
    KeyStatus shown_status = KeyStatus::kAvailable;  // that it is counted under
    bool disabled = false;                           // by an operator
    bool has_outcome = false;
    bool usage_changed = false;
    Outcome last_outcome = Outcome::kSuccess;
};

// Links the slots of a runtime. Not thread-safe.
class KeyOrder {
 public:
    explicit KeyOrder(Rotation rotation);

    // To the end of the queue of its rank.
    void insert(std::vector<KeySlot>& slots, KeyIndex key);
    void erase(std::vector<KeySlot>& slots, KeyIndex key);

    // The key whose turn it is, leaving out those of `tried`.
    std::optional<KeyIndex> first(const std::vector<KeySlot>& slots,
                                  std::span<const KeyIndex> tried) const;
    // `key`, which first() gave and is still in its queue, has its turn.
    void count_turn(const std::vector<KeySlot>& slots, KeyIndex key);

    // Whether the calls under way of a key change its place.
    bool ranks_by_in_flight() const { return rotation_ == Rotation::kLeastUsed; }

 private:
    struct Queue {
        KeyIndex head = kNoKeyIndex;
        KeyIndex tail = kNoKeyIndex;
        std::uint32_t size = 0;
        std::uint64_t pass = 0;  // kWeighted
    };
    static constexpr std::size_t kWords = kMaxKeyInFlight / 64 + 1;
    using Bits = std::array<std::uint64_t, kWords>;

    std::uint32_t rank_of(const KeySlot& slot) const;
    std::optional<std::uint32_t> next_queue(const Bits& queues) const;

    Rotation rotation_;
    std::vector<Queue> queues_;
    Bits filled_{};           // the queues that hold a key
    std::uint64_t pass_ = 0;  // of the queue that was taken from last
};

}  // namespace sluice::web
