#include "app/offline_keys.h"

#include "access/access.h"
#include "access/budget.h"
#include "access/tokens.h"
#include "app/data_dir_lock.h"
#include "app/private_loop.h"
#include "app/stores.h"
#include "base/clock.h"
#include "base/random.h"
#include "io/egress.h"
#include "io/http_client.h"
#include "obs/log.h"
#include "obs/metrics.h"
#include "surface/common/errors.h"
#include "surface/common/router.h"
#include "surface/rest/keys.h"
#include "web/key_admin.h"
#include "web/key_runtime_memory.h"
#include "web/key_trial.h"
#include "web/key_watch.h"
#include "web/keys.h"
#include "web/provider.h"
#include "web/provider_state.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sluice::app {

namespace {

io::Method method_of(const std::string& name) {
    for (const io::Method method :
         {io::Method::kGet, io::Method::kPost, io::Method::kPatch, io::Method::kDelete}) {
        if (name == to_string(method)) {
            return method;
        }
    }
    return io::Method::kOther;
}

}  // namespace

// Members are in dependency order.
struct OfflineKeys::Parts {
    Parts(const Config& given, const Environment& environment)
        : config(given),
          sink(obs::make_stderr_sink()),
          log(clock, *sink, obs::Level::kError),
          stores(config, environment, loop.executor(), clock, random, log, metrics),
          web_config(std::make_shared<const web::WebConfig>(config.web)),
          http(loop.executor(), config.upstream, clock, log, metrics),
          egress(clock, log, metrics),
          pool(std::make_shared<web::MemoryKeyRuntime>(clock, config.web.keys.runtime)),
          providers(config.web.circuit, log, metrics),
          access(access::AccessConfig{}, true, {}, tokens, clock, metrics) {
        egress.configure(config.web.egress, config.web.egress_users());
    }

    void open_spending();
    Status load_spending();

    const Config config;
    std::optional<DataDirLock> data_dir_lock;  // while money is spent, until it is written
    SystemClock clock;
    SystemRandom random;
    std::unique_ptr<obs::LogSink> sink;
    obs::Log log;
    obs::Metrics metrics;
    PrivateLoop loop;
    Stores stores;
    std::shared_ptr<const web::WebConfig> web_config;
    io::CurlHttpClient http;
    io::EgressRouter egress;
    web::KeyPool pool;
    web::ProviderStates providers;
    access::TokenTable tokens;
    access::Access access;
    std::unique_ptr<access::Budgets> budgets;
    bool spending_is_loaded = false;
    std::unique_ptr<web::KeyWatch> watch;
    std::unique_ptr<web::KeyTrial> trial;
    std::unique_ptr<web::KeyAdmin> admin;
    std::unique_ptr<surface::KeysDoor> door;
    std::unique_ptr<surface::Router> router;
};

// A trial costs what any call costs: it is held against the budgets and written down.
void OfflineKeys::Parts::open_spending() {
    const std::vector<std::string_view> names = web::provider_names();
    budgets = std::make_unique<access::Budgets>(
        loop.executor(), config.budgets, std::vector<std::string>(names.begin(), names.end()),
        stores.spending(), clock, log, metrics);
}

// Only for a trial, and not beside a gateway that drains. `doctor` looks at keys beside a running
// gateway, which the figures belong to.
Status OfflineKeys::Parts::load_spending() {
    if (!spending_is_loaded) {
        TRY(auto lock, DataDirLock::take(config.data_dir));
        data_dir_lock.emplace(std::move(lock));
        TRY_STATUS(loop.run(budgets->load()));
        spending_is_loaded = true;
    }
    return {};
}

Result<std::unique_ptr<OfflineKeys>> OfflineKeys::open(const Config& config,
                                                       const Environment& environment,
                                                       StoreUse use) {
    TRY_STATUS(use_data_dir(config.data_dir, use));
    auto parts = std::make_unique<Parts>(config, environment);
    TRY_STATUS(parts->stores.open_keys(use));
    TRY_STATUS(parts->stores.open_spending(use));
    const Status started = parts->loop.run(parts->stores.start());
    if (!started.ok()) {
        parts->loop.run(parts->stores.stop());
        return started.error();
    }
    parts->watch = std::make_unique<web::KeyWatch>(parts->stores.keys(), parts->pool, parts->clock,
                                                   parts->log, parts->metrics);
    parts->open_spending();
    parts->trial = std::make_unique<web::KeyTrial>(
        parts->pool, *parts->budgets, parts->providers, parts->http, parts->egress, parts->clock,
        [settings = parts->web_config] { return settings; });
    parts->admin = std::make_unique<web::KeyAdmin>(parts->loop.executor(), parts->stores.keys(),
                                                   *parts->watch, parts->pool, *parts->trial);
    parts->door = std::make_unique<surface::KeysDoor>(*parts->admin, parts->access, parts->clock);
    parts->router =
        std::make_unique<surface::Router>(surface::key_routes(*parts->door), parts->access);
    auto keys = std::unique_ptr<OfflineKeys>(new OfflineKeys(std::move(parts)));
    TRY_STATUS(keys->parts_->loop.run(keys->parts_->watch->refresh()));
    return keys;
}

OfflineKeys::OfflineKeys(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
OfflineKeys::~OfflineKeys() {
    if (parts_->spending_is_loaded) {
        parts_->loop.run(parts_->budgets->stop());
    }
    parts_->loop.run(parts_->stores.stop());
}

ServerAnswer OfflineKeys::answer(const ServerCall& call) {
    io::HttpRequest request;
    request.method = method_of(call.method);
    request.method_text = call.method;
    request.target = request.path = call.target;
    request.body = call.body;
    request.over_unix_socket = true;
    if (surface::path_parameter(surface::kKeyTestPath, request.path)) {
        const Status loaded = parts_->load_spending();
        if (!loaded.ok()) {
            const io::HttpResponse refusal = surface::problem(loaded.error(), request.context.id);
            return {refusal.status, refusal.lead};
        }
    }
    io::HttpReply reply = parts_->router->handle(request);
    if (auto* task = std::get_if<Task<io::HttpResponse>>(&reply)) {
        reply = parts_->loop.run(std::move(*task));
    }
    const auto& response = std::get<io::HttpResponse>(reply);
    return {response.status, response.lead};
}

}  // namespace sluice::app
