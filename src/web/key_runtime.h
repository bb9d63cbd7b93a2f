// How keys fare while the process runs: which may be used now, which rest and until when, how many
// calls each one carries. In this process's memory (key_runtime_memory.h), or shared by replicas
// (key_runtime_redis.h); both pass tests/unit/web/key_runtime_conformance.h. Belongs to the control
// loop.
#pragma once

#include "base/clock.h"
#include "base/task.h"
#include "web/key_types.h"
#include "web/provider.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace sluice::web {

// Names a key to its runtime. Not used again for another key while a reservation of it is open.
using KeyIndex = std::uint32_t;
// Numbers the periods of a key's quota: another number is another period. Not kept over a restart.
using QuotaPeriod = std::uint32_t;

struct RuntimeConfig {
    Rotation rotation = Rotation::kLeastUsed;
    std::uint32_t max_in_flight = 100;  // of a key that has no bound of its own
    // How long who picked a key may take to settle. Where state is shared the reservation of a
    // process that died comes back after that.
    Millis longest_call{60'000};
};

// What an operator decided, as far as the runtime has to respect it.
struct KeyRules {
    ProviderIndex provider = 0;
    std::string id = {};
    std::string account = {};
    KeyState state = KeyState::kActive;
    std::uint32_t weight = 1;
    std::optional<std::uint32_t> max_in_flight = {};
    std::optional<KeyQuota> quota = {};
};

// Why no key of a provider can be had.
struct NoKey {
    enum class Why : std::uint8_t {
        kNone,       // the provider has no key
        kDisabled,   // an operator disabled every one
        kResting,    // each one that is left rests
        kSaturated,  // some carry all the calls that they may
        kTried,      // what is left was tried for this request already
        kGone,       // the one that was taken may not be used any more
        kUnknown,    // what replicas share of them can't be read, and nothing else may be used
        kUncounted,  // the call can't be written down in the quota of the one that was taken
    };
    Why why = Why::kNone;
    std::optional<Instant> back_at = {};  // when the first that rests is back
};
std::string_view to_string(NoKey::Why why);  // "every key is resting"

using Pick = std::variant<KeyIndex, NoKey>;
// A pick that is there already, or the work that will give it.
using PickStart = std::variant<Pick, Task<Pick>>;

// A key is put to rest. A shorter rest never cuts a longer one short.
struct KeyRest {
    KeyStatus status = KeyStatus::kCooling;  // kCooling, kExhausted or kQuarantined
    Millis time{};
    Reach reach = Reach::kKey;
};

// What became of a reservation.
struct KeySettlement {
    enum class Call : std::uint8_t {
        kMade,     // it counts towards the quota
        kNotMade,  // nothing was sent: the quota gets it back, of several calls the last one
    };
    Call call = Call::kMade;
    QuotaPeriod period = 0;               // of kNotMade: what it was counted in; gone with it
    std::optional<Outcome> outcome = {};  // empty: nothing was learned
    std::optional<KeyRest> rest = {};
};

struct KeyHealth {
    KeyStatus status = KeyStatus::kAvailable;
    std::optional<Instant> until = {};  // of a rest that ends by itself
    std::uint32_t in_flight = 0;
    std::uint32_t max_in_flight = 0;  // that is in force
    std::int64_t used = 0;            // calls in the quota's period; of all time without a quota
    std::optional<Outcome> last_outcome = {};
};

// How many of a provider's keys are in which state.
struct KeyCounts {
    std::uint32_t available = 0;
    std::uint32_t cooling = 0;
    std::uint32_t exhausted = 0;
    std::uint32_t quarantined = 0;
    std::uint32_t saturated = 0;
    std::uint32_t disabled = 0;
    std::uint32_t in_flight = 0;  // calls

    std::uint32_t active() const {
        return available + cooling + exhausted + quarantined + saturated;
    }
    // Whether waiting helps nobody: the provider refused each one that is not disabled.
    bool all_refused() const { return quarantined > 0 && quarantined == active(); }
    bool operator==(const KeyCounts&) const = default;
};

// Calls of one key in one period, to be kept over a restart: at least as many as were counted.
struct KeyUsage {
    std::string id = {};
    // Of its quota; the epoch without one, with a total, and with a window that no call began.
    WallTime period_start{};
    std::int64_t used = 0;
};

// What a write of usage tells the store.
enum class UsageWrite : std::uint8_t {
    kUrgent,  // what it does not vouch for
    kDue,     // that, what changed, and what nobody used for long
    kExact,   // everything that it does not know exactly
};

class KeyRuntime {
 public:
    virtual ~KeyRuntime() = default;

    // For picks from now on.
    virtual void configure(const RuntimeConfig& config) = 0;

    virtual KeyIndex add(KeyRules rules) = 0;
    // The provider and the id stay; what is learned about the key stays too.
    virtual void change(KeyIndex key, KeyRules rules) = 0;
    // Reservations that are open end as usual.
    virtual void remove(KeyIndex key) = 0;

    // In one step: of the provider's keys that may be used now and are not in `tried`, takes the
    // one whose turn it is and reserves it, so that it counts as in flight and towards its quota.
    // The caller settles what it got, exactly once. `tried` outlives the task.
    virtual PickStart pick(ProviderIndex provider, std::span<const KeyIndex> tried) = 0;
    // The key that pick() would take, as far as this process knows; nothing is reserved.
    virtual Pick peek(ProviderIndex provider, std::span<const KeyIndex> tried) = 0;
    // Ends a reservation. Does not wait: where state is shared it travels on its own.
    virtual void settle(KeyIndex key, const KeySettlement& settlement) = 0;

    // For who holds a reservation and has not called yet: whether by now neither an operator nor a
    // rest keeps the key away, as far as this process knows.
    virtual bool may_still_be_used(KeyIndex key) const = 0;
    // The same for who means to make another call under a reservation, which needs room in the
    // quota.
    virtual bool may_be_used_again(KeyIndex key) const = 0;
    // Another call is made under a reservation: it counts towards the quota as the first one did.
    virtual void count_another_call(KeyIndex key) = 0;
    // What a call that is counted in this step is counted in, and what one that was counted before
    // has to be of in order to count now. As far as this process knows.
    virtual QuotaPeriod quota_period(KeyIndex key) const = 0;
    // Back to available, whatever it rests for; a quota of ours that is used up stays so.
    virtual void clear_rest(KeyIndex key) = 0;

    // As far as this process knows; constant time and a logarithm for rests that just ended.
    virtual KeyCounts counts(ProviderIndex provider) = 0;
    // When the provider's first resting key is back; nothing when none rests.
    virtual std::optional<Instant> back_at(ProviderIndex provider) = 0;

    virtual Task<std::vector<KeyHealth>> health(std::vector<KeyIndex> keys) = 0;

    // Adds what was counted before a restart, if it belongs to the present period.
    virtual void restore_usage(KeyIndex key, const KeyUsage& usage) = 0;
    // Whether the store has a count that is not less than the key's in the present period. Always
    // so without a quota: who dies then forgets what was not written.
    virtual bool is_vouched_for(KeyIndex key) const = 0;
    // What a write that begins now tells the store. Of keys with a quota the count runs ahead of
    // the calls (guard/write_ahead.h), but in an exact write. Until end_usage_write() the store
    // vouches for the lesser one of what it said and what it is told. One write at a time.
    virtual std::vector<KeyUsage> begin_usage_write(UsageWrite what) = 0;
    // What was not written is part of the next write.
    virtual void end_usage_write(bool written) = 0;
};

}  // namespace sluice::web
