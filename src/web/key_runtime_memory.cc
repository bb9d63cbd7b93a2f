#include "web/key_runtime_memory.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace sluice::web {

namespace {

// A rest without an end: a quota for all time that is used up.
constexpr Instant kNever = Instant::max();
constexpr std::int64_t kNoQuota = KeySlot::kNoQuota;

std::uint32_t& count_of(KeyCounts& counts, KeyStatus status) {
    switch (status) {
        case KeyStatus::kAvailable:
            return counts.available;
        case KeyStatus::kCooling:
            return counts.cooling;
        case KeyStatus::kExhausted:
            return counts.exhausted;
        case KeyStatus::kQuarantined:
            return counts.quarantined;
        case KeyStatus::kSaturated:
            return counts.saturated;
    }
    SLUICE_ASSERT(false && "a KeyStatus outside its enumeration");
}

// When the key may be used again, as far as time decides.
Instant back_when(const KeySlot& slot) {
    return std::max(slot.rest_until, slot.used >= slot.quota ? slot.quota_until : Instant::min());
}

bool has_window(const KeyRules& rules) {
    return rules.quota && rules.quota->per == KeyQuota::Per::kWindow;
}

bool is_counted(KeySlot::Place place) {
    return place == KeySlot::Place::kReady || place == KeySlot::Place::kResting ||
           place == KeySlot::Place::kSaturated;
}

}  // namespace

static_assert(sizeof(KeySlot) == 64);

MemoryKeyRuntime::MemoryKeyRuntime(const Clock& clock, const RuntimeConfig& config)
    : clock_(clock), config_(config) {}

MemoryKeyRuntime::~MemoryKeyRuntime() = default;

void MemoryKeyRuntime::configure(const RuntimeConfig& config) {
    config_ = config;
    const Instant now = clock_.now();
    for (KeyIndex key = 0; key < slots_.size(); ++key) {
        unplace(key);
    }
    for (Group& group : groups_) {
        group.order = KeyOrder(config.rotation);
    }
    for (KeyIndex key = 0; key < slots_.size(); ++key) {
        if (slots_[key].place == KeySlot::Place::kDisabled) {
            apply_rules(key);
            place(key, now);
        }
    }
}

MemoryKeyRuntime::Group& MemoryKeyRuntime::group_at(ProviderIndex provider) {
    while (groups_.size() <= provider) {
        groups_.emplace_back(config_.rotation);
    }
    return groups_[provider];
}

KeyIndex MemoryKeyRuntime::add(KeyRules rules) {
    KeyIndex key = 0;
    if (free_.empty()) {
        key = static_cast<KeyIndex>(slots_.size());
        slots_.emplace_back();
        rules_.emplace_back();
        tallies_.emplace_back();
    } else {
        key = free_.back();
        free_.pop_back();
    }
    slots_[key] = KeySlot{};
    slots_[key].provider = static_cast<std::uint16_t>(rules.provider);
    slots_[key].place = KeySlot::Place::kDisabled;
    Group& group = group_at(rules.provider);
    group.counts.disabled += 1;
    if (!rules.account.empty()) {
        group.accounts[rules.account].insert(key);
    }
    rules_[key] = std::move(rules);
    apply_rules(key);
    place(key, clock_.now());
    return key;
}

void MemoryKeyRuntime::change(KeyIndex key, KeyRules rules) {
    KeyRules& present = rules_[key];
    SLUICE_ASSERT(present.provider == rules.provider && present.id == rules.id);
    Group& group = group_of(key);
    if (present.account != rules.account) {
        leave_account(group, key);
        if (!rules.account.empty()) {
            group.accounts[rules.account].insert(key);
        }
    }
    unplace(key);
    if (!is_counted_alike(present.quota, rules.quota)) {
        slots_[key].used = 0;
        begin_period(key);
        note_usage(key);
    }
    present = std::move(rules);
    apply_rules(key);
    place(key, clock_.now());
}

