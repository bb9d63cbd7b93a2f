// A map that forgets what has not been used for longest, or what is asked for least, bounded in
// entries and in cost.
#pragma once

#include "base/result.h"
#include "guard/node_table.h"
#include "guard/tiny_lfu.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace sluice::guard {

// What becomes of a new entry in a full map.
enum class Admission : std::uint8_t {
    kAlways,  // it takes the place of the least recently used
    // It has a while in a small part of the map to show that it is asked for again; then it stays
    // only if it is asked for more often than what would have to go (W-TinyLFU). A run of keys that
    // nobody asks for twice leaves the popular entries alone. Costs must be bytes.
    kByFrequency,
};

struct LruLimits {
    std::size_t max_entries = 0;
    std::size_t max_cost = 0;  // in whatever unit put() is given, usually bytes
    Admission admission = Admission::kAlways;
};

// How closely the order of entries follows their use.
enum class LruOrder : std::uint8_t {
    kExact,    // every hit moves its entry to the front
    kRelaxed,  // a hit on an entry that has surely not left the front quarter moves nothing, so
               // that hits on popular entries write to no memory but their own
};

// One allocation per entry, and a hit changes only pointers. Look-ups take any type that Hash takes
// and that compares with Key, so a map of strings is asked with a string_view. Hash need not be
// well mixed, but keys that an outsider chooses need one that an outsider cannot aim at
// (guard/keyed_hash.h).
//
// Not thread-safe. Pointers to keys and values are valid until the next call that is not const.
// What leaves the map is handed to the caller as Dropped, so that destructors can run after a lock
// has been released.
template <class Key, class Value, class Hash = std::hash<Key>, LruOrder kOrder = LruOrder::kExact>
class LruMap {
    struct Links {
        Links* newer = nullptr;
        Links* older = nullptr;
    };
    struct Node : Links {
        Node(Key k, Value v, std::size_t c, std::uint64_t h)
            : key(std::move(k)), value(std::move(v)), cost(c), hash(h) {}
        Key key;
        Value value;
        std::size_t cost;
        std::uint64_t hash;
        std::uint64_t moved_at = 0;  // moves of its ring when it came to the front
        bool in_window = false;
    };

 public:
    // What an entry takes beside its cost, so that a bound in bytes can be an honest one: the node
    // with key and value, the allocator's header, and slots of a table that is at least 5/16 full.
    static constexpr std::size_t kEntryOverheadBytes = sizeof(Node) + 16 + 51;
    // With Admission::kByFrequency: the part of the limits that new entries have to themselves, and
    // the bytes of max_cost for each byte that counts requests. Counting begins when an eighth
    // of either limit is used, so an idle map does not pay for it.
    static constexpr std::size_t kWindowShare = 16;
    static constexpr std::size_t kBytesPerSketchByte = 128;
    static constexpr std::size_t kCountingShare = 8;

    // Entries that have left the map. Destroys them when it is destroyed.
    class Dropped {
     public:
        Dropped() = default;
        Dropped(Dropped&& other) noexcept
            : first_(std::exchange(other.first_, nullptr)),
              count_(std::exchange(other.count_, 0)),
              new_one_(std::exchange(other.new_one_, false)) {}
        Dropped& operator=(Dropped&& other) noexcept {
            std::swap(first_, other.first_);
            std::swap(count_, other.count_);
            std::swap(new_one_, other.new_one_);
            return *this;
        }
        ~Dropped() { destroy(SIZE_MAX); }

        // Destroys `most` of them at most, for whoever can't spare the time for all at once. False
        // when none is left.
        bool destroy(std::size_t most) {
            for (; most > 0 && first_ != nullptr; --most) {
                const std::unique_ptr<Node> node(static_cast<Node*>(first_));
                first_ = node->older;
                count_ -= 1;
            }
            return first_ != nullptr;
        }

        std::size_t count() const { return count_; }
        // Whether what put() was given is among them.
        bool new_one() const { return new_one_; }

