// The keys' runtime state in this process's memory: of a single gateway, and of a replica that lost
// the shared one. A pick and a settlement take constant time, whatever the number of keys; starting
// and ending a rest takes a logarithm.
#pragma once

#include "base/clock.h"
#include "guard/write_ahead.h"
#include "web/key_order.h"
#include "web/key_runtime.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sluice::web {

// How a key stands, as far as that can be shared.
struct KeyStanding {
    std::uint32_t in_flight = 0;
    std::int64_t used = 0;                 // in the quota's period
    Instant quota_until = Instant::max();  // when that ends
    Instant rest_until = Instant::min();   // of a penalty
    KeyStatus rest_status = KeyStatus::kCooling;
    std::optional<Outcome> last_outcome = {};
};

class MemoryKeyRuntime final : public KeyRuntime {
 public:
    // `clock` outlives it.
    MemoryKeyRuntime(const Clock& clock, const RuntimeConfig& config);
    ~MemoryKeyRuntime() override;

    void configure(const RuntimeConfig& config) override;
    KeyIndex add(KeyRules rules) override;
    void change(KeyIndex key, KeyRules rules) override;
    void remove(KeyIndex key) override;
    PickStart pick(ProviderIndex provider, std::span<const KeyIndex> tried) override;
    Pick peek(ProviderIndex provider, std::span<const KeyIndex> tried) override;
    void settle(KeyIndex key, const KeySettlement& settlement) override;
    bool may_still_be_used(KeyIndex key) const override;
    bool may_be_used_again(KeyIndex key) const override;
    void count_another_call(KeyIndex key) override;
    QuotaPeriod quota_period(KeyIndex key) const override;
    void clear_rest(KeyIndex key) override;
    KeyCounts counts(ProviderIndex provider) override;
    std::optional<Instant> back_at(ProviderIndex provider) override;
    Task<std::vector<KeyHealth>> health(std::vector<KeyIndex> keys) override;
    void restore_usage(KeyIndex key, const KeyUsage& usage) override;
    bool is_vouched_for(KeyIndex key) const override;
    std::vector<KeyUsage> begin_usage_write(UsageWrite what) override;
    void end_usage_write(bool written) override;

    // For a runtime that shares its state, and keeps here what it knows of that. Of a key that is
    // there.
    KeyStanding standing(KeyIndex key) const;
    void assume(KeyIndex key, const KeyStanding& standing);
    // The keys of an account; empty: there is none.
    const std::set<KeyIndex>& members_of(ProviderIndex provider, std::string_view account) const;
    // Reserves this very key, whatever keeps it away: somebody else picked it.
    void take(KeyIndex key);

 private:
    // The keys of one provider.
    struct Group {
        explicit Group(Rotation rotation) : order(rotation) {}
        KeyOrder order;                                  // those that may be used
        std::set<std::pair<Instant, KeyIndex>> resting;  // by when they are back
        std::map<std::string, std::set<KeyIndex>, std::less<>> accounts;
        KeyCounts counts;
    };

    // What the store says of a key's calls; apart from its slot, since only keys with a quota ask
    // for it at every pick.
    struct Tally {
        QuotaPeriod period = 0;
        std::int64_t vouched = 0;  // for that period
        // Of the write under way.
        QuotaPeriod written_period = 0;
        std::int64_t written = 0;

        guard::BlockPace pace;
        bool has_block = false;
        bool is_urgent = false;   // in urgent_usage_
        bool is_watched = false;  // in blocks_
    };

    Group& group_at(ProviderIndex provider);
    Group& group_of(KeyIndex key) { return groups_[slots_[key].provider]; }
    void wake(Group& group, Instant now);
    void place(KeyIndex key, Instant now);
    void unplace(KeyIndex key);
    void apply_rules(KeyIndex key);
    Instant end_of_period(const KeySlot& slot, const KeyRules& rules, Instant now) const;
    WallTime period_start(KeyIndex key) const;
    void begin_period(KeyIndex key);
    void roll_quota(KeyIndex key, Instant now);
    void count_call(KeyIndex key, Instant now);
    void note_usage(KeyIndex key);
    void note_urgent(KeyIndex key);
    void take_urgent();
    void take_changed();
    void note_blocks(UsageWrite what, Instant now);
    KeyUsage begin_write_of(KeyIndex key, UsageWrite what, Instant now);
    std::int64_t block_of(KeyIndex key) const;
    void rest(KeyIndex key, const KeyRest& rest, Instant now);
    void rest_one(KeyIndex key, KeyStatus status, Instant until, Instant now);
    void leave_account(Group& group, KeyIndex key);
    void forget(KeyIndex key);
    static NoKey why_none(const Group& group);
    static std::optional<Instant> first_back(const Group& group);

    const Clock& clock_;
    RuntimeConfig config_;
    std::vector<KeySlot> slots_;   // by KeyIndex
    std::vector<KeyRules> rules_;  // the same
    std::vector<KeyIndex> free_;   // slots without a key
    std::vector<Tally> tallies_;   // the same
    std::vector<Group> groups_;    // by ProviderIndex

    std::vector<KeyIndex> urgent_usage_;             // not vouched for when they were counted
    std::vector<KeyIndex> changed_usage_;            // some of them written since
    std::vector<KeyIndex> writing_;                  // by the write under way
    std::set<std::pair<Instant, KeyIndex>> blocks_;  // by when to see whether they are idle
};

}  // namespace sluice::web
