// A key as it stands in Redis, and what a replica tells Redis of one: the values that the scripts
// of key_scripts.h take and give. Pure; any thread.
#pragma once

#include "base/json.h"
#include "web/key_runtime.h"
#include "web/key_types.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::web {

// A record. Instants are Redis's: ms since 1970.
struct SharedKey {
    std::uint32_t in_flight = 0;  // of all replicas
    std::int64_t used = 0;        // by all of them in the quota's period
    std::optional<std::int64_t> period_ends = {};
    std::optional<std::int64_t> rests_until = {};
    KeyStatus rest_status = KeyStatus::kCooling;
    std::optional<Outcome> last_outcome = {};
    bool is_let_go = false;  // nobody is given it
};

// Nothing when it is no record.
std::optional<SharedKey> read_shared_key(JsonReader& reader, std::string_view record);

// What Redis is told of a key.
struct SharedEntry {
    // Calls of the quota's period as they were known.
    struct Known {
        std::int64_t used = 0;
        std::optional<std::int64_t> period_ends = {};  // nothing: the period has no end
        bool is_of_another_epoch = false;  // else it is of a store, and may count calls of this one
    };
    struct Rest {
        KeyStatus status = KeyStatus::kCooling;
        Millis time{};
    };

    const KeyRules& rules;
    std::uint32_t max_in_flight = 1;  // that is in force
    std::optional<Known> known = {};
    std::int64_t calls_to_add = 0;  // that Redis does not know of
    bool ends_rest = false;         // before `rest`
    std::optional<Rest> rest = {};
    std::vector<std::string_view> tokens = {};  // of its reservations that are open
};

// As share_keys_script() takes it.
std::string write_entry(const SharedEntry& entry);

}  // namespace sluice::web