        // Takes over what `other` holds.
        void append(Dropped other) {
            while (other.first_ != nullptr) {
                auto* node = static_cast<Node*>(other.first_);
                other.first_ = node->older;
                add(node);
            }
            other.count_ = 0;
            new_one_ = new_one_ || other.new_one_;
        }

     private:
        friend class LruMap;
        void add(Node* node) {
            node->older = std::exchange(first_, node);
            count_ += 1;
        }

        bool holds(const Links* node) const {
            const Links* at = first_;
            while (at != nullptr && at != node) {
                at = at->older;
            }
            return at != nullptr;
        }

        Links* first_ = nullptr;  // linked by `older`
        std::size_t count_ = 0;
        bool new_one_ = false;
    };

    struct Entry {
        const Key& key;
        const Value& value;
    };

    explicit LruMap(LruLimits limits, Hash hash = Hash())
        : limits_(limits),
          room_(limits.max_cost - (by_frequency() ? limits.max_cost / kBytesPerSketchByte : 0)),
          hash_(std::move(hash)) {}
    LruMap(const LruMap&) = delete;
    LruMap& operator=(const LruMap&) = delete;
    ~LruMap() { clear(); }

    // Null when it is not there. A hit becomes the most recently used entry. Both count as a
    // request for the key.
    template <class K>
    Value* find(const K& key) {
        const std::uint64_t hash = hash_of(key);
        if (sketch_) {
            sketch_->record(hash);
        }
        Node* node = locate(key, hash);
        if (node == nullptr) {
            return nullptr;
        }
        if (!near_front(*node)) {
            unlink(node);
            link_newest(node);
        }
        return &node->value;
    }

    // The same without counting as use.
    template <class K>
    const Value* peek(const K& key) const {
        const Node* node = locate(key);
        return node == nullptr ? nullptr : &node->value;
    }

    // Adds the entry or replaces the one of that key, as the most recently used, and drops others
    // until the limits hold. An entry that costs more than max_cost alone is dropped itself, and so
    // is the one it would have replaced. With Admission::kByFrequency an entry that is larger than
    // the part for new ones is weighed against the others at once.
    Dropped put(Key key, Value value, std::size_t cost) {
        const std::uint64_t hash = hash_of(key);
        auto node = std::make_unique<Node>(std::move(key), std::move(value), cost, hash);
        Dropped dropped;
        // What was admitted once is not asked to prove itself again.
        node->in_window = by_frequency();
        if (Node* old = locate(node->key, hash); old != nullptr) {
            node->in_window = old->in_window;
            remove(old, dropped);
        }
        if (cost > room_ || limits_.max_entries == 0) {
            dropped.add(node.release());
            dropped.new_one_ = true;
            return dropped;
        }
        table_.insert(hash, node.get());
        Node* const added = node.release();
        link_newest(added);
        start_counting();
        make_room(dropped);
        dropped.new_one_ = dropped.holds(added);
        return dropped;
    }

    // Changes what an entry costs; it stays in its place. Drops entries until the limits hold
    // again, the entry itself when it is too large for them.
    template <class K>
    Dropped recost(const K& key, std::size_t cost) {
        Dropped dropped;
        Node* node = locate(key);
        if (node == nullptr) {
            return dropped;
        }
        if (cost > room_) {
            remove(node, dropped);
            return dropped;
        }
        ring_of(*node).cost += cost - node->cost;
        node->cost = cost;
        start_counting();
        make_room(dropped);
        return dropped;
    }

    template <class K>
    Dropped erase(const K& key) {
        Dropped dropped;
        if (Node* node = locate(key); node != nullptr) {
            remove(node, dropped);
        }
        return dropped;
    }

    // The least recently used entry, with Admission::kAlways; nothing is `oldest` in an empty map,
    // so ask empty() first.
    bool empty() const { return entries() == 0; }
    Entry oldest() const {
        SLUICE_ASSERT(!main_.empty());
        const auto* node = static_cast<const Node*>(main_.ends.newer);
        return Entry{node->key, node->value};
    }
    Dropped erase_oldest() {
        Dropped dropped;
        if (!main_.empty()) {
            remove(main_.oldest(), dropped);
        }
        return dropped;
    }

