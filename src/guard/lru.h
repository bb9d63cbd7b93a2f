// A map that forgets what has not been used for longest, bounded in entries and in cost.
#pragma once

#include "guard/node_table.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace sluice::guard {

struct LruLimits {
    std::size_t max_entries = 0;
    std::size_t max_cost = 0;  // in whatever unit put() is given, usually bytes
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
        std::uint64_t moved_at = 0;  // moves_ when it came to the front
    };

 public:
    // What an entry takes beside its cost, so that a bound in bytes can be an honest one: the node
    // with key and value, the allocator's header, and slots of a table that is at least 5/16 full.
    static constexpr std::size_t kEntryOverheadBytes = sizeof(Node) + 16 + 51;

    // Entries that have left the map. Destroys them when it is destroyed.
    class Dropped {
     public:
        Dropped() = default;
        Dropped(Dropped&& other) noexcept
            : first_(std::exchange(other.first_, nullptr)),
              count_(std::exchange(other.count_, 0)) {}
        Dropped& operator=(Dropped&& other) noexcept {
            std::swap(first_, other.first_);
            std::swap(count_, other.count_);
            return *this;
        }
        ~Dropped() {
            while (first_ != nullptr) {
                const std::unique_ptr<Node> node(static_cast<Node*>(first_));
                first_ = node->older;
            }
        }

        std::size_t count() const { return count_; }

        // Takes over what `other` holds.
        void append(Dropped other) {
            while (other.first_ != nullptr) {
                auto* node = static_cast<Node*>(other.first_);
                other.first_ = node->older;
                add(node);
            }
            other.count_ = 0;
        }

     private:
        friend class LruMap;
        void add(Node* node) {
            node->older = std::exchange(first_, node);
            count_ += 1;
        }

        Links* first_ = nullptr;  // linked by `older`
        std::size_t count_ = 0;
    };

    struct Entry {
        const Key& key;
        const Value& value;
    };

    explicit LruMap(LruLimits limits, Hash hash = Hash())
        : limits_(limits), hash_(std::move(hash)) {
        ring_.newer = &ring_;
        ring_.older = &ring_;
    }
    LruMap(const LruMap&) = delete;
    LruMap& operator=(const LruMap&) = delete;
    ~LruMap() { clear(); }

    // Null when it is not there. A hit becomes the most recently used entry.
    template <class K>
    Value* find(const K& key) {
        Node* node = locate(key);
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

    // Adds the entry or replaces the one of that key, as the most recently used, and drops the
    // least recently used ones until the limits hold. An entry that costs more than max_cost alone
    // is dropped itself, and so is the one it would have replaced.
    Dropped put(Key key, Value value, std::size_t cost) {
        const std::uint64_t hash = hash_of(key);
        auto node = std::make_unique<Node>(std::move(key), std::move(value), cost, hash);
        Dropped dropped;
        if (Node* old = locate(node->key, hash); old != nullptr) {
            remove(old, dropped);
        }
        if (cost > limits_.max_cost || limits_.max_entries == 0) {
            dropped.add(node.release());
            return dropped;
        }
        while (entries() >= limits_.max_entries || cost_ > limits_.max_cost - cost) {
            remove(static_cast<Node*>(ring_.newer), dropped);
            evictions_ += 1;
        }
        table_.insert(hash, node.get());
        cost_ += cost;
        link_newest(node.release());
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

    // The least recently used entry; nothing is `oldest` in an empty map, so ask empty() first.
    bool empty() const { return ring_.newer == &ring_; }
    Entry oldest() const {
        SLUICE_ASSERT(!empty());
        const auto* node = static_cast<const Node*>(ring_.newer);
        return Entry{node->key, node->value};
    }
    Dropped erase_oldest() {
        Dropped dropped;
        if (!empty()) {
            remove(static_cast<Node*>(ring_.newer), dropped);
        }
        return dropped;
    }

    Dropped clear() {
        Dropped dropped;
        dropped.count_ = entries();
        if (!empty()) {
            // From the most recently used one along `older` to the end of the ring.
            dropped.first_ = ring_.older;
            ring_.newer->older = nullptr;
        }
        ring_.newer = &ring_;
        ring_.older = &ring_;
        table_.clear();
        cost_ = 0;
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

    // Calls f(Value&) for every entry, most recently used first. f must not touch the map.
    template <class F>
    void for_each(F&& f) {
        for (Links* links = ring_.older; links != &ring_; links = links->older) {
            f(static_cast<Node*>(links)->value);
        }
    }

    std::size_t entries() const { return table_.size(); }
    std::size_t cost() const { return cost_; }
    std::size_t slots() const { return table_.capacity(); }
    // Entries dropped by put() for want of room, since the beginning.
    std::uint64_t evictions() const { return evictions_; }

 private:
    // Entries form a ring through `ring_`: ring_.older is the most recently used entry, each
    // entry's `older` leads to the next, and ring_.newer is the least recently used one.

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

    // At most as many entries are before `node` as have come to the front since it did.
    bool near_front(const Node& node) const {
        const std::uint64_t before = moves_ - node.moved_at;
        return before <= (kOrder == LruOrder::kRelaxed ? entries() / 4 : 0);
    }

    static void unlink(Node* node) {
        node->newer->older = node->older;
        node->older->newer = node->newer;
    }

    void link_newest(Node* node) {
        node->newer = &ring_;
        node->older = ring_.older;
        ring_.older->newer = node;
        ring_.older = node;
        node->moved_at = ++moves_;
    }

    void remove(Node* node, Dropped& dropped) {
        table_.erase(node->hash, node);
        unlink(node);
        cost_ -= node->cost;
        dropped.add(node);
    }

    const LruLimits limits_;
    [[no_unique_address]] Hash hash_;
    Links ring_;
    NodeTable<Node> table_;
    std::size_t cost_ = 0;
    std::size_t sweep_at_ = 0;
    std::uint64_t moves_ = 0;  // how often an entry came to the front
    std::uint64_t evictions_ = 0;
};

}  // namespace sluice::guard
