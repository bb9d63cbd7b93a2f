#include "app/policy_decision.h"

#include "access/access.h"
#include "access/budget.h"
#include "access/spend_store.h"
#include "access/tokens.h"
#include "app/listeners.h"
#include "app/private_loop.h"
#include "base/clock.h"
#include "base/random.h"
#include "io/egress.h"
#include "io/http_client.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "surface/rest/search_request.h"
#include "web/key_runtime_memory.h"
#include "web/keys.h"
#include "web/search.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <variant>

namespace sluice::app {

namespace {

// A circuit that is open and a key that rests stay so for longer than any search waits.
constexpr Millis kForTheWholeTrial = std::chrono::hours(24);

class NoLines final : public obs::LogSink {
 public:
    void write(obs::Level /*level*/, std::string /*line*/) override {}
    void flush() override {}
};

// Nobody gets here: a search is begun only when everybody is passed over.
class NoNetwork final : public io::HttpClient {
 public:
    Task<Result<io::ClientResponse>> send(io::ClientRequest /*request*/) override {
        co_return Error{Code::kUnavailable, Blame::kGateway, "there is no network here", {}};
    }
};

// Holds what the policy says was spent, and takes nothing up.
class GivenSpending final : public access::SpendStore {
 public:
    explicit GivenSpending(std::vector<access::Balance> balances)
        : balances_(std::move(balances)) {}

    Task<Result<std::string>> name() override { co_return std::string("policy"); }
    Task<Result<std::vector<access::Balance>>> load(UtcDay /*today*/) override {
        co_return balances_;
    }
    Task<Status> write(std::vector<access::SpendRow> /*rows*/) override { co_return Status(); }
    Task<Result<access::Usage>> usage(access::UsageQuery /*query*/) override {
        co_return access::Usage();
    }
    Task<Result<std::size_t>> forget_before(UtcDay /*day*/) override { co_return std::size_t{0}; }

 private:
    const std::vector<access::Balance> balances_;
};

web::WebConfig for_trial(web::WebConfig config) {
    config.circuit.open_for = kForTheWholeTrial;
    config.circuit.max_open_for = kForTheWholeTrial;
    return config;
}

std::vector<std::string> all_provider_names() {
    const auto names = web::provider_names();
    return {names.begin(), names.end()};
}

std::vector<access::Balance> balances_of(const PolicyGiven& given, const std::string& token_id) {
    std::vector<access::Balance> balances = {
        {{access::Purse::kGateway, {}, {}}, given.gateway_spent},
        {{access::Purse::kToken, token_id, {}}, given.caller_spent}};
    for (const auto& [provider, spent] : given.spent) {
        balances.push_back({{access::Purse::kProvider, provider, {}}, spent});
    }
    return balances;
}

access::StoredToken token_of(const PolicyCaller& caller, const access::TokenText& text) {
    access::StoredToken token;
    token.record.id = text.id;
    token.record.scopes = caller.scopes;
    token.record.budget = caller.budget;
    token.digest = text.digest;
    return token;
}

// Everything that decides, for one policy. Members are in dependency order.
struct Trial {
    Trial(const Config& config_in, const PolicyGiven& given_in)
        : config(config_in),
          given(given_in),
          access(config.access, listens_on_loopback_only(config), listen_hosts(config), tokens,
                 clock, metrics),
          spending(balances_of(given, given.caller.is_anonymous ? std::string() : token.id)),
          budgets(loop.executor(), config.budgets, all_provider_names(), spending, clock, log,
                  metrics),
          keys(std::make_shared<web::MemoryKeyRuntime>(clock, config.web.keys.runtime)),
          egress(clock, log, metrics),
          search(loop.executor(), for_trial(config.web), access, budgets, keys, network, egress,
                 clock, log, metrics) {
        egress.configure(config.web.egress, config.web.egress_users());
        keys.set_default_accounts(config.web.default_accounts());
        tokens.reload({token_of(given.caller, token)});
        add_keys();
        open_circuits();
    }
    ~Trial() { loop.run(stop()); }
    Trial(const Trial&) = delete;
    Trial& operator=(const Trial&) = delete;

    Task<void> stop() {
        co_await search.stop();
        co_await budgets.stop();
    }

    void add_keys();
    void rest(const std::string& provider, web::KeyStatus status);
    void open_circuits();
    access::Credentials credentials() const;