    // What has been counted about requests is forgotten too. For many entries it takes no longer
    // than for few, but for the table's memory that goes back to the system; to destroy them does.
    Dropped clear() {
        Dropped dropped;
        dropped.count_ = entries();
        for (Ring* ring : {&main_, &window_}) {
            if (!ring->empty()) {
                // From the most recently used one along `older` to the end of the ring.
                ring->oldest()->older = std::exchange(dropped.first_, ring->ends.older);
            }
            ring->reset();
        }
        table_.clear();
        sketch_.reset();
        return dropped;
    }

    // Looks at up to `max_slots` slots of the table, going on where the last call ended, and drops
    // the entries that `unwanted(const Value&)` accepts. Walks in no order and is not a use.
    template <class Unwanted>
    Dropped sweep(std::size_t max_slots, Unwanted&& unwanted) {
        Dropped dropped;
        table_.move_slots(max_slots);
        for (std::size_t i = 0; i < max_slots && !empty(); ++i) {
            Node* node = table_.at(sweep_at_);
            if (node != nullptr && unwanted(std::as_const(node->value))) {
                remove(node, dropped);  // another entry may be in this slot now: look again
                continue;
            }
            sweep_at_ += 1;
        }
        return dropped;
    }

    // Calls f(Value&) for every entry, most recently used first (of those admitted, then of the new
    // ones). f must not touch the map.
    template <class F>
    void for_each(F&& f) {
        for (Ring* ring : {&main_, &window_}) {
            for (Links* links = ring->ends.older; links != &ring->ends; links = links->older) {
                f(static_cast<Node*>(links)->value);
            }
        }
    }

    std::size_t entries() const { return table_.size(); }
    // Of all entries, and of the counters of requests.
    std::size_t cost() const { return total_cost() + (sketch_ ? sketch_->bytes() : 0); }
    // The cost of the largest entry that can be kept.
    std::size_t room() const { return room_; }
    // Entries dropped for want of room since the beginning, and those among them that were new and
    // asked for too rarely to stay.
    std::uint64_t evictions() const { return evictions_; }
    std::uint64_t refusals() const { return refusals_; }

 private:
    // Entries form a ring through `ends`: ends.older is the most recently used entry, each entry's
    // `older` leads to the next, and ends.newer is the least recently used one.
    struct Ring {
        Ring() { reset(); }
        Ring(const Ring&) = delete;
        Ring& operator=(const Ring&) = delete;

        void reset() {
            ends.newer = &ends;
            ends.older = &ends;
            entries = 0;
            cost = 0;
        }
        bool empty() const { return ends.newer == &ends; }
        Node* oldest() const { return static_cast<Node*>(ends.newer); }

        Links ends;
        std::size_t entries = 0;
        std::size_t cost = 0;
        std::uint64_t moves = 0;  // how often an entry came to the front
    };

    bool by_frequency() const { return limits_.admission == Admission::kByFrequency; }
    Ring& ring_of(const Node& node) { return node.in_window ? window_ : main_; }
    const Ring& ring_of(const Node& node) const { return node.in_window ? window_ : main_; }
    std::size_t total_cost() const { return main_.cost + window_.cost; }

    void start_counting() {
        if (!by_frequency()) {
            return;
        }
        if (!sketch_ && (total_cost() > limits_.max_cost / kCountingShare ||
                         entries() > limits_.max_entries / kCountingShare)) {
            sketch_.emplace(limits_.max_cost / kBytesPerSketchByte);
        }
        if (sketch_) {
            sketch_->age(entries());
        }
    }

    // How much has to go.
    std::size_t entries_over() const {
        return entries() - std::min(entries(), limits_.max_entries);
    }
    std::size_t cost_over() const { return total_cost() - std::min(total_cost(), room_); }

    bool window_is_full() const {
        return !window_.empty() && (window_.cost > room_ / kWindowShare ||
                                    window_.entries > limits_.max_entries / kWindowShare);
    }

