#include "guard/window_table.h"

#include "base/random.h"
#include "base/result.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace sluice::guard {

namespace {

// Expired keys that each insertion takes out of its own shard, so that a table that was once full
// shrinks again while it is used.
constexpr std::size_t kDroppedPerInsert = 2;

constexpr std::size_t kUnbounded = std::numeric_limits<std::size_t>::max();

}  // namespace

// The bound is the table's, over all shards.
WindowTable::Shard::Shard() : map(LruLimits{kUnbounded, kUnbounded}), oldest(kNoWindow) {}

std::int64_t WindowTable::Shard::advance(WallTime now, Duration length) {
    const std::int64_t index = window_index(now, length);
    if (index >= current) {
        current = index;
        return current;
    }
    if (current - index > 1) {
        // The clock has been set back: windows move with it, open ones stay open.
        const std::int64_t shift = current - index;
        map.for_each([shift](WindowUse& use) { use.index -= shift; });
        current = index;
    }
    return current;
}

void WindowTable::Shard::note_oldest() {
    oldest.store(map.empty() ? kNoWindow : map.oldest().value.index, std::memory_order_relaxed);
}

WindowTable::WindowTable(WindowTableOptions options, Random& random)
    : options_(options), hash_(random) {
    SLUICE_ASSERT(options_.length > Duration::zero());
    SLUICE_ASSERT(options_.max_keys > 0);
}

WindowVerdict WindowTable::take_from(WindowUse& use, std::int64_t index, std::int64_t limit) const {
    if (use.index != index) {
        use = WindowUse{index, 0};
    }
    const bool allowed = use.used < limit;
    use.used += allowed ? 1 : 0;
    return WindowVerdict{allowed, std::max<std::int64_t>(limit - use.used, 0),
                         window_start(index + 1, options_.length)};
}

WindowVerdict WindowTable::take(std::string_view key, std::int64_t limit, WallTime now) {
    const HashedView view{key, hash_(key)};
    Shard& shard = shard_of(view.hash);
    {
        const std::lock_guard lock(shard.mutex);
        const std::int64_t index = shard.advance(now, options_.length);
        WindowUse* use = shard.map.find(view);
        if (use != nullptr) {
            const WindowVerdict verdict = take_from(*use, index, limit);
            shard.note_oldest();
            return verdict;
        }
        if (limit <= 0) {
            return WindowVerdict{false, 0, window_start(index + 1, options_.length)};
        }
    }
    if (keys() >= options_.max_keys) {
        make_room(view.hash % kShards, now);
    }
    Map::Dropped dropped;
    const std::lock_guard lock(shard.mutex);
    const std::int64_t index = shard.advance(now, options_.length);
    // Another thread may have put it there while the lock was free.
    if (WindowUse* use = shard.map.find(view); use != nullptr) {
        return take_from(*use, index, limit);
    }
    dropped = drop_expired(shard, now, kDroppedPerInsert);
    WindowUse use{index, 0};
    const WindowVerdict verdict = take_from(use, index, limit);
    dropped.append(shard.map.put(HashedKey{std::string(key), view.hash}, use, 1));
    keys_.fetch_add(1, std::memory_order_relaxed);
    shard.note_oldest();
    return verdict;
}

WindowVerdict WindowTable::peek(std::string_view key, std::int64_t limit, WallTime now) const {
    const HashedView view{key, hash_(key)};
    const Shard& shard = shard_of(view.hash);
    const std::lock_guard lock(shard.mutex);
    std::int64_t index = window_index(now, options_.length);
    const bool stepped_back = index < shard.current;
    if (stepped_back && shard.current - index == 1) {
        index = shard.current;
    }
    const WindowUse* use = shard.map.peek(view);
    // The current window, or the one that will be moved to `index` when the next take() comes.
    const bool open = use != nullptr && use->index == (stepped_back ? shard.current : index);
    const std::int64_t used = open ? use->used : 0;
    return WindowVerdict{used < limit, std::max<std::int64_t>(limit - used, 0),
                         window_start(index + 1, options_.length)};
}

void WindowTable::give_back(std::string_view key, WallTime now) {
    const HashedView view{key, hash_(key)};
    Shard& shard = shard_of(view.hash);
    const std::lock_guard lock(shard.mutex);
    const std::int64_t index = shard.advance(now, options_.length);
    WindowUse* use = shard.map.find(view);
    if (use != nullptr) {
        *use = WindowUse{index, use->index == index ? std::max<std::int64_t>(use->used - 1, 0) : 0};
        shard.note_oldest();
    }
}

void WindowTable::raise(std::string_view key, std::int64_t used, WallTime now) {
    const HashedView view{key, hash_(key)};
    Shard& shard = shard_of(view.hash);
    const std::lock_guard lock(shard.mutex);
    const std::int64_t index = shard.advance(now, options_.length);
    WindowUse* use = shard.map.find(view);
    if (use != nullptr) {
        *use = WindowUse{index, std::max(used, use->index == index ? use->used : 0)};
        shard.note_oldest();
    }
}

WindowTable::Map::Dropped WindowTable::drop_expired(Shard& shard, WallTime now,
                                                    std::size_t at_most) {
    Map::Dropped dropped;
    const std::int64_t index = shard.advance(now, options_.length);
    while (dropped.count() < at_most && !shard.map.empty() &&
           shard.map.oldest().value.index < index) {
        dropped.append(shard.map.erase_oldest());
    }
    keys_.fetch_sub(dropped.count(), std::memory_order_relaxed);
    return dropped;
}

void WindowTable::make_room(std::size_t first_shard, WallTime now) {
    // Locks are taken one after another, never two at once. A shard whose oldest window is the
    // current one has none that is over, which is seen without its lock.
    const std::int64_t index = window_index(now, options_.length);
    for (std::size_t i = 0; i < kShards; ++i) {
        Shard& shard = shards_[(first_shard + i) % kShards];
        const std::int64_t oldest = shard.oldest.load(std::memory_order_relaxed);
        if (oldest == kNoWindow || oldest == index) {
            continue;
        }
        Map::Dropped dropped;
        const std::lock_guard lock(shard.mutex);
        dropped = drop_expired(shard, now, 1);
        shard.note_oldest();
        if (dropped.count() > 0) {
            return;
        }
    }
    for (std::size_t i = 0; i < kShards; ++i) {
        Shard& shard = shards_[(first_shard + i) % kShards];
        Map::Dropped dropped;
        const std::lock_guard lock(shard.mutex);
        dropped = shard.map.erase_oldest();
        keys_.fetch_sub(dropped.count(), std::memory_order_relaxed);
        shard.note_oldest();
        if (dropped.count() > 0) {
            return;
        }
    }
}

}  // namespace sluice::guard
