// The words of keys: what an operator decides about one (kept in a store) and how it fares while
// the process runs (kept in a runtime). Values; any thread.
#pragma once

#include "base/clock.h"
#include "base/secret.h"
#include "web/types.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::web {

// Set by an operator; survives restarts.
enum class KeyState : std::uint8_t { kActive, kDisabled };

// How an active key fares right now. Every rest is time-boxed: it ends by itself.
enum class KeyStatus : std::uint8_t {
    kAvailable,
    kCooling,      // rate-limited
    kExhausted,    // its quota is used up, the provider's or our own
    kQuarantined,  // refused
    kSaturated,    // as many calls under way as it takes
};

// Which of the available keys is taken.
enum class Rotation : std::uint8_t {
    kLeastUsed,   // fewest calls under way; among equals the one that is so for longest
    kRoundRobin,  // one after the other
    kWeighted,    // in proportion to the weights
};

std::string_view to_string(KeyState state);
std::string_view to_string(KeyStatus status);
std::string_view to_string(Rotation rotation);

// Our own bound on the calls of one key, counted when it is leased.
struct KeyQuota {
    enum class Per : std::uint8_t {
        kDay,     // of UTC
        kMonth,   // of UTC
        kTotal,   // all of time
        kWindow,  // `window` from the first call on; the next one begins with the first call after
                  // it
    };
    std::int64_t limit = 0;  // 1 to kMaxKeyQuota
    Per per = Per::kMonth;
    Millis window{};  // of kWindow: kMinKeyWindow to kMaxKeyWindow

    bool operator==(const KeyQuota&) const = default;
};
inline constexpr Millis kMinKeyWindow{1'000};
inline constexpr Millis kMaxKeyWindow{std::chrono::days(366)};

// The period of a quota as people write it: "day", "month", "total", or the length of a window such
// as "90m".
std::string period_text(const KeyQuota& quota);
// The other way round; nothing when `text` is no period.
std::optional<KeyQuota> make_quota(std::int64_t limit, std::string_view period);

// Whether a count towards the one is a count towards the other, whatever the limits: a count of one
// kind of period says nothing about another.
bool is_counted_alike(const std::optional<KeyQuota>& one, const std::optional<KeyQuota>& other);

// When the period that `now` lies in began, and when the next one does; the whole of time for a
// total. Not of kWindow, whose periods begin with calls (asserted).
WallTime quota_period_start(KeyQuota::Per per, WallTime now);
std::optional<WallTime> quota_reset(KeyQuota::Per per, WallTime now);

inline constexpr std::size_t kMaxKeys = 20'000;  // of all providers together
inline constexpr std::size_t kMaxKeySecretBytes = 512;
inline constexpr std::size_t kMaxKeyLabelBytes = 100;  // labels, accounts and engine ids
inline constexpr std::uint32_t kMaxKeyWeight = 100;
inline constexpr std::uint32_t kMaxKeyInFlight = 1'000;
inline constexpr std::int64_t kMaxKeyQuota = 1'000'000'000'000;

// What is kept about a key beside its secret.
struct KeyRecord {
    std::string id;  // stable, not secret: how traces, metrics and logs name it
    std::string provider;
    std::string label = {};    // for people
    std::string account = {};  // what shares one quota at the provider; empty: nothing known
    std::string last4 = {};    // of the secret; empty when that is too short to show any of it
    KeyState state = KeyState::kActive;
    std::uint32_t weight = 1;                         // 1 to kMaxKeyWeight
    std::optional<std::uint32_t> max_in_flight = {};  // 1 to kMaxKeyInFlight; empty: the setting
    std::optional<KeyQuota> quota = {};
    std::string engine_id = {};  // of a provider that searches by an engine
    WallTime created_at{};

    KeyRecord() = default;  // no aggregate: see the rules in base/task.h
    bool operator==(const KeyRecord&) const = default;
};

struct StoredKey {
    KeyRecord record;
    Secret secret;
};

}  // namespace sluice::web
