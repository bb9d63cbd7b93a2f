// `sluice cache purge`: a running gateway forgets every cached answer.
#include "app/commands/commands.h"
#include "app/commands/common.h"
#include "app/server_call.h"
#include "app/wire.h"
#include "base/json.h"

#include <CLI/CLI.hpp>

#include <memory>

namespace sluice::app {

namespace {

// "1 answer", "2 answers".
std::string counted(const JsonValue& count, std::string_view one, std::string_view many) {
    const std::int64_t n = count.as_integer().value_or(0);
    return std::to_string(n) + " " + std::string(n == 1 ? one : many);
}

int purge(const ConfigOptions& options, bool as_json) {
    const SystemEnvironment environment;
    ServerCall call;
    call.socket_path = admin_socket_path(data_dir_of(options, environment));
    call.method = "POST";
    call.target = "/admin/cache/purge";
    const Result<ServerAnswer> answer = call_server(call);
    if (!answer.ok()) {
        print_error(answer.error().message +
                    "\n(the cache lives in the memory of a running gateway; "
                    "name its data directory with --data-dir)");
        return 1;
    }
    JsonReader reader;
    const auto body = reader.parse(answer->body);
    const auto shared = body.ok() ? body->find("shared") : std::nullopt;
    const bool is_kept_in_redis = shared && shared->as_boolean() == false;
    if (as_json) {
        print(answer->body);
        return answer->status == 200 && !is_kept_in_redis ? 0 : 1;
    }
    const auto answers = body.ok() ? body->find("purged") : std::nullopt;
    const auto results = body.ok() ? body->find("purged_results") : std::nullopt;
    if (answer->status != 200 || !answers || !results) {
        print_error("the gateway answered " + std::to_string(answer->status));
        return 1;
    }
    print("forgot " + counted(*answers, "answer", "answers") + " and " +
          counted(*results, "result of a provider", "results of providers") + "\n");
    if (is_kept_in_redis) {
        print_error("redis could not be told: what it keeps is served again when it is back");
        return 1;
    }
    return 0;
}

}  // namespace

void add_cache(CLI::App& app, std::function<int()>& chosen) {
    CLI::App* cache = app.add_subcommand("cache", "the answer cache of a running gateway");
    cache->require_subcommand(1);
    CLI::App* command = cache->add_subcommand(
        "purge", "forget every cached answer and every kept result of a provider");
    const auto options = add_config_options(*command);
    const auto as_json = add_json_flag(*command);
    command->callback([&chosen, options, as_json] {
        chosen = [options, as_json] { return purge(*options, *as_json); };
    });
}

}  // namespace sluice::app