void MemoryKeyRuntime::remove(KeyIndex key) {
    Group& group = group_of(key);
    unplace(key);
    group.counts.disabled -= 1;
    leave_account(group, key);
    slots_[key].place = KeySlot::Place::kRemoved;
    if (slots_[key].in_flight == 0) {
        forget(key);
    }
}

void MemoryKeyRuntime::leave_account(Group& group, KeyIndex key) {
    const auto found = group.accounts.find(rules_[key].account);
    if (found == group.accounts.end()) {
        return;
    }
    found->second.erase(key);
    if (found->second.empty()) {
        group.accounts.erase(found);
    }
}

void MemoryKeyRuntime::forget(KeyIndex key) {
    // A write under way may name it still: of another period it says nothing.
    Tally fresh;
    fresh.period = tallies_[key].period + 1;
    fresh.is_urgent = tallies_[key].is_urgent;
    fresh.is_watched = tallies_[key].is_watched;
    tallies_[key] = fresh;
    slots_[key] = KeySlot{};
    rules_[key] = KeyRules{};
    free_.push_back(key);
}

// Takes over from the rules what picks look at. The key is in no index meanwhile.
void MemoryKeyRuntime::apply_rules(KeyIndex key) {
    KeySlot& slot = slots_[key];
    const KeyRules& rules = rules_[key];
    slot.disabled = rules.state == KeyState::kDisabled;
    slot.weight = static_cast<std::uint16_t>(rules.weight);
    slot.max_in_flight =
        static_cast<std::uint16_t>(rules.max_in_flight.value_or(config_.max_in_flight));
    slot.quota = rules.quota ? rules.quota->limit : kNoQuota;
    if (clock_.now() >= slot.quota_until) {
        slot.used = 0;  // that period is over
        begin_period(key);
    }
    slot.quota_until = end_of_period(slot, rules, clock_.now());
}

Instant MemoryKeyRuntime::end_of_period(const KeySlot& slot, const KeyRules& rules,
                                        Instant now) const {
    if (!rules.quota) {
        return kNever;
    }
    if (has_window(rules)) {
        return slot.used > 0 ? slot.quota_until : kNever;  // without a call it has not begun
    }
    const WallTime wall = clock_.wall_now();
    const auto reset = quota_reset(rules.quota->per, wall);
    return reset ? now + (*reset - wall) : kNever;
}

// Nothing of what the store says is about the new one.
void MemoryKeyRuntime::begin_period(KeyIndex key) {
    tallies_[key].period += 1;
    tallies_[key].vouched = 0;
}

// A new period of the quota began: what was used before counts no more.
void MemoryKeyRuntime::roll_quota(KeyIndex key, Instant now) {
    KeySlot& slot = slots_[key];
    if (now < slot.quota_until) {
        return;
    }
    slot.used = 0;
    begin_period(key);
    slot.quota_until = end_of_period(slot, rules_[key], now);
    note_usage(key);
}

// A call towards the quota. The key is in no index meanwhile.
void MemoryKeyRuntime::count_call(KeyIndex key, Instant now) {
    roll_quota(key, now);
    KeySlot& slot = slots_[key];
    if (slot.used == 0 && has_window(rules_[key])) {
        begin_period(key);
        slot.quota_until = now + rules_[key].quota->window;
    }
    slot.used += 1;
    note_usage(key);
    if (slot.quota != kNoQuota) {
        tallies_[key].pace.count_call(now);
        note_urgent(key);
    }
}

QuotaPeriod MemoryKeyRuntime::quota_period(KeyIndex key) const {
    const KeySlot& slot = slots_[key];
    // The next call that is counted begins the next one.
    const bool is_over = slot.quota != kNoQuota && clock_.now() >= slot.quota_until;
    return tallies_[key].period + (is_over ? 1 : 0);
}

void MemoryKeyRuntime::note_usage(KeyIndex key) {
    if (!slots_[key].usage_changed) {
        slots_[key].usage_changed = true;
        changed_usage_.push_back(key);
    }
}

