// An admitted call: paid for, sent, judged, sent again where that helps, and settled. The second
// half of web/call.h, which is the only one to use it. Belongs to the control loop.
#pragma once

#include "access/budget.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/task.h"
#include "guard/circuit.h"
#include "io/egress.h"
#include "io/http_client.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "web/blame.h"
#include "web/call_types.h"
#include "web/config.h"
#include "web/constraints.h"
#include "web/keys.h"
#include "web/price.h"
#include "web/provider.h"
#include "web/provider_state.h"
#include "web/route.h"
#include "web/skip.h"
#include "web/types.h"

#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

namespace sluice::web {

// What a call needs before it is sent; each gives itself back.
struct Admission {
    guard::CircuitPass pass;
    std::optional<RateTurn> turn;  // never nothing
    KeyLease lease;
    Millis waited;
};

// What is asked of whom. Refers to objects that outlive the call.
struct Call {
    Candidate candidate;
    const WebConfig& config;
    const SearchRequest& request;
    const CallPlan& plan;
    CallTerms terms;
    std::span<const KeyIndex> tried_keys;  // by this search, the leased one included

    ProviderState& state() const { return *candidate.state; }
    const ProviderSettings& settings() const { return *candidate.settings; }
    const Provider& provider() const { return state().provider(); }
};

class Sender {
 public:
    // References outlive it.
    Sender(KeyPool& keys, access::Budgets& budgets, io::HttpClient& http, io::EgressRouter& egress,
           Clock& clock, const obs::Log& log, obs::Metrics& metrics);

    // Sends the same call again in three cases: at once, without the option that the key's plan
    // lacks; at once and a single time, through another endpoint of the egress when nothing was
    // sent through the first; and after a wait, as often as call.terms.retries allows, when the
    // provider was overloaded or limited its rate and no other key can be tried. A Retry-After that
    // leaves no time for the call ends it. Money and a turn are taken for each try; the lease is
    // kept; what was learned about the key and the provider is reported after the last one. A probe
    // of the circuit is one try. What is passed by reference outlives the task.
    Task<CallResult> send(Call call, Admission in);

 private:
    using Funds = std::variant<access::Reservation, access::BudgetRefusal>;

    // One try that ended.
    struct Try {
        CallResult result;
        std::optional<Verdict> verdict = {};  // nothing: an answer
        std::optional<KeyRest> by_windows = {};
        bool never_left = false;
        bool unsent = false;
        bool short_time = false;
        bool may_go_another_way = false;
        std::optional<Instant> retry_at = {};  // nothing: not after a wait
    };

    // What a call goes out through.
    struct Route {
        io::EgressRoute way;
        bool is_detour = false;
        // What the try before went out through, when it is not known whose fault its end was.
        std::optional<io::EgressRoute> doubted = {};
    };

    // The same call, as often as it is sent.
    struct Tries {
        Cost expected;
        CallSite site;
        Route route;
        std::optional<Try> last = {};
        std::vector<Attempt> earlier = {};
        std::size_t retries = 0;  // after a wait
    };

    // What is left to be done before a call that is paid for is made: its key's count is covered
    // and its turn has come. Why the call is not made after all; nothing: it is.
    Task<std::optional<Skip>> start(const Call& call, Admission& in);
    // Sends it once, to the end of the try.
    Task<void> make(const Call& call, Tries& tries, access::Reservation reservation, Admission& in);
    // After a detour: an answer says that the way before it was at fault, and not the provider.
    void resolve_doubt(Tries& tries, const Result<io::ClientResponse>& response);
    // Whether to send it again, now; what that takes is taken, and waited for.
    Task<bool> goes_again(const Call& call, Tries& tries, Admission& in);

    static bool is_uncovered(const Funds& funds);
    // Waits until the store vouches for a reservation; what it can't vouch for becomes a refusal.
    Task<void> cover(Funds& funds, Instant until);
    // The same for the count of the key's quota, in its present period. Why the call is not made
    // after all; nothing: it is.
    Task<std::optional<Skip>> cover_key(const Call& call, Admission& in);
    // Waits for the turn where it was put off, since the key or the money was long in coming,
    // starts it and enters. Why the call is not made after all; nothing: it is.
    Task<std::optional<Skip>> start_late(const Call& call, Admission& in);
    // Why the call may not start now; nothing: it may. Whatever it has waited for, what was learned
    // and decided meanwhile counts. A probe of the circuit has its leave.
    std::optional<Skip> why_not(const Call& call, const Admission& in) const;
    // The same before every send; where it may start, with the circuit's leave of this moment.
    std::optional<Skip> enter(const Call& call, Admission& in);
    Funds reserve(const Call& call, const Cost& cost, const KeyLease& lease);
    CallResult no_money(const Call& call, KeyLease lease, const access::BudgetRefusal& refusal);

    // The call is not made with that key.
    static CallResult not_made(const Call& call, KeyLease lease, Skip skip);

    Try judged(const Call& call, BuildVariant variant, const Result<io::ClientResponse>& response,
               const ProviderKey& key);
    // When a try began and what was reserved for it.
    struct Made {
        Instant at;
        Cost expected;
    };
    // Counts and pays for a try that ended, and completes what is shown of it.
    void close(const Call& call, Try& end, const Result<io::ClientResponse>& response,
               const Made& made, access::Reservation reservation, Admission& in);
    // What is left of `result.answer` for the caller, and what that makes of the attempt.
    static void take_answer(CallResult& result, const Call& call, BuildVariant variant);

    // Whether one more try is in time and may start.
    bool may_begin(const Call& call, const Admission& in) const;
    // Takes a turn for the same call, to be made at once.
    bool begin_again(const Call& call, Admission& in);
    // Takes a turn for the same call without the option that it was refused for.
    bool again_without_option(const Call& call, const Try& last, BuildVariant variant,
                              Admission& in);
    // Takes a turn for the same call through another endpoint than the one of `route`, through
    // which nothing was sent; nothing when there is none, or `route` is such a detour already.
    bool take_detour(const Call& call, const Try& last, Route& route, Admission& in);
    // When the same call is to be made once more; nothing when it is not.
    std::optional<Instant> retry_at(const Call& call, const Try& last,
                                    const Result<io::ClientResponse>& response, const Admission& in,
                                    std::size_t retries);
    // Waits for that instant and for a turn. False: the call is not to be made after all.
    Task<bool> wait_to_retry(const Call& call, Instant at, Admission& in);
    // Whether the instant was reached; false when the task was cancelled.
    Task<bool> wait_until(Instant at);

    // Reports what the last try says, about the key and the provider, and gives the key back.
    void learn(const Call& call, Try& last, Admission& in);
    void learn_about_key(const Call& call, Try& last, KeyLease lease);
    void note_windows(const Call& call, std::string_view key_id, const KeyRest& rest);
    void note_rest(std::string_view provider, std::string_view key_id, Outcome reason,
                   const KeyRest& rest);

    KeyPool& keys_;
    access::Budgets& budgets_;
    io::HttpClient& http_;
    io::EgressRouter& egress_;
    Clock& clock_;
    const obs::Log& log_;
    obs::Metrics& registry_;
    JsonReader reader_;
};

}  // namespace sluice::web
