#include "app/wire.h"

#include "access/access.h"
#include "access/budget.h"
#include "access/shared_budgets.h"
#include "access/shared_windows.h"
#include "access/token_watch.h"
#include "app/data_dir_lock.h"
#include "app/database_watch.h"
#include "app/first_token.h"
#include "app/key_file.h"
#include "app/late_start.h"
#include "app/listeners.h"
#include "app/lost_databases.h"
#include "app/stores.h"
#include "app/title_services.h"
#include "app/version.h"
#include "base/exception.h"
#include "io/egress.h"
#include "io/egress_monitor.h"
#include "io/exchange_writer.h"
#include "io/faulty_http_client.h"
#include "io/http_client.h"
#include "io/http_server.h"
#include "io/recording_http_client.h"
#include "io/redis.h"
#include "io/replay_http_client.h"
#include "io/tls.h"
#include "obs/log_metrics.h"
#include "obs/metrics.h"
#include "surface/all.h"
#include "titles/compute_threads.h"
#include "web/key_admin.h"
#include "web/key_runtime_memory.h"
#include "web/key_runtime_redis.h"
#include "web/key_trial.h"
#include "web/key_watch.h"
#include "web/keys.h"
#include "web/provider.h"
#include "web/search.h"
#include "web/shared_answers.h"

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>

#include <atomic>
#include <exception>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace sluice::app {

namespace asio = boost::asio;

namespace {

using Signal = std::shared_ptr<asio::cancellation_signal>;

Signal new_signal() {
    return std::make_shared<asio::cancellation_signal>();
}

// So many PINs are hashed or verified at once: each takes 64 MiB, and a core for about a tenth of a
// second.
constexpr std::size_t kPinThreads = 2;

}  // namespace

std::string admin_socket_path(const std::string& data_dir) {
    return data_dir + "/sluice.sock";
}

// Members are in dependency order: each may use what stands above it.
struct Gateway::Parts {
    Parts(Config c, const Environment& environment_in, Clock& clock_in, Random& random_in,
          obs::Log& log_in)
        : config(std::move(c)),
          environment(environment_in),
          clock(clock_in),
          random(random_in),
          log(log_in),
          http(control.get_executor(), config.upstream, clock, log, metrics),
          stores(config, environment, control.get_executor(), clock, random, log, metrics),
          egress(clock, log, metrics),
          egress_monitor(control.get_executor(), egress, http, clock, log),
          tasks(control.get_executor(), [this](const std::exception_ptr& error) {
              log.error("task_failed", {{"exception", exception_type(error)}});
          }) {
        egress.configure(config.web.egress, config.web.egress_users());
        metrics.sampled(obs::kLogLinesDropped, {},
                        [this] { return static_cast<double>(log.dropped()); });
    }

    Status open_stores();
    Status open_redis();
    void open_keys();
    Status choose_upstreams();
    Status open_recorder();
    Status open_replay();
    Status build_services();
    Task<Status> load();
    Task<Status> load_keys();
    Task<void> load_later();
    Task<void> complete_start();
    void follow_stores();
    void run_control();
    void stop_control();
    Task<void> stop_tasks();

    // Runs `task` on the control loop and waits for it, from the main thread.
    void on_control(Task<void> task) {
        asio::co_spawn(control, std::move(task), asio::use_future).get();
    }
    template <class T>
    T on_control(Task<T> task) {
        std::optional<T> result;
        on_control(store_result(std::move(task), result));
        return std::move(*result);
    }