    const Config& config;
    const PolicyGiven& given;
    PrivateLoop loop;
    SystemClock clock;
    SystemRandom random;
    NoLines sink;
    obs::Log log{clock, sink, obs::Level::kError};
    obs::Metrics metrics;
    NoNetwork network;
    const access::TokenText token = access::make_token_text(random);
    access::TokenTable tokens;
    access::Access access;
    GivenSpending spending;
    access::Budgets budgets;
    web::KeyPool keys;
    io::EgressRouter egress;
    web::Search search;
};

void Trial::add_keys() {
    web::KeySet set;
    for (const std::string& provider : given.keys.value_or(all_provider_names())) {
        web::StoredKey key;
        key.record.id = "of_" + provider;
        key.record.provider = provider;
        key.record.engine_id = "engine";
        key.secret = Secret("made-up-" + provider);
        if (std::ranges::find(given.disabled, provider) != given.disabled.end()) {
            key.record.state = web::KeyState::kDisabled;
        }
        set.keys.push_back(std::move(key));
    }
    keys.apply(set);
    for (const auto& [provider, status] : given.resting) {
        rest(provider, status);
    }
}

// As a refused call would.
void Trial::rest(const std::string& provider, web::KeyStatus status) {
    web::LeaseStart start = keys.lease(*web::find_provider_index(provider), {});
    auto& lease = std::get<web::LeaseResult>(start);  // what is in memory never waits
    if (auto* taken = std::get_if<web::KeyLease>(&lease)) {
        const web::KeyRest rest{status, kForTheWholeTrial, web::Reach::kKey};
        std::move(*taken).settle(web::Outcome::kRateLimited, rest);
    }
}

void Trial::open_circuits() {
    const Instant now = clock.now();
    for (const std::string& provider : given.open_circuits) {
        web::ProviderState& state = *search.providers().find(provider);
        while (auto pass = state.try_enter(now)) {
            state.failed(*pass, "failures that the policy gives", now);
        }
    }
}

access::Credentials Trial::credentials() const {
    access::Credentials credentials;
    if (!given.caller.is_anonymous) {
        credentials.token = token.token.reveal();
    }
    credentials.client = *io::Address::parse("127.0.0.1");
    credentials.host = "localhost";
    return credentials;
}

PolicyOutlook outlook_of(const web::ProviderOutlook& outlook, bool only_cached) {
    PolicyOutlook shown;
    shown.provider = outlook.name;
    shown.micro_usd = outlook.price.micro_usd;
    if (outlook.passed_over) {
        shown.skip = outlook.outcome ? to_string(*outlook.outcome) : kSwitchedOff;
        shown.detail = *outlook.passed_over;
    } else if (only_cached) {
        shown.skip = to_string(Code::kNotCached);
        shown.detail = "the request asks no provider";
    }
    return shown;
}

// How a search ends that asks nobody.
Error end_of(Trial& trial, web::SearchRequest request) {
    RequestContext context;
    context.started = trial.clock.now();
    web::SearchStart start = trial.search.answer(std::move(request), trial.credentials(), context);
    if (auto* work = std::get_if<Task<web::SearchReply>>(&start)) {
        start = trial.loop.run(std::move(*work));
    }
    const auto* failure = std::get_if<web::Failure>(&std::get<web::SearchReply>(start));
    SLUICE_ASSERT(failure != nullptr && "nobody was to be asked, and somebody answered");
    return failure->error;
}

PolicyDecision turned_away(Error error) {
    PolicyDecision decision;
    decision.refused = std::move(error);
    decision.is_turned_away = true;
    return decision;
}

}  // namespace

std::vector<std::string> PolicyDecision::asks() const {
    std::vector<std::string> names;
    for (const PolicyOutlook& outlook : route) {
        if (outlook.skip.empty()) {
            names.push_back(outlook.provider);
        }
    }
    return names;
}

std::int64_t PolicyDecision::micro_usd() const {
    std::int64_t sum = 0;
    for (const PolicyOutlook& outlook : route) {
        if (outlook.skip.empty()) {
            sum = access::add_saturating(sum, outlook.micro_usd);
        }
    }
    return sum;
}

PolicyDecision decide(const Config& config, const Policy& policy) {
    Result<web::SearchRequest> request = surface::parse_search_json(policy.request);
    if (!request.ok()) {
        return turned_away(std::move(request).error());
    }
    Trial trial(config, policy.given);
    const Status loaded = trial.loop.run(trial.budgets.load());
    SLUICE_ASSERT(loaded.ok());
    auto start = trial.search.explain(*request, trial.credentials());
    if (auto* refusal = std::get_if<Error>(&start)) {
        return turned_away(std::move(*refusal));
    }
    const web::Explanation explanation =
        trial.loop.run(std::get<Task<web::Explanation>>(std::move(start)));
    PolicyDecision decision;
    decision.lane = to_string(explanation.lane);
    decision.strategy = to_string(explanation.strategy);
    const bool only_cached = explanation.cache == web::CacheMode::kOnly;
    for (const web::ProviderOutlook& outlook : explanation.route) {
        decision.route.push_back(outlook_of(outlook, only_cached));
    }
    if (decision.asks().empty()) {
        decision.refused = end_of(trial, *std::move(request));
    }
    return decision;
}

}  // namespace sluice::app
