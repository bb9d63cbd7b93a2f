// The keys of every provider and their state while the process runs: which may be used now, which
// are resting and until when. Belongs to the control loop (before that runs, to who fills it);
// holds no clock.
#pragma once

#include "base/clock.h"
#include "base/secret.h"
#include "web/provider.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::web {

enum class KeyStatus : std::uint8_t { kAvailable, kCooling, kExhausted, kQuarantined };
std::string_view to_string(KeyStatus status);

class KeyLease;

// Leases may outlive it.
class KeyPool {
 public:
    KeyPool();
    ~KeyPool();
    KeyPool(const KeyPool&) = delete;
    KeyPool& operator=(const KeyPool&) = delete;

    // Adds a key unless the provider has it already. Returns its id, which is derived from the
    // secret (a truncated hash), so that it is the same after a restart.
    std::string add(std::string_view provider, Secret secret);

    // Leases the key of `provider` that is available at `now`, not in `tried` (ids), and least
    // used: fewest calls under way, then longest unused. Nothing when there is none.
    std::optional<KeyLease> lease(std::string_view provider, const std::vector<std::string>& tried,
                                  Instant now);

    // When the first of the provider's resting keys may be used again; nothing when none rests.
    std::optional<Instant> back_at(std::string_view provider, Instant now) const;

    // How many keys are in which state, and how many calls use them now.
    struct Counts {
        std::uint32_t available = 0;
        std::uint32_t cooling = 0;
        std::uint32_t exhausted = 0;
        std::uint32_t quarantined = 0;
        std::uint32_t in_flight = 0;
        std::uint32_t total() const { return available + cooling + exhausted + quarantined; }
    };
    std::map<std::string, Counts> counts(Instant now) const;         // by provider
    Counts counts_of(std::string_view provider, Instant now) const;  // all 0: no such provider

 private:
    friend class KeyLease;
    struct Entry;
    std::map<std::string, std::vector<std::shared_ptr<Entry>>, std::less<>> keys_;
};

// A reserved key. Releases it when destroyed, on every path; without a reported outcome the key is
// left as it was.
class KeyLease {
 public:
    KeyLease(KeyLease&&) noexcept = default;
    KeyLease& operator=(KeyLease&&) = delete;
    ~KeyLease();

    const ProviderKey& key() const;

    // The key rests as `status` until `until`. A penalty never shortens one that is longer.
    void penalise(KeyStatus status, Instant until);

 private:
    friend class KeyPool;
    explicit KeyLease(std::shared_ptr<KeyPool::Entry> entry);
    std::shared_ptr<KeyPool::Entry> entry_;
};

}  // namespace sluice::web
