#include "io/egress.h"

#include "io/egress_metrics.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace sluice::io {

namespace {

constexpr int kProxyAuthenticationRequired = 407;

std::string_view fault_in_words(const Result<ClientResponse>& response) {
    return response.ok() ? "the proxy wants a user and a password (HTTP 407)"
                         : std::string_view(response.error().message);
}

}  // namespace

// One endpoint and what is known of it.
class EgressEndpoint {
 public:
    EgressEndpoint(std::string n, EgressEndpointConfig c, Instant now, obs::Metrics& metrics)
        : name(std::move(n)),
          config(std::move(c)),
          health(now),
          calls_total(metrics.counter(kEgressCalls, {name})),
          failed_calls(metrics.counter(kEgressFailures, {name, "call"})),
          failed_probes(metrics.counter(kEgressFailures, {name, "probe"})),
          up(metrics.gauge(kEgressUp, {name})) {
        up.set(1);
    }

    bool is_same(const EgressEndpointConfig& other) const {
        return config.url.equals(other.url.reveal()) && config.country == other.country;
    }

    const std::string name;
    const EgressEndpointConfig config;
    guard::Health health;
    std::string last_error;
    std::uint64_t calls = 0;
    std::uint64_t failures = 0;
    const obs::Counter calls_total;
    const obs::Counter failed_calls;
    const obs::Counter failed_probes;
    const obs::Gauge up;
};

std::string_view EgressRoute::name() const {
    return endpoint_ ? std::string_view(endpoint_->name) : kDirectEgress;
}

Secret EgressRoute::proxy() const {
    return endpoint_ ? endpoint_->config.url : Secret();
}

bool is_fault_of_proxy(const Result<ClientResponse>& response) {
    if (response.ok()) {
        return response->status == kProxyAuthenticationRequired;
    }
    return response.error().code == Code::kUnavailable && response.error().blame == Blame::kGateway;
}

bool may_go_another_way(const Result<ClientResponse>& response) {
    return is_fault_of_proxy(response) ||
           (!response.ok() && response.error().code == Code::kUnavailable);
}

EgressRouter::EgressRouter(const Clock& clock, const obs::Log& log, obs::Metrics& metrics)
    : clock_(clock), log_(log), metrics_(metrics) {}

EgressRouter::~EgressRouter() = default;

void EgressRouter::configure(EgressConfig config, std::vector<EgressUser> users) {
    config_ = std::move(config);
    std::vector<std::shared_ptr<EgressEndpoint>> endpoints;
    for (const auto& [name, endpoint] : config_.endpoints) {
        auto known = find(name);
        if (!known || !known->is_same(endpoint)) {
            known = std::make_shared<EgressEndpoint>(name, endpoint, clock_.now(), metrics_);
        } else if (!is_judged() && !known->health.is_up()) {
            known->health = guard::Health(clock_.now());
            known->up.set(1);
        }
        endpoints.push_back(std::move(known));
    }
    for (const auto& endpoint : endpoints_) {
        if (!config_.endpoints.contains(endpoint->name)) {
            endpoint->up.set(std::numeric_limits<double>::quiet_NaN());
        }
    }
    endpoints_ = std::move(endpoints);
    users_.clear();
    for (const EgressUser& each : users) {
        User user;
        user.policy = each.choice.policy.value_or(config_.policy);
        if (each.is_keyless && user.policy != EgressPolicy::kDirect) {
            user.policy = EgressPolicy::kStatic;
        }
        user.pinned = each.choice.endpoint.empty() ? nullptr : find(each.choice.endpoint);
        SLUICE_ASSERT(each.choice.endpoint.empty() || user.pinned != nullptr);
        user.hash = egress_hash(each.name);
        user.turn = users_.size();  // so that they don't all begin with the same one
        users_.push_back(std::move(user));
    }
    refresh_options();
}

EgressRoute EgressRouter::route(const EgressAsk& ask) {
    EgressRoute route = peek(ask);
    if (!route.is_direct()) {
        users_[ask.user].turn += 1;
    }
    return route;
}

EgressRoute EgressRouter::peek(const EgressAsk& ask) const {
    if (ask.user >= users_.size()) {
        return EgressRoute();  // nothing is configured
    }
    const User& user = users_[ask.user];
    if (user.pinned) {
        return EgressRoute(user.pinned);
    }
    if (user.policy == EgressPolicy::kDirect) {
        return EgressRoute();
    }
    const auto place = pick_egress(options_, demand_of(user, ask));
    return place ? EgressRoute(endpoints_[*place]) : EgressRoute();
}