    Config config;
    std::optional<DataDirLock> data_dir_lock;  // until the last figure is written
    const Environment& environment;
    Clock& clock;
    Random& random;
    obs::Log& log;
    obs::Metrics metrics;
    asio::io_context control{1};  // the control loop, and the server's first thread
    io::CurlHttpClient http;
    Stores stores;
    std::unique_ptr<io::ExchangeWriter> recorder;
    std::unique_ptr<io::RecordingHttpClient> recording_http;
    std::unique_ptr<io::ReplayHttpClient> replay_http;
    std::unique_ptr<io::FaultyHttpClient> faulty_http;
    io::HttpClient* upstreams = &http;  // what providers are reached through
    io::EgressRouter egress;
    io::EgressMonitor egress_monitor;
    TaskScope tasks;
    const Signal stop_loading = new_signal();
    const Signal stop_watch = new_signal();
    const Signal stop_key_watch = new_signal();
    const Signal stop_shared_keys = new_signal();
    const Signal stop_purges = new_signal();
    const Signal stop_shared_budgets = new_signal();
    const Signal stop_shared_windows = new_signal();
    const Signal stop_sweep = new_signal();
    const Signal stop_database_watch = new_signal();
    access::TokenTable tokens;
    std::unique_ptr<access::TokenWatch> token_watch;
    std::optional<DatabaseWatch> database_watch;
    std::unique_ptr<access::Access> access;
    titles::ComputeThreads pin_threads{"pins", kPinThreads,
                                       titles::ComputeThreads::Priority::kUsual};
    std::unique_ptr<io::RedisClient> redis;                 // null: nothing is shared
    std::unique_ptr<web::SharedAnswers> shared;             // null with it
    std::shared_ptr<web::RedisKeyRuntime> shared_keys;      // the same
    std::unique_ptr<access::SharedBudgets> shared_budgets;  // the same
    std::unique_ptr<access::SharedWindows> shared_windows;  // the same
    std::unique_ptr<access::Budgets> budgets;
    std::unique_ptr<web::KeyPool> keys;
    std::unique_ptr<web::KeyWatch> key_watch;
    std::unique_ptr<web::KeyUsageWriter> key_usage;
    bool has_loaded_spending = false;
    std::string waits_for;  // what keeps it from serving, in words; empty: nothing
    std::size_t key_count = 0;
    std::vector<web::IdleLane> idle_lanes;
    std::unique_ptr<web::Search> search;
    std::unique_ptr<web::KeyTrial> key_trial;
    std::unique_ptr<web::KeyAdmin> key_admin;
    std::unique_ptr<surface::SearchDoor> search_door;
    std::unique_ptr<surface::OpsDoor> ops_door;
    std::unique_ptr<surface::UsageDoor> usage_door;
    std::unique_ptr<surface::KeysDoor> keys_door;
    std::unique_ptr<surface::PageAdminDoor> page_admin_door;
    std::unique_ptr<TitleServices> title_services;  // null: titles.enabled is off
    std::unique_ptr<surface::Router> router;
    std::unique_ptr<io::HttpServer> server;
    LateStart late_start{clock, log};
    FirstToken first_token{is_reached_from_elsewhere(config)};
    std::atomic<bool> is_loading = false;  // the start goes on when the database is there
    // While it is there the control loop runs, with or without something to do.
    std::optional<asio::executor_work_guard<asio::io_context::executor_type>> control_work;
    std::thread control_thread;
};

Gateway::Gateway(Config config, const Environment& environment, Clock& clock, Random& random,
                 obs::Log& log)
    : parts_(std::make_unique<Parts>(std::move(config), environment, clock, random, log)) {}

Gateway::~Gateway() {
    drain();
}

Status Gateway::Parts::open_stores() {
    TRY_STATUS(use_data_dir(config.data_dir, StoreUse::kMake));
    Result<DataDirLock> lock = DataDirLock::take(config.data_dir);
    if (!lock.ok()) {
        Error error = lock.error();
        error.message += "; another data directory is chosen with --data-dir";
        return error;
    }
    data_dir_lock.emplace(*std::move(lock));
    if (config.replay.dir.empty() && !has_shared_keys(config)) {
        tell_of_new_databases(config.data_dir, log);
    }
    TRY_STATUS(use_data_dir(state_dir(config), StoreUse::kMake));
    TRY_STATUS(stores.open_tokens(StoreUse::kMake));
    TRY_STATUS(stores.open_spending(StoreUse::kMake));
    TRY_STATUS(stores.open_keys(StoreUse::kMake));
    token_watch =
        std::make_unique<access::TokenWatch>(stores.tokens(), tokens, clock, log, metrics);
    TRY_STATUS(stores.open_pages(StoreUse::kMake));
    if (const auto path = exposed_secrets_file(config)) {
        log.warn("secrets_key_open_to_others", {{"path", *path}, {"mend", "chmod 600"}});
    }
    if (is_writable_by_others(config.data_dir)) {
        log.warn("data_dir_writable_by_others", {{"path", config.data_dir}, {"mend", "chmod 700"}});
    }
    return {};
}

