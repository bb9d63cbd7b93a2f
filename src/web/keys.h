// The keys of every provider: what is known about each, its secret, and the lease of one for a
// call. How they fare (rests, calls under way, whose turn it is) is the runtime's, behind
// web/key_runtime.h; where they are kept is the store's, behind web/key_store.h. Belongs to the
// control loop (before that runs, to who fills it).
#pragma once

#include "base/clock.h"
#include "base/secret.h"
#include "base/task.h"
#include "web/key_runtime.h"
#include "web/key_store.h"
#include "web/key_types.h"
#include "web/key_usage_writer.h"
#include "web/provider.h"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

namespace sluice::web {

namespace detail {
struct KeyShelf;  // what leases and their pool share
}

// A reserved key, and a call with it that is counted. Gives both back when destroyed, on every
// path; then nothing was learned, and a call that was made counts. Movable; not thread-safe.
class KeyLease {
 public:
    KeyLease(KeyLease&& other) noexcept;
    KeyLease& operator=(KeyLease&&) = delete;
    ~KeyLease();

    const ProviderKey& key() const { return *key_; }
    // What to pass as tried in the next lease of the same request.
    KeyIndex index() const { return index_; }

    // Whether the call, or after use() another one, may still be made with the key: what others
    // learned of it and what operators decided meanwhile counts.
    bool may_be_used() const;
    // Has the next call counted, in the present period of the quota: the first one was when the key
    // was leased. False, and nothing happened, when it may not be made.
    bool count();
    // Whether the next call is counted in the present period, and the store vouches for that.
    // Otherwise KeyPool::cover() comes first.
    bool is_covered() const;
    // The store vouches for the call that is counted, or need not.
    void set_covered() { covered_ = true; }
    // The call that is counted is made.
    void use();

    // The call of the last use() never left: the next one counts in its place.
    void take_back() { is_counted_ = true; }

    // Gives the key back with what was learned. A rest may reach the whole account.
    void settle(Outcome outcome, std::optional<KeyRest> rest = {}) &&;
    // Nothing was sent: the quota gets the call back.
    void refund() &&;

 private:
    friend class KeyPool;
    KeyLease(std::shared_ptr<detail::KeyShelf> shelf, KeyIndex index);
    void give_back(std::optional<Outcome> outcome, std::optional<KeyRest> rest);
    bool counts_now() const;

    std::shared_ptr<detail::KeyShelf> shelf_;  // empty: given back
    const ProviderKey* key_;                   // on the shelf until then
    KeyIndex index_;
    QuotaPeriod period_;      // that the last call is counted in
    bool is_counted_ = true;  // a call that was not made yet
    bool covered_ = false;    // that one
};

using LeaseResult = std::variant<KeyLease, NoKey>;
// A lease that is there already, or the work that will give it.
using LeaseStart = std::variant<LeaseResult, Task<LeaseResult>>;

// A key as an operator sees it.
struct KeyReport {
    KeyRecord record;
    KeyHealth health;
};

// Leases may outlive it.
class KeyPool {
 public:
    explicit KeyPool(std::shared_ptr<KeyRuntime> runtime);
    ~KeyPool();
    KeyPool(const KeyPool&) = delete;
    KeyPool& operator=(const KeyPool&) = delete;

    // Reserves the key of the provider whose turn it is, leaving out those of `tried`, which
    // outlives the task.
    LeaseStart lease(ProviderIndex provider, std::span<const KeyIndex> tried);
    // The id of the key that lease() would give, as far as this process knows.
    std::variant<std::string, NoKey> peek(ProviderIndex provider, std::span<const KeyIndex> tried);

    // From here on calls with keys that have a quota are covered before they are made. Null, as at
    // the beginning: nobody keeps what is counted. `writer` outlives the pool's leases.
    void keep_usage(KeyUsageWriter* writer);
    KeyUsageWriter* usage_writer() const;
    // Waits until the store vouches for the call that `lease` counted; the lease says so then. How
    // long, and what else may come: KeyUsageWriter::cover().
    Task<guard::WriteEnd> cover(KeyLease& lease, Instant deadline);

    // Why lease() finds none, of a provider of which it found none.
    NoKey why_none(ProviderIndex provider);

    // When the first of the provider's resting keys may be used again; nothing when none rests.
    std::optional<Instant> back_at(ProviderIndex provider);
    KeyCounts counts_of(ProviderIndex provider);
    // By provider, of those that have a key.
    std::map<std::string, KeyCounts> counts();

    // By ProviderIndex: the account of keys that have none of their own, those that are here and
    // those that come. What a key rests for stays.
    void set_default_accounts(std::vector<std::string> accounts);

    // Takes over what changed in the store: for the next lease, new keys are there, changed ones
    // are as they are now, and removed ones are gone. A key that stays keeps what is known about
    // how it fares; the usage is for keys that are new here. Of a whole set, who is not in it is
    // gone. Keys of providers that this binary does not have are left out.
    void apply(const KeySet& changes);

    std::size_t size() const { return by_id_.size(); }
    // Null when there is no key of that id. Valid until the next apply().
    const KeyRecord* find(std::string_view id) const;
    // Whether an active key of the provider names the engine that it searches by.
    bool names_engine(ProviderIndex provider) const;
    std::optional<ProviderKey> secret_of(std::string_view id) const;
    // False when there is no key of that id.
    bool clear_rest(std::string_view id);
    // Every key in order of creation; or those of `ids` that exist.
    Task<std::vector<KeyReport>> report();
    Task<std::optional<KeyReport>> report_one(std::string id);

    KeyRuntime& runtime();

 private:
    LeaseResult to_lease(const Pick& pick) const;
    Task<LeaseResult> lease_later(Task<Pick> pick);
    std::vector<std::string> missing_in(const KeySet& all) const;  // ids
    enum class Applied : std::uint8_t { kAsBefore, kChanged, kNew };
    Applied put(const StoredKey& stored, ProviderIndex provider);
    // The account whose penalties a key of that record shares.
    const std::string& account_of(const KeyRecord& record, ProviderIndex provider) const;
    KeyRules rules_of(const KeyRecord& record, ProviderIndex provider) const;

    std::shared_ptr<detail::KeyShelf> shelf_;
    std::vector<std::string> default_accounts_;  // by ProviderIndex
    std::vector<KeyRecord> records_;             // by KeyIndex
    std::map<std::string, KeyIndex, std::less<>> by_id_;
};

}  // namespace sluice::web