// Where a key belongs follows from what is known about it. Every change is made between unplace()
// and place(), since the indices are ordered by what changes.
void MemoryKeyRuntime::place(KeyIndex key, Instant now) {
    KeySlot& slot = slots_[key];
    SLUICE_ASSERT(slot.place == KeySlot::Place::kDisabled);
    if (slot.disabled) {
        return;
    }
    Group& group = group_of(key);
    group.counts.disabled -= 1;
    const Instant back = back_when(slot);
    if (back > now) {
        slot.shown_status = slot.rest_until < back ? KeyStatus::kExhausted : slot.rest_status;
        slot.place = KeySlot::Place::kResting;
        group.resting.emplace(back, key);
    } else if (slot.in_flight >= slot.max_in_flight) {
        slot.shown_status = KeyStatus::kSaturated;
        slot.place = KeySlot::Place::kSaturated;
    } else {
        slot.shown_status = KeyStatus::kAvailable;
        slot.place = KeySlot::Place::kReady;
        group.order.insert(slots_, key);
    }
    count_of(group.counts, slot.shown_status) += 1;
}

// Out of whatever it is in; until it is placed again it counts as disabled.
void MemoryKeyRuntime::unplace(KeyIndex key) {
    KeySlot& slot = slots_[key];
    if (!is_counted(slot.place)) {
        return;
    }
    Group& group = group_of(key);
    if (slot.place == KeySlot::Place::kReady) {
        group.order.erase(slots_, key);
    } else if (slot.place == KeySlot::Place::kResting) {
        const std::size_t erased = group.resting.erase({back_when(slot), key});
        SLUICE_ASSERT(erased == 1);
    }
    count_of(group.counts, slot.shown_status) -= 1;
    group.counts.disabled += 1;
    slot.place = KeySlot::Place::kDisabled;
}

// Brings back those whose rest is over.
void MemoryKeyRuntime::wake(Group& group, Instant now) {
    while (!group.resting.empty() && group.resting.begin()->first <= now) {
        const KeyIndex key = group.resting.begin()->second;
        unplace(key);
        place(key, now);
    }
}

PickStart MemoryKeyRuntime::pick(ProviderIndex provider, std::span<const KeyIndex> tried) {
    const Pick picked = peek(provider, tried);
    const KeyIndex* key = std::get_if<KeyIndex>(&picked);
    if (key != nullptr) {
        groups_[provider].order.count_turn(slots_, *key);
        take(*key);
    }
    return picked;
}

void MemoryKeyRuntime::take(KeyIndex key) {
    const Instant now = clock_.now();
    unplace(key);
    count_call(key, now);
    slots_[key].in_flight += 1;
    group_of(key).counts.in_flight += 1;
    place(key, now);
}

const std::set<KeyIndex>& MemoryKeyRuntime::members_of(ProviderIndex provider,
                                                       std::string_view account) const {
    static const std::set<KeyIndex> kNone;
    if (provider >= groups_.size()) {
        return kNone;
    }
    const auto found = groups_[provider].accounts.find(account);
    return found == groups_[provider].accounts.end() ? kNone : found->second;
}

KeyStanding MemoryKeyRuntime::standing(KeyIndex key) const {
    const KeySlot& slot = slots_[key];
    KeyStanding standing;
    standing.in_flight = slot.in_flight;
    standing.used = clock_.now() < slot.quota_until ? slot.used : 0;
    standing.quota_until = slot.quota_until;
    standing.rest_until = slot.rest_until;
    standing.rest_status = slot.rest_status;
    if (slot.has_outcome) {
        standing.last_outcome = slot.last_outcome;
    }
    return standing;
}

