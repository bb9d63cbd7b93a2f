// What a search would do, found out without doing any of it: nobody is called, no key is taken, no
// budget and no turn is used up. Belongs to the control loop; the result is a value.
#pragma once

#include "access/budget.h"
#include "base/clock.h"
#include "guard/lanes.h"
#include "io/egress.h"
#include "web/keys.h"
#include "web/provider.h"
#include "web/result_cache.h"
#include "web/skip.h"
#include "web/strategy.h"
#include "web/types.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::web {

// One name of a route.
struct ProviderOutlook {
    std::string name;
    // Why it would be passed over; nothing when it would be asked at its turn.
    std::optional<std::string> passed_over;
    std::optional<Outcome> outcome;  // what a trace would call that; nothing: no trace shows it
    bool kept = false;   // its answer is there from before: no call would be made for it
    std::string key_id;  // of the key that it would be asked with
    std::string egress;  // what the call would go out through; empty: none would be made
    Millis turn_in{};    // for so long a call would wait for its turn
    std::vector<Honoured> constraints;  // how it would honour those of the request
    Cost price;
    std::string_view unit;  // of price.units; empty: it is not in this binary
    RecentCalls::Summary recent;
};

struct Explanation {
    enum class Entry : std::uint8_t { kNone, kFresh, kStale };

    Lane lane = Lane::kFast;
    Strategy strategy = Strategy::kFailover;
    CacheMode cache = CacheMode::kUse;
    Entry entry = Entry::kNone;  // in the answer cache, whether the mode would read it or not
    Millis deadline{};
    guard::LaneStats scheduler;
    std::size_t concurrency = 0;         // of the lane
    std::vector<ProviderOutlook> route;  // in order
};

std::string_view to_string(Explanation::Entry entry);

// What is looked at. Refers to objects of the caller.
struct Surroundings {
    const ProviderStates& states;
    KeyPool& keys;
    const access::Budgets& budgets;
    ResultCache& results;
    const io::EgressRouter& egress;
    const Clock& clock;
    const WebConfig& config;
};

// The route of `request`, name by name, those included that are switched off or not in this binary.
std::vector<ProviderOutlook> explain_route(const Surroundings& in, const SearchRequest& request);

}  // namespace sluice::web