std::optional<EgressRoute> EgressRouter::other(const EgressRoute& failed,
                                               const EgressAsk& ask) const {
    if (failed.is_direct() || ask.user >= users_.size() || users_[ask.user].pinned) {
        return std::nullopt;
    }
    EgressDemand demand = demand_of(users_[ask.user], ask);
    const auto found = std::ranges::find(endpoints_, failed.endpoint_);
    if (found != endpoints_.end()) {
        demand.except = static_cast<std::size_t>(found - endpoints_.begin());
    }
    const auto place = pick_egress(options_, demand);
    return place ? std::optional(EgressRoute(endpoints_[*place])) : std::nullopt;
}

// What an endpoint belongs to under the policy.
EgressDemand EgressRouter::demand_of(const User& user, const EgressAsk& ask) const {
    EgressDemand demand;
    demand.policy = user.policy;
    demand.country = ask.country;
    demand.turn = user.turn;
    demand.key = user.hash;
    if (user.policy == EgressPolicy::kSticky) {
        demand.key = egress_hash(ask.session.empty() ? ask.caller : ask.session);
    }
    return demand;
}

std::shared_ptr<EgressEndpoint> EgressRouter::find(std::string_view name) const {
    const auto found = std::ranges::find_if(
        endpoints_, [name](const auto& endpoint) { return endpoint->name == name; });
    return found == endpoints_.end() ? nullptr : *found;
}

void EgressRouter::report(const EgressRoute& route, const Result<ClientResponse>& response) {
    if (route.is_direct()) {
        return;
    }
    EgressEndpoint& endpoint = *route.endpoint_;
    endpoint.calls += 1;
    endpoint.calls_total.add();
    if (is_fault_of_proxy(response)) {
        failed_call(endpoint, fault_in_words(response));
    } else if (response.ok()) {
        judge(endpoint, guard::Look::kUse, true, "");
    }
}

void EgressRouter::report_outdone(const EgressRoute& route, std::string_view reason) {
    failed_call(*route.endpoint_, reason);
}

void EgressRouter::failed_call(EgressEndpoint& endpoint, std::string_view reason) {
    endpoint.failures += 1;
    endpoint.failed_calls.add();
    judge(endpoint, guard::Look::kUse, false, reason);
}

void EgressRouter::report_probe(const EgressRoute& route, const Status& end) {
    EgressEndpoint& endpoint = *route.endpoint_;
    if (!end.ok()) {
        endpoint.failed_probes.add();
    }
    judge(endpoint, guard::Look::kProbe, end.ok(),
          end.ok() ? "" : std::string_view(end.error().message));
}

void EgressRouter::judge(EgressEndpoint& endpoint, guard::Look look, bool good,
                         std::string_view reason) {
    if (!good) {
        endpoint.last_error = reason;
    }
    const bool is_in_force = find(endpoint.name).get() == &endpoint;
    if (is_judged() && is_in_force &&
        endpoint.health.report(look, good, config_.health, clock_.now())) {
        changed(endpoint, reason);
    }
}

void EgressRouter::changed(const EgressEndpoint& endpoint, std::string_view reason) {
    const bool is_up = endpoint.health.is_up();
    endpoint.up.set(is_up ? 1 : 0);
    if (is_up) {
        log_.info("egress_endpoint_up", {{"endpoint", endpoint.name}});
    } else {
        log_.warn("egress_endpoint_down", {{"endpoint", endpoint.name}, {"reason", reason}});
    }
    refresh_options();
}

void EgressRouter::refresh_options() {
    options_.clear();
    for (const auto& endpoint : endpoints_) {
        options_.push_back(
            {egress_hash(endpoint->name), endpoint->config.country, endpoint->health.is_up()});
    }
    const bool all_down = !options_.empty() && std::ranges::none_of(options_, &EgressOption::up);
    if (all_down && !all_down_) {
        log_.warn("egress_all_down", {{"endpoints", options_.size()}});
    }
    all_down_ = all_down;
}

EgressRouter::Probes EgressRouter::probes() const {
    Probes probes;
    probes.interval = config_.health_interval;
    if (config_.health_check_url.empty()) {
        return probes;
    }
    probes.url = config_.health_check_url;
    for (const auto& endpoint : endpoints_) {
        probes.endpoints.emplace_back(endpoint);
    }
    return probes;
}

EgressView EgressRouter::view() const {
    EgressView view;
    view.policy = config_.policy;
    const Instant now = clock_.now();
    const WallTime wall_now = clock_.wall_now();
    for (const auto& endpoint : endpoints_) {
        EgressView::Endpoint shown;
        shown.name = endpoint->name;
        shown.address = endpoint->config.address;
        shown.country = endpoint->config.country;
        shown.up = endpoint->health.is_up();
        shown.since = wall_now - (now - endpoint->health.since());
        shown.last_error = endpoint->last_error;
        shown.calls = endpoint->calls;
        shown.failures = endpoint->failures;
        view.endpoints.push_back(std::move(shown));
    }
    return view;
}

}  // namespace sluice::io
