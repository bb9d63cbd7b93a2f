// What every strategy is given and gives back, and which one is run. A strategy decides whom of a
// route to ask when; the asking itself is web/provider_run.h.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/task.h"
#include "guard/singleflight.h"
#include "web/call.h"
#include "web/config.h"
#include "web/hedge_budget.h"
#include "web/provider_state.h"
#include "web/result_cache.h"
#include "web/types.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sluice::web {

// Attempts of one request at most, so that a pool of a thousand refused keys is not walked in one
// go.
inline constexpr std::size_t kMaxAttempts = 32;

// What is served when a search fails.
enum class Fallback : std::uint8_t { kNone, kStaleAnswer };

// One search under way. Cheap to copy; the references outlive every copy.
struct SearchWork {
    ProviderCall& call;
    ResultCache& results;
    const ProviderStates& providers;
    HedgeBudget& hedges;
    TaskScope& tasks;  // where a strategy starts what goes on beside it
    Clock& clock;
    std::shared_ptr<const WebConfig> config;  // in force from its beginning to its end
    std::shared_ptr<const SearchRequest> request;
    Instant deadline;
    std::shared_ptr<guard::Stake> stake;  // of the flight that this is for; null: it has none
    Fallback fallback = Fallback::kNone;

    // No aggregate: see the rules in base/task.h.
    SearchWork(ProviderCall& c, ResultCache& r, const ProviderStates& p, HedgeBudget& h,
               TaskScope& t, Clock& k, std::shared_ptr<const WebConfig> settings,
               std::shared_ptr<const SearchRequest> asked, Instant until,
               std::shared_ptr<guard::Stake> s = nullptr)
        : call(c),
          results(r),
          providers(p),
          hedges(h),
          tasks(t),
          clock(k),
          config(std::move(settings)),
          request(std::move(asked)),
          deadline(until),
          stake(std::move(s)) {}

    // Whether a further call may begin: not when everybody who waited has left.
    bool may_begin() const {
        return clock.now() < deadline && (stake == nullptr || stake->is_attended());
    }
};

// What a strategy found, shared by everybody who waited for it.
struct Found {
    std::shared_ptr<SearchAnswer> answer;
    std::vector<Attempt> attempts;
    bool degraded = false;  // something may be missing that a provider would have given
    Millis queued{};        // waited for a place in the lane
    bool stored = false;    // it is in the answer cache now
    bool shared = false;    // another replica found it
};

// A failed strategy still has its trail.
struct Failure {
    Error error;
    std::vector<Attempt> attempts;
    Millis queued{};
    CacheNote note = {};
};

using StrategyResult = std::variant<Found, Failure>;

// The strategy that the request or its lane asks for. Ends by the work's deadline. What it started
// beside itself has been cancelled then and begins nothing new; it may take a moment longer to end,
// and keeps a copy of `work` for that. A Failure carries what web/failure.h says. Throws when it is
// cancelled. Belongs to the control loop. `work` outlives the task.
Task<StrategyResult> run_strategy(const SearchWork& work);

// The answer of one provider as it is shared and kept.
std::shared_ptr<SearchAnswer> make_answer(const SearchRequest& request, std::string_view provider,
                                          std::shared_ptr<const ProviderAnswer> found);

}  // namespace sluice::web
