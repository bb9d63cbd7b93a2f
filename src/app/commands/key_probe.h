// Every key that searches may use, tried once: for `sluice check --probe`.
#pragma once

#include "app/commands/keys_api.h"
#include "app/config.h"
#include "base/json.h"
#include "base/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::app {

struct ProbedKey {
    std::string id;
    std::string provider;
    std::string last4;
    std::int64_t expected_micro_usd = 0;  // what a call costs by the price list
    std::string result = {};              // "valid", "invalid", "quota", "unknown", or "not_tried"
    std::int64_t latency_ms = 0;
    std::string detail = {};  // the provider's own words, or why it was not tried

    bool is_bad() const { return result == "invalid" || result == "quota"; }
};

// The active keys of enabled providers, not tried yet. Errors: what the keys API has, in words.
Result<std::vector<ProbedKey>> keys_to_probe(KeysApi& api, const Config& config);

// Says what is about to be spent: "3 calls, which cost about $0.016".
std::string announce(const std::vector<ProbedKey>& keys);

// One call with each, as `sluice keys test` makes it: it takes a turn under the provider's rate and
// is paid for like any other. A gateway tries so many keys in a row and then one at a time: that is
// waited for, and told on stderr. What can't be tried is not_tried.
void probe(KeysApi& api, std::vector<ProbedKey>& keys);

std::string probe_table(const std::vector<ProbedKey>& keys);
void write_probe(JsonWriter& json, const std::vector<ProbedKey>& keys);  // an array

}  // namespace sluice::app
