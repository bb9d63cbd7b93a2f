// What the store is told of the calls of keys, and how much of that it vouches for.
#include "web/key_runtime_memory.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace sluice::web {

namespace {

// Whether the store still has such a key.
bool is_kept(KeySlot::Place place) {
    return place != KeySlot::Place::kFree && place != KeySlot::Place::kRemoved;
}

}  // namespace

void MemoryKeyRuntime::note_urgent(KeyIndex key) {
    if (!is_vouched_for(key) && !tallies_[key].is_urgent) {
        tallies_[key].is_urgent = true;
        urgent_usage_.push_back(key);
    }
}

bool MemoryKeyRuntime::is_vouched_for(KeyIndex key) const {
    return slots_[key].quota == KeySlot::kNoQuota || slots_[key].used <= tallies_[key].vouched;
}

std::vector<KeyUsage> MemoryKeyRuntime::begin_usage_write(UsageWrite what) {
    SLUICE_ASSERT(writing_.empty());
    const Instant now = clock_.now();
    take_urgent();
    if (what != UsageWrite::kUrgent) {
        note_blocks(what, now);
        take_changed();
    }
    std::vector<KeyUsage> rows;
    rows.reserve(writing_.size());
    for (const KeyIndex key : writing_) {
        rows.push_back(begin_write_of(key, what, now));
    }
    return rows;
}

void MemoryKeyRuntime::take_urgent() {
    for (const KeyIndex key : std::exchange(urgent_usage_, {})) {
        tallies_[key].is_urgent = false;
        // An earlier write may have made up for it.
        if (is_kept(slots_[key].place) && !is_vouched_for(key)) {
            slots_[key].usage_changed = false;
            writing_.push_back(key);
        }
    }
}

void MemoryKeyRuntime::take_changed() {
    for (const KeyIndex key : std::exchange(changed_usage_, {})) {
        const bool is_changed = std::exchange(slots_[key].usage_changed, false);
        if (is_changed && is_kept(slots_[key].place)) {
            writing_.push_back(key);
        }
    }
}

// Those that have a block and are not used give it back.
void MemoryKeyRuntime::note_blocks(UsageWrite what, Instant now) {
    const bool exact = what == UsageWrite::kExact;
    std::vector<KeyIndex> still_used;
    while (!blocks_.empty() && (exact || blocks_.begin()->first <= now)) {
        const KeyIndex key = blocks_.begin()->second;
        blocks_.erase(blocks_.begin());
        Tally& tally = tallies_[key];
        tally.is_watched = false;
        if (tally.has_block && (exact || tally.pace.is_idle(now))) {
            note_usage(key);
        } else if (tally.has_block) {
            still_used.push_back(key);
        }
    }
    for (const KeyIndex key : still_used) {
        tallies_[key].is_watched = true;
        blocks_.emplace(tallies_[key].pace.idle_at(), key);
    }
}

KeyUsage MemoryKeyRuntime::begin_write_of(KeyIndex key, UsageWrite what, Instant now) {
    if (now >= slots_[key].quota_until) {
        // What was counted belongs to a period that is over.
        unplace(key);
        roll_quota(key, now);
        slots_[key].usage_changed = false;
        place(key, now);
    }
    Tally& tally = tallies_[key];
    const bool is_exact = what == UsageWrite::kExact || tally.pace.is_idle(now);
    tally.pace.begin_write();
    const std::int64_t block = is_exact ? 0 : block_of(key);
    tally.written = slots_[key].used + block;
    tally.written_period = tally.period;
    tally.vouched = std::min(tally.vouched, tally.written);
    tally.has_block = block > 0;
    if (tally.has_block && !tally.is_watched) {
        tally.is_watched = true;
        blocks_.emplace(tally.pace.idle_at(), key);
    }
    return {rules_[key].id, period_start(key), tally.written};
}

// No block reaches past a quota.
std::int64_t MemoryKeyRuntime::block_of(KeyIndex key) const {
    const KeySlot& slot = slots_[key];
    // Without a call in it a window has not begun.
    if (slot.quota == KeySlot::kNoQuota || slot.used == 0) {
        return 0;
    }
    const guard::BlockPace& pace = tallies_[key].pace;
    const std::int64_t most = guard::BlockPace::most_of(slot.quota, slot.quota - slot.used);
    return std::clamp<std::int64_t>(most, 0, pace.block_calls());
}

void MemoryKeyRuntime::end_usage_write(bool written) {
    for (const KeyIndex key : std::exchange(writing_, {})) {
        if (!is_kept(slots_[key].place)) {
            continue;
        }
        Tally& tally = tallies_[key];
        if (!written) {
            note_usage(key);
            note_urgent(key);
        } else if (tally.written_period == tally.period) {
            tally.vouched = tally.written;
        }
    }
}

}  // namespace sluice::web