void MemoryKeyRuntime::assume(KeyIndex key, const KeyStanding& standing) {
    KeySlot& slot = slots_[key];
    SLUICE_ASSERT(slot.place != KeySlot::Place::kFree && slot.place != KeySlot::Place::kRemoved);
    unplace(key);
    group_of(key).counts.in_flight += standing.in_flight - slot.in_flight;
    slot.in_flight = standing.in_flight;
    if (clock_.now() >= slot.quota_until) {
        begin_period(key);
    }
    if (slot.used != standing.used) {
        slot.used = standing.used;
        note_usage(key);
        note_urgent(key);
    }
    slot.quota_until = standing.quota_until;
    slot.rest_until = standing.rest_until;
    slot.rest_status = standing.rest_status;
    if (standing.last_outcome) {
        slot.has_outcome = true;
        slot.last_outcome = *standing.last_outcome;
    }
    place(key, clock_.now());
}

Pick MemoryKeyRuntime::peek(ProviderIndex provider, std::span<const KeyIndex> tried) {
    if (provider >= groups_.size()) {
        return NoKey{};
    }
    Group& group = groups_[provider];
    wake(group, clock_.now());
    if (const auto key = group.order.first(slots_, tried)) {
        return *key;
    }
    return why_none(group);
}

NoKey MemoryKeyRuntime::why_none(const Group& group) {
    NoKey none;
    none.back_at = first_back(group);
    if (group.counts.active() == 0) {
        none.why = group.counts.disabled > 0 ? NoKey::Why::kDisabled : NoKey::Why::kNone;
    } else if (group.counts.available > 0) {
        none.why = NoKey::Why::kTried;
    } else {
        none.why = group.counts.saturated > 0 ? NoKey::Why::kSaturated : NoKey::Why::kResting;
    }
    return none;
}

std::optional<Instant> MemoryKeyRuntime::first_back(const Group& group) {
    if (group.resting.empty() || group.resting.begin()->first == kNever) {
        return std::nullopt;
    }
    return group.resting.begin()->first;
}

void MemoryKeyRuntime::settle(KeyIndex key, const KeySettlement& settlement) {
    KeySlot& slot = slots_[key];
    SLUICE_ASSERT(slot.in_flight > 0);
    Group& group = group_of(key);
    const bool counts_back = settlement.call == KeySettlement::Call::kNotMade &&
                             settlement.period == quota_period(key) && slot.used > 0;
    // In the other rotations the end of a call leaves the turns as they are.
    const bool moves =
        slot.place != KeySlot::Place::kReady || group.order.ranks_by_in_flight() || counts_back;
    if (moves) {
        unplace(key);
    }
    slot.in_flight -= 1;
    group.counts.in_flight -= 1;
    if (counts_back) {
        slot.used -= 1;
        if (slot.used == 0 && has_window(rules_[key])) {
            slot.quota_until = kNever;  // the call that began it was not made
        }
        note_usage(key);
    }
    if (settlement.outcome) {
        slot.has_outcome = true;
        slot.last_outcome = *settlement.outcome;
    }
    const bool removed = slot.place == KeySlot::Place::kRemoved;
    if (moves && !removed) {
        place(key, clock_.now());
    }
    if (settlement.rest) {
        rest(key, *settlement.rest, clock_.now());
    }
    if (removed && slot.in_flight == 0) {
        forget(key);
    }
}

void MemoryKeyRuntime::rest(KeyIndex key, const KeyRest& rest, Instant now) {
    SLUICE_ASSERT(rest.status != KeyStatus::kAvailable && rest.status != KeyStatus::kSaturated);
    const Instant until = now + rest.time;
    const std::string& account = rules_[key].account;
    if (rest.reach == Reach::kKey || account.empty()) {
        rest_one(key, rest.status, until, now);
        return;
    }
    Group& group = group_of(key);
    const auto members = group.accounts.find(account);
    if (members == group.accounts.end()) {
        return;  // it was removed, and it was the last
    }
    for (const KeyIndex member : members->second) {
        rest_one(member, rest.status, until, now);
    }
}

