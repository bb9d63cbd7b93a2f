// One call to one provider: the only place of the web side that talks to a provider, for every
// strategy and door. Belongs to the control loop.
#pragma once

#include "base/clock.h"
#include "base/json.h"
#include "base/task.h"
#include "io/http_client.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "web/config.h"
#include "web/keys.h"
#include "web/provider.h"
#include "web/types.h"

#include <cstdint>
#include <map>
#include <string>
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
    ProviderAnswer answer;  // with kAnswer and kEmpty
};

class ProviderCall {
 public:
    // References outlive it.
    ProviderCall(KeyPool& keys, io::HttpClient& http, const Clock& clock, const obs::Log& log,
                 obs::Metrics& metrics);

    // Leases a key that is not in `tried_keys` (and adds the one it took), sends, judges, reports
    // what was learned about the key, and releases it, on every path. Ends by `deadline`. There is
    // always an attempt to show; without a usable key, or when the provider can't honour the
    // request, nothing is sent. What is passed by reference outlives the task.
    Task<CallResult> run(const Provider& provider, const WebConfig& config,
                         const SearchRequest& request, Instant deadline,
                         std::vector<std::string>& tried_keys);

    // How long until the first resting key of these providers may be used again; nothing when none
    // rests.
    std::optional<Millis> key_back_in(const std::vector<const Provider*>& providers) const;

 private:
    struct ProviderMetrics {
        obs::Histogram latency_ms;
        std::map<Outcome, obs::Counter> outcomes;
    };

    CallResult passed_over(const Provider& provider, Outcome outcome, std::string detail);
    void penalise(KeyLease& lease, const Provider& provider, const Verdict& verdict,
                  const KeysConfig& penalties);
    void fill_hits(ProviderAnswer& answer, const Provider& provider, const SearchRequest& request);
    void count(const Provider& provider, Outcome outcome);
    ProviderMetrics& metrics_of(const Provider& provider);

    KeyPool& keys_;
    io::HttpClient& http_;
    const Clock& clock_;
    const obs::Log& log_;
    obs::Metrics& registry_;
    std::map<const Provider*, ProviderMetrics> metrics_;
    JsonReader reader_;
};

}  // namespace sluice::web