Status Gateway::Parts::open_redis() {
    // What a replay learns is not for the replicas that share it.
    if (!config.redis.enabled() || !config.replay.dir.empty()) {
        return {};
    }
    std::shared_ptr<const io::TlsContext> tls;
    if (config.redis.wants_tls()) {
        TRY(tls, io::TlsContext::load_client(config.upstream.ca_file));
    }
    redis = std::make_unique<io::RedisClient>(control.get_executor(), config.redis, std::move(tls),
                                              clock, random, log, metrics);
    shared = std::make_unique<web::SharedAnswers>(*redis, clock, random, log, metrics);
    shared_budgets = std::make_unique<access::SharedBudgets>(*redis, clock, random, log, metrics);
    return {};
}

void Gateway::Parts::open_keys() {
    const web::RuntimeConfig& runtime = config.web.keys.runtime;
    if (redis) {
        shared_keys =
            std::make_shared<web::RedisKeyRuntime>(*redis, clock, random, log, metrics, runtime);
        keys = std::make_unique<web::KeyPool>(shared_keys);
    } else {
        keys =
            std::make_unique<web::KeyPool>(std::make_shared<web::MemoryKeyRuntime>(clock, runtime));
    }
    keys->set_default_accounts(config.web.default_accounts());
    key_watch = std::make_unique<web::KeyWatch>(stores.keys(), *keys, clock, log, metrics);
    key_usage = std::make_unique<web::KeyUsageWriter>(control.get_executor(), keys->runtime(),
                                                      stores.keys(), clock, log, metrics);
    keys->keep_usage(key_usage.get());
    stores.on_change([this] { token_watch->changed(); }, [this] { key_watch->changed(); });
}

Status Gateway::Parts::choose_upstreams() {
    if (!config.replay.dir.empty()) {
        return open_replay();
    }
    return config.record.dir.empty() ? Status() : open_recorder();
}

Status Gateway::Parts::open_replay() {
    auto loaded = io::Recordings::load(config.replay.dir, web::provider_names());
    if (!loaded.ok()) {
        return unusable_setting("replay.dir", loaded.error());
    }
    replay_http = std::make_unique<io::ReplayHttpClient>(*std::move(loaded), config.replay.speed,
                                                         clock, metrics);
    upstreams = replay_http.get();
    if (!config.faults.rules.empty()) {
        faulty_http =
            std::make_unique<io::FaultyHttpClient>(*replay_http, config.faults, clock, metrics);
        upstreams = faulty_http.get();
    }
    return {};
}

Status Gateway::Parts::open_recorder() {
    auto opened = io::ExchangeWriter::open(config.record, clock, log, metrics);
    if (!opened.ok()) {
        return unusable_setting("record.dir", opened.error());
    }
    recorder = *std::move(opened);
    recording_http = std::make_unique<io::RecordingHttpClient>(http, *recorder, clock);
    upstreams = recording_http.get();
    return {};
}

Status Gateway::Parts::build_services() {
    access = std::make_unique<access::Access>(config.access, listens_on_loopback_only(config),
                                              listen_hosts(config), tokens, clock, metrics);
    if (redis) {
        shared_windows = std::make_unique<access::SharedWindows>(*redis, access->windows(), clock);
    }
    const std::vector<std::string_view> providers = web::provider_names();
    budgets = std::make_unique<access::Budgets>(
        control.get_executor(), config.budgets,
        std::vector<std::string>(providers.begin(), providers.end()), stores.spending(), clock, log,
        metrics, shared_budgets.get());
    search =
        std::make_unique<web::Search>(control.get_executor(), config.web, *access, *budgets, *keys,
                                      *upstreams, egress, clock, log, metrics, shared.get());
    key_trial = std::make_unique<web::KeyTrial>(*keys, *budgets, search->providers(), *upstreams,
                                                egress, clock, [this] { return search->config(); });
    key_admin = std::make_unique<web::KeyAdmin>(control.get_executor(), stores.keys(), *key_watch,
                                                *keys, *key_trial);
    search_door = std::make_unique<surface::SearchDoor>(*search, *access, clock);
    ops_door = std::make_unique<surface::OpsDoor>(
        *search, *access, stores.database(), metrics, clock, std::string(kVersion),
        config.titles.enabled ? surface::TitlesServed::kYes : surface::TitlesServed::kNo);
    keys_door = std::make_unique<surface::KeysDoor>(*key_admin, *access, clock);
    usage_door = std::make_unique<surface::UsageDoor>(*budgets, *access, clock);
    page_admin_door =
        std::make_unique<surface::PageAdminDoor>(stores.pages(), pin_threads, *access);
    std::optional<surface::TitleDoors> title_doors;
    surface::RefusalPage refusal_page;
    if (config.titles.enabled) {
        const TitleServices::Needs needs{control.get_executor(),
                                         *access,
                                         stores.pages(),
                                         pin_threads,
                                         clock,
                                         random,
                                         log,
                                         metrics};
        TRY(title_services, TitleServices::open(config, needs));
        title_doors.emplace(title_services->doors());
        refusal_page = [&door = title_doors->people](const io::HttpRequest& request,
                                                     const Error& error) {
            return door.refusal(request, error);
        };
    }
    router = std::make_unique<surface::Router>(
        surface::all_routes(*search_door, *ops_door, *keys_door, *usage_door, *page_admin_door,
                            title_doors),
        *access, std::move(refusal_page));
    server = std::make_unique<io::HttpServer>(config.server, *router, clock, random, log, metrics);
    server->share_loop(control);
    server->add_unix_socket(admin_socket_path(config.data_dir));
    return {};
}