void MemoryKeyRuntime::rest_one(KeyIndex key, KeyStatus status, Instant until, Instant now) {
    KeySlot& slot = slots_[key];
    if (slot.place == KeySlot::Place::kRemoved || until <= slot.rest_until) {
        return;
    }
    unplace(key);
    slot.rest_status = status;
    slot.rest_until = until;
    place(key, now);
}

bool MemoryKeyRuntime::may_still_be_used(KeyIndex key) const {
    const KeySlot& slot = slots_[key];
    return is_counted(slot.place) && slot.rest_until <= clock_.now();
}

bool MemoryKeyRuntime::may_be_used_again(KeyIndex key) const {
    return may_still_be_used(key) && back_when(slots_[key]) <= clock_.now();
}

void MemoryKeyRuntime::count_another_call(KeyIndex key) {
    const Instant now = clock_.now();
    const bool removed = slots_[key].place == KeySlot::Place::kRemoved;
    unplace(key);
    count_call(key, now);
    if (!removed) {
        place(key, now);
    }
}

void MemoryKeyRuntime::clear_rest(KeyIndex key) {
    unplace(key);
    slots_[key].rest_until = Instant::min();
    place(key, clock_.now());
}

KeyCounts MemoryKeyRuntime::counts(ProviderIndex provider) {
    if (provider >= groups_.size()) {
        return {};
    }
    wake(groups_[provider], clock_.now());
    return groups_[provider].counts;
}

std::optional<Instant> MemoryKeyRuntime::back_at(ProviderIndex provider) {
    if (provider >= groups_.size()) {
        return std::nullopt;
    }
    wake(groups_[provider], clock_.now());
    return first_back(groups_[provider]);
}

Task<std::vector<KeyHealth>> MemoryKeyRuntime::health(std::vector<KeyIndex> keys) {
    const Instant now = clock_.now();
    for (Group& group : groups_) {
        wake(group, now);
    }
    std::vector<KeyHealth> result;
    result.reserve(keys.size());
    for (const KeyIndex key : keys) {
        const KeySlot& slot = slots_[key];
        KeyHealth health;
        if (is_counted(slot.place)) {
            health.status = slot.shown_status;
        } else if (slot.rest_until > now) {
            health.status = slot.rest_status;
            health.until = slot.rest_until;
        }
        if (slot.place == KeySlot::Place::kResting && back_when(slot) != kNever) {
            health.until = back_when(slot);
        }
        health.in_flight = slot.in_flight;
        health.max_in_flight = slot.max_in_flight;
        health.used = now < slot.quota_until ? slot.used : 0;
        if (slot.has_outcome) {
            health.last_outcome = slot.last_outcome;
        }
        result.push_back(health);
    }
    co_return result;
}

void MemoryKeyRuntime::restore_usage(KeyIndex key, const KeyUsage& usage) {
    const Instant now = clock_.now();
    const KeyRules& rules = rules_[key];
    if (!has_window(rules)) {
        if (usage.period_start == period_start(key)) {
            unplace(key);
            slots_[key].used += usage.used;
            tallies_[key].vouched = usage.used;
            place(key, now);
        }
        return;
    }
    // A clock that went back would have the window begin in the future.
    const Duration age = clock_.wall_now() - usage.period_start;
    if (usage.used > 0 && age >= Duration::zero() && age < rules.quota->window) {
        unplace(key);
        slots_[key].used += usage.used;
        slots_[key].quota_until = now + (rules.quota->window - age);
        begin_period(key);
        tallies_[key].vouched = usage.used;
        place(key, now);
    }
}

WallTime MemoryKeyRuntime::period_start(KeyIndex key) const {
    const KeyRules& rules = rules_[key];
    if (!rules.quota) {
        return WallTime{};
    }
    if (!has_window(rules)) {
        return quota_period_start(rules.quota->per, clock_.wall_now());
    }
    const Instant until = slots_[key].quota_until;
    return until == kNever ? WallTime{}
                           : clock_.wall_now() + (until - clock_.now()) - rules.quota->window;
}

}  // namespace sluice::web
