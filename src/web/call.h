// One call to one provider: the only place of the web side that talks to a provider, for every
// strategy and door. Belongs to the control loop.
#pragma once

#include "access/budget.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/task.h"
#include "guard/circuit.h"
#include "guard/singleflight.h"
#include "io/http_client.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "web/blame.h"
#include "web/config.h"
#include "web/constraints.h"
#include "web/keys.h"
#include "web/price.h"
#include "web/provider.h"
#include "web/provider_state.h"
#include "web/route.h"
#include "web/skip.h"
#include "web/types.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sluice::web {

// What a strategy does after a call.
enum class Step : std::uint8_t {
    kAnswer,        // results
    kEmpty,         // a valid answer without results: remember it, ask the next provider
    kNextKey,       // the key was at fault
    kNextProvider,  // the provider was at fault, has no usable key or can't honour the request
    kStop,          // the caller was at fault
};

struct CallResult {
    Step step = Step::kNextProvider;
    Attempt attempt;
    // The attempt before it with the same key, refused for an option that was then left out.
    std::optional<Attempt> refused = {};
    ProviderAnswer answer;  // with kAnswer and kEmpty
};

// The least that one attempt is given where the request's deadline leaves it. A time-out of an
// attempt that had less, and less than the provider's own timeout, says nothing about the provider.
inline constexpr Millis kMinAttempt{1'500};

// Of the time that an attempt has, what waiting may not use up.
inline constexpr Millis kLeftForCall{500};

// What to do when no key of the provider may be used now, but one may soon.
enum class Patience : std::uint8_t { kPassOver, kWaitForKey };

struct CallTerms {
    Instant until{};  // the attempt's share of the time
    Patience patience = Patience::kPassOver;
    guard::Stake* stake =
        nullptr;  // held while a call is under way; may be null; outlives the call

    // Whether anybody still waits for what a call would bring.
    bool has_takers() const { return stake == nullptr || stake->is_attended(); }
    // The last instant at which a call may begin that waits.
    Instant latest_start(Instant now) const { return std::max(now, until - kLeftForCall); }
};

class ProviderCall {
 public:
    // References outlive it.
    ProviderCall(KeyPool& keys, access::Budgets& budgets, io::HttpClient& http, Clock& clock,
                 const obs::Log& log, obs::Metrics& metrics);

    // In this order: can the provider honour the request; does its circuit let a call through; wait
    // for a turn under its rate; lease a key that is not in `tried_keys` (and add it there);
    // reserve what the call will cost; send; judge; report what was learned about the key and the
    // provider, and what it cost; release. Everything reserved is given back on every path. Ends by
    // `terms.until`, waiting included, and the provider has at most its own timeout. There is
    // always an attempt to show, whether something was sent or not. What is passed by reference
    // outlives the task.
    Task<CallResult> run(Candidate candidate, const WebConfig& config, const SearchRequest& request,
                         CallTerms terms, std::vector<KeyIndex>& tried_keys);

    // Whether the provider could be asked now, as far as a look tells: it has a key that may be
    // used, and no circuit or rest keeps calls away.
    bool may_be_asked(const ProviderState& state);

    // When the first resting key of `provider` may be used again; nothing when none rests.
    std::optional<Instant> key_back_at(ProviderIndex provider);

 private:
    // What a call needs before it is sent; each gives itself back.
    struct Admission {
        guard::CircuitPass pass;
        RateTurn turn;
        KeyLease lease;
        Millis waited;
    };

    // What is asked of whom.
    struct Call {
        const Provider& provider;
        const SearchRequest& request;
        const CallPlan& plan;
    };

    Task<CallResult> send(Candidate candidate, const WebConfig& config, Call call, CallTerms terms,
                          Admission in);
    // What a lease that is not there at once ends with: a key that another process gives, or the
    // first of the resting ones, where it is worth waiting for.
    Task<LeaseResult> lease_later(LeaseStart start, ProviderState& state, CallTerms terms,
                                  const std::vector<KeyIndex>& tried_keys);
    CallResult passed_over(ProviderState& state, Skip skip);
    CallResult no_turn(Candidate candidate);
    using Funds = std::variant<access::Reservation, access::BudgetRefusal>;
    Funds reserve(const ProviderState& state, const SearchRequest& request, const Cost& cost,
                  const KeyLease& lease);
    CallResult no_money(ProviderState& state, KeyLease lease, const access::BudgetRefusal& refusal);
    std::optional<Instant> key_soon(ProviderIndex provider, const CallTerms& terms,
                                    const std::vector<KeyIndex>& tried_keys) const;
    bool has_key_by(Instant instant, ProviderIndex provider, const CallTerms& terms,
                    const std::vector<KeyIndex>& tried_keys) const;
    // Settles the lease, unless the result is to be had once more by `again`.
    struct Judged {
        CallResult result;
        Again again = Again::kNo;
    };
    Judged judged(ProviderState& state, const Call& call, BuildVariant variant,
                  const Result<io::ClientResponse>& response, KeyLease& lease,
                  const KeysConfig& penalties);
    // What is left of `result.answer` for the caller, and what that makes of the attempt.
    static void take_answer(CallResult& result, const Call& call, BuildVariant variant);
    CallResult no_engine(ProviderState& state, KeyLease lease);
    void note_windows(ProviderState& state, std::string_view key_id, const KeyRest& rest);
    void note_rest(std::string_view provider, std::string_view key_id, Outcome reason,
                   const KeyRest& rest);

    KeyPool& keys_;
    access::Budgets& budgets_;
    io::HttpClient& http_;
    Clock& clock_;
    const obs::Log& log_;
    obs::Metrics& registry_;
    JsonReader reader_;
};

}  // namespace sluice::web
