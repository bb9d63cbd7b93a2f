// One call with one key, to see what its provider makes of it: for an operator, whatever the state
// of the key, and without consequences for it.
#pragma once

#include "access/budget.h"
#include "access/spending.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "base/task.h"
#include "guard/token_bucket.h"
#include "io/egress.h"
#include "io/http_client.h"
#include "web/blame.h"
#include "web/config.h"
#include "web/keys.h"
#include "web/provider_rate.h"
#include "web/provider_state.h"
#include "web/types.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace sluice::web {

// What a provider made of a key.
struct KeyTest {
    enum class Verdict : std::uint8_t {
        kValid,    // it answered
        kInvalid,  // it refused the key
        kQuota,    // the key is good and its quota is used up
        kUnknown,  // the answer says nothing about the key
    };
    Verdict verdict = Verdict::kUnknown;
    Outcome outcome = Outcome::kSuccess;
    int status = 0;  // HTTP; 0: there was no answer
    Millis latency{};
    std::string detail = {};  // the provider's own words, without secret and query
};
std::string_view to_string(KeyTest::Verdict verdict);

// Belongs to the control loop.
class KeyTrial {
 public:
    // Trials in a row, and how long until as many are free again.
    static constexpr std::int64_t kBurst = 10;
    static constexpr Millis kInterval{60'000};
    // How long a trial may take, the wait for a turn included.
    static constexpr Millis kTimeout{15'000};
    // Of that, what waiting for a turn may not use up.
    static constexpr Millis kLeftForTrial{5'000};

    // References outlive it. `config` gives the settings in force.
    KeyTrial(KeyPool& pool, access::Budgets& budgets, const ProviderStates& providers,
             io::HttpClient& http, io::EgressRouter& egress, Clock& clock,
             std::function<std::shared_ptr<const WebConfig>()> config);

    // What a trial of a key of that provider costs by the price list. Any thread.
    static Cost price_of(const Provider& provider, const ProviderSettings& settings);

    // The call takes a turn under the provider's rate and is paid for like any other, by `payer`;
    // neither the key nor the provider's circuit learns how it ended, and the key's own quota does
    // not count it. Errors, of which nothing was sent: kNotFound; kConflict when the key lacks an
    // engine; kRateLimited with retry_after, for trials; kOverloaded with retry_after, when the
    // provider's rate leaves no turn in time; kBudgetExhausted, and kUnavailable when spending
    // can't be written down.
    Task<Result<KeyTest>> run(std::string key_id, access::Payer payer);

 private:
    // What is asked of whom.
    struct Plan {
        ProviderState& state;
        std::shared_ptr<const WebConfig> config;
        const ProviderSettings& settings;
        ProviderKey key;
        SearchRequest request;
        Cost expected;
        Instant deadline;
    };

    Error no_turn(const Plan& plan) const;
    Status take_trial(Instant now);
    Result<Plan> plan(const std::string& key_id, access::Payer payer);
    Task<Result<access::Reservation>> pay(const Plan& plan);
    Task<KeyTest> send(const Plan& plan, RateTurn turn, access::Reservation reservation);

    KeyPool& pool_;
    access::Budgets& budgets_;
    const ProviderStates& providers_;
    io::HttpClient& http_;
    io::EgressRouter& egress_;
    Clock& clock_;
    std::function<std::shared_ptr<const WebConfig>()> config_;
    guard::TokenBucket trials_;
    JsonReader reader_;
};

}  // namespace sluice::web
