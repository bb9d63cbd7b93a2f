// Fixed windows for many keys: a token, a client's address. Bounded in keys.
#pragma once

#include "base/clock.h"
#include "guard/keyed_hash.h"
#include "guard/lru.h"
#include "guard/window_counter.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace sluice {
class Random;
}

namespace sluice::guard {

struct WindowTableOptions {
    Duration length{};  // of every window; positive
    // At this many keys a new one takes the place of another: of one whose window is over, as long
    // as there is any in the whole table; else of the one of its shard that was used longest ago.
    // As many insertions as run at the same moment can go beyond it.
    std::size_t max_keys = 65'536;
};

// Thread-safe: a call holds the lock of one shard at a time for some tens of nanoseconds. A key
// that is there is found without an allocation. Clocks that are set back are treated as
// WindowCounter treats them.
class WindowTable {
 public:
    static constexpr std::size_t kShards = 16;

    // `random` makes the key of the hash, so that nobody can choose keys that fall on each other.
    WindowTable(WindowTableOptions options, Random& random);
    WindowTable(const WindowTable&) = delete;
    WindowTable& operator=(const WindowTable&) = delete;

    // Takes one of the `limit` of this key's window. The limit is not remembered: a changed one
    // applies to the window that is open. A limit of 0 or less allows nothing.
    WindowVerdict take(std::string_view key, std::int64_t limit, WallTime now);
    // What take() would find, `remaining` as it is before.
    WindowVerdict peek(std::string_view key, std::int64_t limit, WallTime now) const;
    // Undoes a take() that came to nothing, unless its window is over or has been forgotten.
    void give_back(std::string_view key, WallTime now);

    // At least so many of the open window of this key are used. Of one that is over or has been
    // forgotten it says nothing.
    void raise(std::string_view key, std::int64_t used, WallTime now);

    std::size_t keys() const { return keys_.load(std::memory_order_relaxed); }

 private:
    struct HashedView {
        std::string_view text;
        std::uint64_t hash;
    };
    struct HashedKey {
        std::string text;
        std::uint64_t hash;
        bool operator==(const HashedKey& other) const { return text == other.text; }
        bool operator==(const HashedView& other) const { return text == other.text; }
    };
    struct StoredHash {
        std::uint64_t operator()(const HashedKey& key) const { return key.hash; }
        std::uint64_t operator()(const HashedView& key) const { return key.hash; }
    };
    using Map = LruMap<HashedKey, WindowUse, StoredHash>;

    // Every use moves a key to the front of `map` with the current window's index, and the current
    // index never falls, so the key at the back has the oldest window of the shard.
    struct alignas(64) Shard {
        Shard();
        // The current window's index, seen with `now`.
        std::int64_t advance(WallTime now, Duration length);
        void note_oldest();

        mutable std::mutex mutex;
        Map map;
        std::int64_t current = INT64_MIN;
        // Index of the window at the back, readable without the lock; kNoWindow when empty.
        std::atomic<std::int64_t> oldest;
    };
    static constexpr std::int64_t kNoWindow = INT64_MAX;

    Shard& shard_of(std::uint64_t hash) { return shards_[hash % kShards]; }
    const Shard& shard_of(std::uint64_t hash) const { return shards_[hash % kShards]; }
    WindowVerdict take_from(WindowUse& use, std::int64_t index, std::int64_t limit) const;
    Map::Dropped drop_expired(Shard& shard, WallTime now, std::size_t at_most);
    void make_room(std::size_t first_shard, WallTime now);

    const WindowTableOptions options_;
    const KeyedHash hash_;
    std::array<Shard, kShards> shards_;
    std::atomic<std::size_t> keys_{0};
};

}  // namespace sluice::guard