    // Until the limits hold, and the window has no more than its share.
    void make_room(Dropped& dropped) {
        while (true) {
            const bool over = entries_over() > 0 || cost_over() > 0;
            if (window_is_full()) {
                Node* candidate = window_.oldest();
                if (!over || make_way_for(*candidate, dropped)) {
                    unlink(candidate);
                    candidate->in_window = false;
                    link_newest(candidate);
                } else {
                    remove(candidate, dropped);
                    evictions_ += 1;
                    refusals_ += 1;
                }
                continue;
            }
            if (!over) {
                return;
            }
            remove(main_.empty() ? window_.oldest() : main_.oldest(), dropped);
            evictions_ += 1;
        }
    }

    // Drops the least recently used entries in favour of `candidate`, if all that have to go for it
    // were asked for less often together than it was alone: a large entry is weighed against the
    // many small ones that would fit in its place. See G. Einziger, O. Eytan, R. Friedman and
    // B. Manes, "Lightweight Robust Size Aware Cache Management", ACM Transactions on Storage
    // 18(3), 2022.
    bool make_way_for(const Node& candidate, Dropped& dropped) {
        SLUICE_ASSERT(sketch_.has_value());  // counting began long before a limit was reached
        const std::uint32_t worth = sketch_->frequency(candidate.hash);
        const std::size_t entries_needed = std::min(entries_over(), std::size_t{1});
        const std::size_t cost_needed = std::min(cost_over(), candidate.cost);
        std::uint32_t lost = 0;
        std::size_t entries = 0;
        std::size_t cost = 0;
        for (const Links* at = main_.ends.newer; entries < entries_needed || cost < cost_needed;
             at = at->newer) {
            if (at == &main_.ends) {
                return false;
            }
            const auto* victim = static_cast<const Node*>(at);
            lost += sketch_->frequency(victim->hash);
            if (lost >= worth) {
                return false;
            }
            entries += 1;
            cost += victim->cost;
        }
        for (; entries > 0; --entries) {
            remove(main_.oldest(), dropped);
            evictions_ += 1;
        }
        return true;
    }

    template <class K>
    std::uint64_t hash_of(const K& key) const {
        return static_cast<std::uint64_t>(hash_(key));
    }

    template <class K>
    Node* locate(const K& key) const {
        return locate(key, hash_of(key));
    }

    template <class K>
    Node* locate(const K& key, std::uint64_t hash) const {
        return table_.find(hash, [&](const Node& node) { return node.key == key; });
    }

    // At most as many entries of its ring are before `node` as have come to the front since it did.
    bool near_front(const Node& node) const {
        const Ring& ring = ring_of(node);
        const std::uint64_t before = ring.moves - node.moved_at;
        return before <= (kOrder == LruOrder::kRelaxed ? ring.entries / 4 : 0);
    }

    void unlink(Node* node) {
        Ring& ring = ring_of(*node);
        node->newer->older = node->older;
        node->older->newer = node->newer;
        ring.entries -= 1;
        ring.cost -= node->cost;
    }

    void link_newest(Node* node) {
        Ring& ring = ring_of(*node);
        node->newer = &ring.ends;
        node->older = ring.ends.older;
        ring.ends.older->newer = node;
        ring.ends.older = node;
        ring.entries += 1;
        ring.cost += node->cost;
        node->moved_at = ++ring.moves;
    }

    void remove(Node* node, Dropped& dropped) {
        table_.erase(node->hash, node);
        unlink(node);
        dropped.add(node);
    }

    const LruLimits limits_;
    const std::size_t room_;  // of max_cost, for entries
    [[no_unique_address]] Hash hash_;
    Ring main_;
    Ring window_;  // new entries, with Admission::kByFrequency
    NodeTable<Node> table_;
    std::optional<FrequencySketch>
        sketch_;  // with Admission::kByFrequency, once there is something to weigh
    std::size_t sweep_at_ = 0;
    std::uint64_t evictions_ = 0;
    std::uint64_t refusals_ = 0;
};

}  // namespace sluice::guard