// Everything that has to be known before a request is served. Tokens come last: with them the door
// opens. May be called again after an error.
Task<Status> Gateway::Parts::load() {
    CO_TRY_STATUS(co_await stores.start());
    CO_TRY_STATUS(co_await load_keys());
    if (!has_loaded_spending) {
        // Whoever had the books writes no more in them, so this comes after all that may end the
        // start.
        CO_TRY_STATUS(co_await budgets->load());
        has_loaded_spending = true;
    }
    co_return co_await token_watch->refresh();
}

// Keys of the environment are kept like all others, so that commands can change them; one that was
// removed stays away.
Task<Status> Gateway::Parts::load_keys() {
    CO_TRY(auto seeds, seeds_from(environment));
    if (replay_http) {
        add_made_up_keys(config, seeds);
    }
    CO_TRY(const std::size_t added, co_await stores.keys().seed(std::move(seeds)));
    if (added > 0) {
        log.info(replay_http ? "keys_taken_for_replay" : "keys_taken_from_environment",
                 {{"count", added}});
    }
    CO_TRY_STATUS(co_await key_watch->refresh());
    if (shared_keys) {
        co_await shared_keys->refresh();
    }
    co_return Status();
}

// For who started without the database.
Task<void> Gateway::Parts::load_later() {
    co_await clock.sleep_until(clock.now() + LateStart::kInterval);
    if (co_await late_start.take([this] { return load(); })) {
        follow_stores();
        tasks.spawn(complete_start());
    }
}

// Nothing cancels it: a token that the database has, and that nobody was shown, could not be made
// again.
Task<void> Gateway::Parts::complete_start() {
    if (co_await late_start.take(
            [this] { return first_token.make(stores.tokens(), *token_watch); })) {
        log.info("start_completed", {{"keys", keys->size()}});
        is_loading = false;
    }
}

void Gateway::Parts::follow_stores() {
    tasks.spawn(token_watch->run(), stop_watch);
    tasks.spawn(key_watch->run(), stop_key_watch);
    if (shared) {
        tasks.spawn(shared_keys->run(), stop_shared_keys);
        tasks.spawn(shared_budgets->run(), stop_shared_budgets);
    }
}

void Gateway::Parts::run_control() {
    control_work.emplace(control.get_executor());
    control_thread = std::thread([this] { control.run(); });
}

Task<void> Gateway::Parts::stop_tasks() {
    late_start.stop();
    stop_loading->emit(asio::cancellation_type::terminal);
    stores.leave_by(clock.now() + kLastWrites);
    if (search) {
        co_await search->stop();
    }
    if (title_services) {
        co_await title_services->stop();
    }
    if (redis) {
        co_await redis->stop();
    }
    if (budgets) {
        co_await budgets->stop();
    }
    co_await egress_monitor.stop();
    tasks.close();
    stop_watch->emit(asio::cancellation_type::terminal);
    stop_key_watch->emit(asio::cancellation_type::terminal);
    stop_shared_keys->emit(asio::cancellation_type::terminal);
    stop_purges->emit(asio::cancellation_type::terminal);
    stop_shared_budgets->emit(asio::cancellation_type::terminal);
    stop_shared_windows->emit(asio::cancellation_type::terminal);
    stop_sweep->emit(asio::cancellation_type::terminal);
    stop_database_watch->emit(asio::cancellation_type::terminal);
    co_await tasks.join();
    if (key_usage) {
        // Who can't write it now says so once more.
        const Status saved = co_await key_usage->stop();
        if (!saved.ok()) {
            log.warn("key_usage_lost", {{"reason", saved.error().message}});
        }
    }
    co_await stores.stop();
}

