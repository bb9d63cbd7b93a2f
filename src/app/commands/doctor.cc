// `sluice doctor`: looks at everything a gateway needs on this machine and says what to mend.
#include "access/sqlite_token_store.h"
#include "app/commands/commands.h"
#include "app/commands/common.h"
#include "app/descriptor_limit.h"
#include "app/egress_probe.h"
#include "app/key_file.h"
#include "app/listeners.h"
#include "app/offline_keys.h"
#include "app/private_loop.h"
#include "app/server_call.h"
#include "app/stores.h"
#include "app/wire.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/random.h"
#include "io/redis.h"
#include "io/redis_state.h"
#include "io/sqlite.h"
#include "io/tls.h"
#include "titles/budget.h"
#include "titles/sqlite_page_store.h"
#include "web/provider.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

namespace sluice::app {

namespace {

// With less room than this the stores will soon fail.
constexpr std::uintmax_t kLeastFreeBytes = 100 * 1024 * 1024;

constexpr Millis kAlivePatience{3'000};

enum class Finding : unsigned char { kGood, kHint, kBad };

struct Check {
    std::string name;
    Finding finding;
    std::string detail;
};

std::string_view word(Finding finding) {
    switch (finding) {
        case Finding::kGood:
            return "ok";
        case Finding::kHint:
            return "hint";
        case Finding::kBad:
            return "bad";
    }
    SLUICE_ASSERT(false && "a Finding outside its enumeration");
}

Check check_data_dir(const std::string& data_dir) {
    namespace fs = std::filesystem;
    const Status ready = use_data_dir(data_dir, StoreUse::kRead);
    if (!ready.ok()) {
        return {"data directory", Finding::kBad, ready.error().message};
    }
    std::error_code error;
    if (is_writable_by_others(data_dir)) {
        return {"data directory", Finding::kBad,
                data_dir + " can be written by others; chmod 700 " + data_dir};
    }
    const auto space = fs::space(data_dir, error);
    if (!error && space.available < kLeastFreeBytes) {
        return {"data directory", Finding::kBad,
                "less than 100 MiB are free below " + data_dir +
                    "; make room, or choose another one with --data-dir"};
    }
    return {"data directory", Finding::kGood, data_dir};
}

// What to look at, by the word for what is wrong (docs/replicas.md); empty where it says enough.
std::string database_fix(const io::PostgresClient::View& view) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kFixes = {{
        {"connect_failed",
         "check host and port of database.url, and that a PostgreSQL runs there that takes writes"},
        {"tls_failed", "check who signed its certificate, and for which name"},
        {"refused",
         "check user, password and database of database.url, and its pg_hba.conf and "
         "max_connections"},
        {"timed_out", "it did not answer within database.timeout_s; see whether it hangs"},
        {"closed", "it or the network ended the connection; its log says why"},
        {"result_too_large", "check that the database belongs to the gateways alone"},
    }};
    const auto found =
        std::ranges::find(kFixes, view.reason, [](const auto& fix) { return fix.first; });
    return found == kFixes.end() ? std::string() : "; " + std::string(found->second);
}

// Logs in, as a gateway would, and looks at the tables.
Check check_database(const Config& config, const Environment& environment) {
    SystemClock clock;
    SystemRandom random;
    const QuietLog log(clock);
    obs::Metrics metrics;
    PrivateLoop loop;
    Stores stores(config, environment, loop.executor(), clock, random, log, metrics);
    Status opened = stores.open_tokens(StoreUse::kRead);
    const Status started = opened.ok() ? loop.run(stores.start()) : std::move(opened);
    const io::PostgresClient::View view = stores.database()->view();
    const std::string fix = view.is_up ? std::string() : database_fix(view);
    loop.run(stores.stop());
    if (started.ok()) {
        return {"database", Finding::kGood, view.server + " answers"};
    }
    const Error& error = started.error();
    const bool is_new = error.code == Code::kNotFound;
    return {"database", is_new ? Finding::kHint : Finding::kBad, error.message + fix};
}

Check check_store(const std::string& name, const std::string& path, io::SqliteSchema schema) {
    auto connection = open_store(path, schema, StoreUse::kRead);
    if (!connection.ok()) {
        return {name, Finding::kBad, connection.error().message};
    }
    const Status whole = connection->check_integrity();
    return whole.ok() ? Check{name, Finding::kGood, path}
                      : Check{name, Finding::kBad, whole.error().message};
}

Status take_write_lock(const std::string& path) {
    TRY(auto connection, io::SqliteConnection::open(path, titles::budget_schema()));
    TRY(const auto transaction, connection.begin(io::SqliteTransaction::Mode::kImmediate));
    return {};  // it rolls back
}

// It is in no backup: a file that is lost costs nobody more than a few searches.
Check check_search_budget(const std::string& path) {
    constexpr const char* kName = "search budget";
    std::error_code error;
    if (!std::filesystem::exists(path, error)) {
        return {kName, Finding::kGood, "none yet; the gateway makes " + path};
    }
    const std::string fix =
        "; stop the gateway, move the file away and start it again: it is made anew, and searches "
        "are counted from the beginning";
    Check whole = check_store(kName, path, titles::budget_schema());
    if (whole.finding == Finding::kBad) {
        const bool is_ours = ::access(path.c_str(), R_OK | W_OK) == 0;
        whole.detail +=
            is_ours ? fix : "; give it to the user whom the gateway runs as, with mode 600";
        return whole;
    }
    // As each search does.
    const Status free = take_write_lock(path);
    return free.ok() ? whole
                     : Check{kName, Finding::kBad,
                             free.error().message + "; until then title searches answer 503"};
}

// The store opens with the secrets key that is there, and holds a key.
Check check_keys(const Config& config, const Environment& environment) {
    auto keys = OfflineKeys::open(config, environment, StoreUse::kRead);
    if (!keys.ok()) {
        return {"provider keys", Finding::kBad, keys.error().message};
    }
    if (const auto path = exposed_secrets_file(config)) {
        return {"provider keys", Finding::kBad,
                *path + " can be read or written by others; chmod 600 " + *path};
    }
    ServerCall call;
    call.target = "/v1/keys";
    JsonReader reader({.max_bytes = kMaxServerAnswerBytes, .max_depth = 8});
    const ServerAnswer answer = (*keys)->answer(call);
    const auto body = reader.parse(answer.body);
    const auto list = body.ok() ? body->find("keys") : std::nullopt;
    const std::size_t kept = list ? list->elements().size() : 0;
    const std::size_t named = keys_from_environment(environment).size();
    if (kept + named == 0) {
        return {"provider keys", Finding::kHint,
                "none; add one with `sluice keys add`, or set " + web::key_variables() +
                    " where the gateway starts"};
    }
    return {"provider keys", Finding::kGood,
            std::to_string(kept) + " kept, " + std::to_string(named) + " in this environment"};
}

Check check_strangers(const Config& config) {
    const std::string warning = warn_of_strangers(config);
    if (!warning.empty()) {
        return {"access", Finding::kHint, warning};
    }
    if (is_reached_from_elsewhere(config)) {
        return {"access", Finding::kGood, "others than programs of this machine need a token"};
    }
    return {"access", Finding::kGood,
            "this machine only; with a reverse proxy in front name it in "
            "server.trusted_proxy_cidrs, so that callers need a token"};
}

Check check_file_limit(std::size_t max_connections) {
    const std::size_t limit = descriptor_limit();
    const std::size_t room = connections_within(limit);
    if (room < max_connections) {
        return {"open files", Finding::kHint,
                "the limit is " + std::to_string(limit) + ", so that " + std::to_string(room) +
                    " connections are served at once in place of server.max_connections; raise it "
                    "to " +
                    std::to_string(max_connections + kOtherFiles) + " with ulimit -n"};
    }
    return {"open files", Finding::kGood, std::to_string(limit)};
}

// One check an endpoint, or one that says why there is none.
std::vector<Check> check_egress(const Config& config) {
    const io::EgressConfig& egress = config.web.egress;
    if (!egress.endpoints.empty() && egress.health_check_url.empty()) {
        return {{"egress", Finding::kHint,
                 "endpoints are not probed; set egress.health_check_url to a page that each of "
                 "them should reach"}};
    }
    std::vector<Check> checks;
    for (const ProbedEndpoint& endpoint : probe_endpoints(config)) {
        const std::string detail =
            endpoint.address +
            (endpoint.end.ok() ? " answered in " + std::to_string(endpoint.elapsed.count()) + " ms"
                               : ": " + endpoint.end.error().message +
                                     "; check that it runs and is let through, or take it out of "
                                     "egress.endpoints");
        checks.push_back({"egress " + endpoint.name,
                          endpoint.end.ok() ? Finding::kGood : Finding::kBad, detail});
    }
    return checks;
}

Check check_gateway(const std::string& data_dir) {
    ServerCall call;
    call.socket_path = admin_socket_path(data_dir);
    call.target = "/readyz";
    call.timeout = kAlivePatience;
    const Result<ServerAnswer> answer = call_server(call);
    if (!answer.ok() && answer.error().code != Code::kNotFound) {
        return {"gateway", Finding::kBad, answer.error().message};
    }
    if (!answer.ok()) {
        return {"gateway", Finding::kHint,
                "none is running with this data directory; `sluice serve` starts one"};
    }
    JsonReader reader;
    const auto body = reader.parse(answer->body);
    if (answer->status == 200) {
        const auto without = body.ok() ? body->find("without", "web") : std::nullopt;
        return without ? Check{"gateway", Finding::kHint,
                               "running and ready for titles, without web searches: " +
                                   std::string(without->as_string().value_or(""))}
                       : Check{"gateway", Finding::kGood, "running and ready"};
    }
    return {"gateway", Finding::kBad,
            "running, not ready: " + std::string(body.ok() ? body->string_at("detail") : "")};
}

// What INFO says of its memory; empty where it may not be asked.
Task<Result<std::string>> try_redis(io::RedisClient& redis) {
    const Status started = co_await redis.start();
    std::string memory;
    if (started.ok()) {
        std::vector<std::string> words{"INFO", "memory"};
        Result<io::RedisReply> info = co_await redis.command(std::move(words), Instant::max());
        if (info.ok()) {
            memory = std::move(info->text);
        }
    }
    co_await redis.stop();
    if (!started.ok()) {
        co_return started.error();
    }
    co_return memory;
}

// The policy by which a Redis that is full throws away what keeps quotas and budgets; nothing: it
// does not.
std::optional<std::string> harmful_policy(std::string_view memory) {
    const std::string policy = io::info_value(memory, "maxmemory_policy");
    const std::string most = io::info_value(memory, "maxmemory");
    if (policy.empty() || most.empty() || most == "0" || policy == "noeviction" ||
        policy == "volatile-ttl") {
        return std::nullopt;
    }
    return policy;
}

// What to look at, by the word for what is wrong (docs/replicas.md); empty where it says enough.
std::string redis_fix(std::string_view reason) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kFixes = {{
        {"connect_failed", "check host and port of redis.url, and that a Redis runs there"},
        {"tls_failed", "check who signed its certificate, and for which name"},
        {"login_refused",
         "check user and password of redis.url; sentinels that want a login get the same"},
        {"sentinel_refused",
         "a sentinel does not let the user of redis.url ask (+sentinel|get-master-addr-by-name), "
         "or it is no sentinel"},
        {"master_unknown", "check the name of the master in redis.url against `sentinel monitor`"},
        {"database_refused", "check the number after the last / of redis.url"},
        {"not_serving", "it loads its data, or is a replica that takes no writes"},
        {"timed_out", "it did not answer within redis.timeout_s; see whether it hangs"},
        {"closed", "it or the network ended the connection; its log says why"},
        {"garbled", "check that what listens there is a Redis, and rediss:// where it wants TLS"},
    }};
    const auto found = std::ranges::find(kFixes, reason, [](const auto& fix) { return fix.first; });
    return found == kFixes.end() ? std::string() : "; " + std::string(found->second);
}

// What the gateway that runs with the data directory says of its Redis, which may be set where it
// was started and not here. Nothing: no gateway answers, or it has none.
std::optional<Check> redis_of_gateway(const std::string& data_dir) {
    ServerCall call;
    call.socket_path = admin_socket_path(data_dir);
    call.target = "/v1/status";
    call.timeout = kAlivePatience;
    const Result<ServerAnswer> answer = call_server(call);
    if (!answer.ok() || answer->status != 200) {
        return std::nullopt;
    }
    JsonReader reader({.max_bytes = kMaxServerAnswerBytes, .max_depth = 8});
    const auto body = reader.parse(answer->body);
    const auto redis = body.ok() ? body->find("redis") : std::nullopt;
    const std::string state(redis ? redis->string_at("state") : "off");
    if (state == "off") {
        return std::nullopt;
    }
    const std::string server =
        "the running gateway shares through " + std::string(redis->string_at("server"));
    if (state == "up") {
        return Check{"redis", Finding::kGood, server};
    }
    const auto is_required = redis->find("required");
    const bool required = is_required && is_required->as_boolean().value_or(false);
    return Check{"redis", required ? Finding::kBad : Finding::kHint,
                 server + ", which it can't use: " + std::string(redis->string_at("reason")) +
                     redis_fix(redis->string_at("reason"))};
}

// Of a list, those that take writes: one of them is used, and replicas that lose sight of it for a
// moment write into another.
Task<std::vector<std::string>> masters_of(Executor executor, const io::RedisConfig& config,
                                          std::shared_ptr<const io::TlsContext> tls, Clock& clock,
                                          Random& random, const obs::Log& log,
                                          obs::Metrics& metrics) {
    std::vector<std::string> masters;
    for (const io::RedisEndpoint& endpoint : config.endpoints) {
        io::RedisConfig alone = config;
        alone.endpoints = {endpoint};
        io::RedisClient redis(executor, std::move(alone), tls, clock, random, log, metrics);
        const Status started = co_await redis.start();
        co_await redis.stop();
        if (started.ok()) {
            masters.push_back(endpoint.name());
        }
    }
    co_return masters;
}

// Logs in, as a gateway would.
Check check_redis(const Config& config) {
    if (!config.redis.enabled()) {
        return redis_of_gateway(config.data_dir)
            .value_or(Check{"redis", Finding::kGood,
                            "none by this configuration; replicas share nothing"});
    }
    std::shared_ptr<const io::TlsContext> tls;
    if (config.redis.wants_tls()) {
        auto loaded = io::TlsContext::load_client(config.upstream.ca_file);
        if (!loaded.ok()) {
            return {"redis", Finding::kBad, loaded.error().message};
        }
        tls = *std::move(loaded);
    }
    PrivateLoop loop;
    SystemClock clock;
    SystemRandom random;
    const QuietLog log(clock);
    obs::Metrics metrics;
    io::RedisClient redis(loop.executor(), config.redis, tls, clock, random, log, metrics);
    const Result<std::string> answered = loop.run(try_redis(redis));
    if (!answered.ok()) {
        return {"redis", config.redis.required ? Finding::kBad : Finding::kHint,
                answered.error().message + redis_fix(redis.view().reason)};
    }
    if (const auto policy = harmful_policy(*answered)) {
        return {"redis", Finding::kHint,
                redis.view().server + " answers, but when it is full its maxmemory-policy " +
                    *policy +
                    " may throw away what quotas and budgets go by; set it to volatile-ttl"};
    }
    const bool is_list =
        config.redis.endpoints.size() > 1 && !config.redis.endpoints.front().is_sentinel();
    if (is_list) {
        const std::vector<std::string> masters =
            loop.run(masters_of(loop.executor(), config.redis, tls, clock, random, log, metrics));
        if (masters.size() > 1) {
            return {"redis", Finding::kHint,
                    masters[0] + " and " + masters[1] +
                        " both take writes, and share nothing with each other; make all addresses "
                        "of redis.url but one its replicas"};
        }
    }
    return {"redis", Finding::kGood, redis.view().server + " answers"};
}

std::vector<Check> examine(const ConfigOptions& options, const Environment& environment) {
    const LoadedConfig loaded = load_config(options.sources(), environment);
    std::vector<Check> checks;
    for (const ConfigError& error : loaded.errors) {
        checks.push_back({"configuration", Finding::kBad,
                          error.where + ": " + error.key + ": " + error.message});
    }
    if (!checks.empty()) {
        return checks;
    }
    const Config& config = loaded.config;
    checks.push_back(
        {"configuration", Finding::kGood, loaded.file.empty() ? "defaults" : loaded.file});
    checks.push_back(check_strangers(config));
    // Also before the first start, which needs both.
    bool has_tokens = true;
    if (has_shared_tokens(config)) {
        checks.push_back(check_database(config, environment));
        has_tokens = checks.back().finding == Finding::kGood;
    }
    checks.push_back(check_data_dir(config.data_dir));
    if (checks.back().finding != Finding::kBad) {
        if (!has_shared_tokens(config)) {
            checks.push_back(
                check_store("token store", tokens_path(config.data_dir), access::token_schema()));
        }
        // Of a database that can't be used that was said.
        if (!has_shared_keys(config) || has_tokens) {
            checks.push_back(check_keys(config, environment));
        }
        if (!has_shared_pages(config)) {
            checks.push_back(
                check_store("page store", pages_path(config.data_dir), titles::page_schema()));
        }
        checks.push_back(check_search_budget(search_budget_path(config)));
        checks.push_back(check_gateway(config.data_dir));
    }
    checks.push_back(check_redis(config));
    for (Check& check : check_egress(config)) {
        checks.push_back(std::move(check));
    }
    checks.push_back(check_file_limit(config.server.max_connections));
    return checks;
}

std::string render_json(const std::vector<Check>& checks, bool good) {
    std::string out;
    JsonWriter json(out);
    json.begin_object().key("checks").begin_array();
    for (const Check& check : checks) {
        json.begin_object().field("name", check.name).field("finding", word(check.finding));
        json.field("detail", check.detail).end_object();
    }
    json.end_array().field("ok", good).end_object();
    return out + "\n";
}

std::string render_text(const std::vector<Check>& checks) {
    std::string out;
    for (const Check& check : checks) {
        std::string label(word(check.finding));
        label.resize(6, ' ');
        std::string name = check.name;
        name.resize(std::max<std::size_t>(name.size(), 16), ' ');
        out += label + name + "  " + check.detail + "\n";
    }
    return out;
}

int doctor(const ConfigOptions& options, bool as_json) {
    const std::vector<Check> checks = examine(options, SystemEnvironment());
    const bool good = std::none_of(checks.begin(), checks.end(), [](const Check& check) {
        return check.finding == Finding::kBad;
    });
    print(as_json ? render_json(checks, good) : render_text(checks));
    return good ? 0 : 1;
}

// For whoever watches a container: asks the gateway that uses the data directory, and nothing else.
int alive(const ConfigOptions& options, bool as_json) {
    ServerCall call;
    call.socket_path = admin_socket_path(data_dir_of(options, SystemEnvironment()));
    call.target = "/healthz";
    call.timeout = kAlivePatience;
    const Result<ServerAnswer> answer = call_server(call);
    if (!answer.ok()) {
        print_error(answer.error().message);
        return 1;
    }
    const bool is_alive = answer->status == 200;
    if (as_json) {
        print(is_alive ? "{\"alive\":true}\n" : "{\"alive\":false}\n");
    } else {
        print(is_alive ? "alive\n" : "not alive\n");
    }
    return is_alive ? 0 : 1;
}

}  // namespace

void add_doctor(CLI::App& app, std::function<int()>& chosen) {
    CLI::App* command = app.add_subcommand("doctor", "check this machine and say what to mend");
    const auto options = add_config_options(*command);
    const auto only_alive = std::make_shared<bool>(false);
    command->add_flag("--alive", *only_alive,
                      "only ask the running gateway whether it answers; exit code 0: it does");
    const auto as_json = add_json_flag(*command);
    command->callback([&chosen, options, only_alive, as_json] {
        chosen = [options, only_alive, as_json] {
            return *only_alive ? alive(*options, *as_json) : doctor(*options, *as_json);
        };
    });
}

}  // namespace sluice::app
