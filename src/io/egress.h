// Which of the operator's endpoints each outgoing call takes, and how these fare. The choice itself
// is io/egress_pick.h; what probes endpoints is io/egress_monitor.h. What this is for, and what it
// is not, is told in docs/egress.md.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "base/secret.h"
#include "guard/health.h"
#include "io/egress_config.h"
#include "io/egress_pick.h"
#include "io/http_client.h"
#include "obs/log.h"
#include "obs/metrics.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::io {

// How traces call a call without a proxy.
inline constexpr std::string_view kDirectEgress = "direct";

// Who makes calls: a provider.
struct EgressUser {
    std::string name;
    EgressChoice choice = {};
    // Its limits are those of an address: its calls never spread over several. Under every policy
    // but direct they take one endpoint, as under static.
    bool is_keyless = false;
};

// What a call is, as far as the choice asks. The views are read at once.
struct EgressAsk {
    std::size_t user = 0;           // the place in EgressRouter::configure()'s list
    std::string_view country = {};  // ISO 3166-1 alpha-2, lower case; empty: no wish
    std::string_view session = {};  // empty: none
    std::string_view caller = {};   // who asks, in place of a session; empty: not known
};

class EgressEndpoint;

// What a call goes out through. Holds on to its endpoint, whatever is configured meanwhile.
class EgressRoute {
 public:
    EgressRoute() = default;  // direct
    explicit EgressRoute(std::shared_ptr<EgressEndpoint> endpoint)
        : endpoint_(std::move(endpoint)) {}

    bool is_direct() const { return endpoint_ == nullptr; }
    // The endpoint's, or "direct".
    std::string_view name() const;
    // For ClientRequest::proxy.
    Secret proxy() const;

 private:
    friend class EgressRouter;
    std::shared_ptr<EgressEndpoint> endpoint_;
};

// How the egress looks at one moment.
struct EgressView {
    struct Endpoint {
        std::string name;
        std::string address;  // scheme://host:port
        std::string country;  // empty: none
        bool up = true;
        WallTime since{};        // that it is up, or down
        std::string last_error;  // of calls and probes, whenever that was; empty: none
        std::uint64_t calls = 0;
        std::uint64_t failures = 0;  // calls that failed because of it
    };
    EgressPolicy policy = EgressPolicy::kDirect;
    std::vector<Endpoint> endpoints;  // in order of name
};

// Belongs to the control loop.
class EgressRouter {
 public:
    // References outlive it. Every call is direct until configure() says otherwise.
    EgressRouter(const Clock& clock, const obs::Log& log, obs::Metrics& metrics);
    ~EgressRouter();

    // From here on. An endpoint that stays as it was keeps its state. `config` and the choices of
    // `users` fit each other, as parse_egress_choice() sees to: asserted.
    void configure(EgressConfig config, std::vector<EgressUser> users);

    // What the next call goes out through. With the policy direct this is one comparison.
    EgressRoute route(const EgressAsk& ask);
    // The same, without taking a turn.
    EgressRoute peek(const EgressAsk& ask) const;
    // For a call that got nowhere through `failed`: another endpoint that the policy leaves it,
    // without taking a turn. Nothing where there is none: one endpoint was configured by name, or
    // there is no other, or none in that country.
    std::optional<EgressRoute> other(const EgressRoute& failed, const EgressAsk& ask) const;

    // How the call through `route` ended. To be told of every one.
    void report(const EgressRoute& route, const Result<ClientResponse>& response);
    // The call through `route`, which was reported, ended for `reason` before anything was sent,
    // and through another endpoint the same call was answered: so it was this one's failure.
    void report_outdone(const EgressRoute& route, std::string_view reason);
    // How a probe of an endpoint ended.
    void report_probe(const EgressRoute& route, const Status& end);

    // What is to be probed, how and how often; no endpoint when nothing is.
    struct Probes {
        std::string url;
        Millis interval{};
        std::vector<EgressRoute> endpoints;
    };
    Probes probes() const;

    EgressView view() const;

 private:
    struct User {
        EgressPolicy policy = EgressPolicy::kDirect;
        std::shared_ptr<EgressEndpoint> pinned;  // whatever the policy; null: none
        std::uint64_t hash = 0;                  // of its name
        std::size_t turn = 0;
    };

    EgressDemand demand_of(const User& user, const EgressAsk& ask) const;
    std::shared_ptr<EgressEndpoint> find(std::string_view name) const;
    // Whether endpoints go out of use at all: what nothing probes would never be seen to be back.
    bool is_judged() const { return !config_.health_check_url.empty(); }
    void failed_call(EgressEndpoint& endpoint, std::string_view reason);
    void judge(EgressEndpoint& endpoint, guard::Look look, bool good, std::string_view reason);
    void changed(const EgressEndpoint& endpoint, std::string_view reason);
    void refresh_options();

    const Clock& clock_;
    const obs::Log& log_;
    obs::Metrics& metrics_;
    EgressConfig config_;
    std::vector<User> users_;
    std::vector<std::shared_ptr<EgressEndpoint>> endpoints_;  // in order of name
    std::vector<EgressOption> options_;                       // of the same
    bool all_down_ = false;
};

// Whether a call ended so because of the proxy that it went through, and never got to the upstream.
bool is_fault_of_proxy(const Result<ClientResponse>& response);

// Whether nothing of a call was sent to the upstream, so that it may be made through another proxy.
// Whose fault that is one call alone can't always tell: a proxy that can't reach the upstream ends
// as it does before an upstream that nobody can reach.
bool may_go_another_way(const Result<ClientResponse>& response);

}  // namespace sluice::io