void Gateway::Parts::stop_control() {
    if (!control_thread.joinable()) {
        return;
    }
    on_control(stop_tasks());
    control_work.reset();
    control_thread.join();
}

Status Gateway::start() {
    Parts& parts = *parts_;
    TRY_STATUS(parts.open_stores());
    TRY_STATUS(parts.open_redis());
    parts.open_keys();
    TRY_STATUS(parts.choose_upstreams());
    TRY_STATUS(parts.build_services());
    // Before anything is taken over from another process, or a token is made that nobody would be
    // there to read. Who connects from now on waits for start().
    TRY_STATUS(parts.server->bind());
    parts.database_watch.emplace(database_files(parts.config), parts.clock, parts.log);
    parts.run_control();
    if (parts.redis) {
        // What is wrong is in the log; it is tried again for as long as the process runs.
        const Status ignored = parts.on_control(parts.redis->start());
    }
    const Status loaded = parts.on_control(parts.load());
    if (!loaded.ok()) {
        if (!parts.stores.may_come_back(loaded.error())) {
            return loaded;
        }
        parts.tokens.set_unknown();
        parts.waits_for = loaded.error().message;
        parts.is_loading = true;
    }
    parts.key_count = parts.keys->size();
    parts.idle_lanes = web::idle_lanes(parts.config.web, *parts.keys);
    if (loaded.ok()) {
        TRY_STATUS(
            parts.on_control(parts.first_token.make(parts.stores.tokens(), *parts.token_watch)));
    }
    asio::post(parts.control, [&parts] {
        if (parts.waits_for.empty()) {
            parts.follow_stores();
        } else {
            parts.tasks.spawn(parts.load_later(), parts.stop_loading);
        }
        if (!parts.replay_http) {  // which makes no connection at all
            parts.egress_monitor.start();
        }
        if (parts.shared) {
            parts.tasks.spawn(parts.search->follow_purges(), parts.stop_purges);
            parts.tasks.spawn(parts.shared_windows->run(), parts.stop_shared_windows);
        }
        parts.tasks.spawn(parts.search->sweep_caches(), parts.stop_sweep);
        parts.tasks.spawn(parts.database_watch->run(), parts.stop_database_watch);
    });
    return parts.server->start();
}

std::vector<std::string> Gateway::addresses() const {
    return parts_->server->addresses();
}

std::optional<Secret> Gateway::first_admin_token() {
    return parts_->first_token.take();
}

const std::string& Gateway::waits_for() const {
    return parts_->waits_for;
}

bool Gateway::is_starting() const {
    return parts_->is_loading;
}

std::size_t Gateway::key_count() const {
    return parts_->key_count;
}

const std::vector<web::IdleLane>& Gateway::idle_lanes() const {
    return parts_->idle_lanes;
}

bool Gateway::responds_within(Millis limit) {
    const auto reached = std::make_shared<std::promise<void>>();
    std::future<void> answer = reached->get_future();
    asio::post(parts_->control, [reached] { reached->set_value(); });
    return answer.wait_for(limit) == std::future_status::ready;
}

void Gateway::reload(Config config) {
    parts_->server->reconfigure(config.server);
    parts_->access->reconfigure(config.access);
    parts_->search->reconfigure(config.web);
    if (parts_->title_services) {
        parts_->title_services->reconfigure(config.titles);
    }
    asio::post(parts_->control,
               [parts = parts_.get(), keys = config.web.keys.runtime,
                accounts = config.web.default_accounts(), budgets = config.budgets,
                egress = config.web.egress, users = config.web.egress_users()]() mutable {
                   parts->keys->runtime().configure(keys);
                   parts->keys->set_default_accounts(std::move(accounts));
                   parts->budgets->reconfigure(std::move(budgets));
                   parts->egress.configure(std::move(egress), std::move(users));
                   parts->egress_monitor.reconfigured();
               });
    parts_->log.set_lowest(config.log_level);
}

void Gateway::start_leaving() {
    parts_->ops_door->start_draining();
    parts_->server->start_leaving();
}

void Gateway::drain() {
    if (parts_->ops_door) {
        parts_->ops_door->start_draining();
    }
    if (parts_->server) {
        parts_->server->drain();
    }
    parts_->stop_control();
    // Figures are written as they stand here, so whoever spends from them comes after the last one.
    parts_->data_dir_lock.reset();
}

}  // namespace sluice::app
