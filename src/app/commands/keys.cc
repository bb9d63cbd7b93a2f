// `sluice keys list|add|set|enable|disable|remove|test`: provider keys, over the admin socket of a
// running gateway, or over the store of the data directory where none runs.
#include "app/commands/commands.h"
#include "app/commands/common.h"
#include "app/commands/keys_api.h"
#include "base/json.h"
#include "base/text.h"
#include "web/provider.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace sluice::app {

namespace {

// Of standard input or of a file with a key.
constexpr std::size_t kMaxSecretInput = 4096;

struct AddOptions {
    std::string provider;
    std::string secret_file;
    std::string secret_env;
    std::string label;
    std::string account;
    std::string quota;
    std::string engine_id;
    std::int64_t weight = 0;         // 0: not given
    std::int64_t max_in_flight = 0;  // 0: not given
};

std::string quota_text(const JsonValue& key) {
    const auto limit = key.find("quota", "limit");
    if (!limit) {
        return "-";
    }
    return std::to_string(limit->as_integer().value_or(0)) + "/" +
           std::string(key.string_at("quota", "per"));
}

using Row = std::vector<std::string>;

Row row_of(const JsonValue& key, bool with_status) {
    const auto text = [&](std::string_view name) {
        const std::string_view value = key.string_at(name);
        return std::string(value.empty() ? "-" : value);
    };
    const auto number = [&](std::string_view name) {
        const auto value = key.find(name);
        return std::to_string(value ? value->as_integer().value_or(0) : 0);
    };
    std::string status = with_status ? text("status") : "-";
    if (with_status && !key.string_at("until").empty()) {
        status += " until " + text("until");
    }
    if (text("state") == "disabled") {
        status = "disabled";
    }
    return {text("id"),      text("provider"), text("last4"),   std::move(status), number("used"),
            quota_text(key), number("weight"), text("account"), text("label")};
}

int list(KeysApi& api, bool as_json) {
    const Result<ServerAnswer> answer = api.send("GET", "/v1/keys");
    if (!succeeded(answer)) {
        return explain(answer);
    }
    if (as_json) {
        print(answer->body);
        return 0;
    }
    JsonReader reader({.max_bytes = kMaxServerAnswerBytes, .max_depth = 8});
    const auto body = reader.parse(answer->body);
    const auto keys = body.ok() ? body->find("keys") : std::nullopt;
    if (!keys) {
        print_error("the gateway's answer is not a list of keys");
        return 1;
    }
    std::vector<Row> rows = {
        {"ID", "PROVIDER", "LAST4", "STATUS", "USED", "QUOTA", "WEIGHT", "ACCOUNT", "LABEL"}};
    for (const JsonValue& key : keys->elements()) {
        rows.push_back(row_of(key, api.gateway_runs()));
    }
    if (rows.size() == 1) {
        print("no keys; add one with `sluice keys add PROVIDER`\n");
        return 0;
    }
    print(table(rows));
    if (!api.gateway_runs()) {
        print_to_stderr("no gateway runs with this data directory, so nothing rests\n");
    }
    return 0;
}

// One line of a terminal; else all that comes, up to one byte more than a key may have.
std::string read_stdin() {
    std::string text;
    if (isatty(STDIN_FILENO) == 1) {
        std::getline(std::cin, text);
        return text;
    }
    text.resize(kMaxSecretInput + 1);
    std::cin.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(std::cin.gcount()));
    return text;
}

// From the file, the variable or standard input; never from the command line, which other users of
// the machine can read.
Result<Secret> read_secret(const AddOptions& options, const Environment& environment) {
    std::string text;
    if (!options.secret_file.empty()) {
        TRY(text, environment.read_file(options.secret_file, kMaxSecretInput));
    } else if (!options.secret_env.empty()) {
        text = environment.get(options.secret_env).value_or("");
    } else {
        if (isatty(STDIN_FILENO) == 1) {
            print_to_stderr("the key, then Enter: ");
        }
        text = read_stdin();
        if (text.size() > kMaxSecretInput) {
            return Error{Code::kInvalidRequest,
                         Blame::kCaller,
                         "the key is longer than " + std::to_string(kMaxSecretInput) + " bytes",
                         {}};
        }
    }
    const Secret whole(std::move(text));
    Secret secret(std::string(trim(whole.reveal())));
    if (secret.reveal().find('\n') != std::string_view::npos) {
        return Error{Code::kInvalidRequest,
                     Blame::kCaller,
                     "more than one line was given; one key is added at a time",
                     {}};
    }
    if (secret.empty()) {
        return Error{Code::kInvalidRequest,
                     Blame::kCaller,
                     "no key was given; it is read from standard input, or from what --secret-file "
                     "or --secret-env names",
                     {}};
    }
    return secret;
}

constexpr std::string_view kQuotaForm =
    "--quota: expected a number and a period such as 1000/day, 5000/month, 100/total or 60/1h";

// "1000/day".
bool write_quota(JsonWriter& json, const std::string& text) {
    const std::size_t slash = text.find('/');
    std::int64_t limit = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
    if (slash == std::string::npos || error != std::errc() || end != text.data() + slash) {
        return false;
    }
    json.key("quota").begin_object().field("limit", limit);
    json.field("per", text.substr(slash + 1)).end_object();
    return true;
}

int add(KeysApi& api, const AddOptions& options, const Environment& environment, bool as_json) {
    const Result<Secret> secret = read_secret(options, environment);
    if (!secret.ok()) {
        print_error(secret.error().message);
        return 2;
    }
    std::string body;
    JsonWriter json(body);
    json.begin_object().field("provider", options.provider).field("secret", secret->reveal());
    json.field("label", options.label).field("account", options.account);
    if (!options.engine_id.empty()) {
        json.field("engine_id", options.engine_id);
    }
    if (options.weight != 0) {
        json.field("weight", options.weight);
    }
    if (options.max_in_flight != 0) {
        json.field("max_in_flight", options.max_in_flight);
    }
    if (!options.quota.empty() && !write_quota(json, options.quota)) {
        print_error(std::string(kQuotaForm));
        return 2;
    }
    json.end_object();
    const Result<ServerAnswer> answer = api.send("POST", "/v1/keys", std::move(body));
    if (!succeeded(answer)) {
        return explain(answer);
    }
    if (as_json) {
        print(answer->body);
        return 0;
    }
    JsonReader reader;
    const auto record = reader.parse(answer->body);
    print("added " + std::string(record.ok() ? record->string_at("id") : "") + " for " +
          options.provider + "\n");
    return 0;
}

int set_state(KeysApi& api, const std::string& id, std::string_view state, bool as_json) {
    std::string body;
    JsonWriter(body).begin_object().field("state", state).end_object();
    const Result<ServerAnswer> answer = api.send("PATCH", key_target(id), std::move(body));
    if (!succeeded(answer)) {
        return explain(answer);
    }
    print(as_json ? answer->body : id + " is " + std::string(state) + "\n");
    return 0;
}

struct SetOptions {
    std::string id;
    std::optional<std::string> label = {};
    std::optional<std::string> account = {};
    std::optional<std::string> quota = {};  // "none": no quota
    std::optional<std::string> engine_id = {};
    std::optional<std::int64_t> weight = {};
    std::optional<std::int64_t> max_in_flight = {};  // 0: no bound of its own
};

// What was given, and nothing else. False: the quota can't be read.
bool write_changes(JsonWriter& json, const SetOptions& options) {
    json.begin_object();
    const std::pair<std::string_view, const std::optional<std::string>*> texts[] = {
        {"label", &options.label},
        {"account", &options.account},
        {"engine_id", &options.engine_id},
    };
    for (const auto& [name, text] : texts) {
        if (*text) {
            json.field(name, **text);
        }
    }
    if (options.weight) {
        json.field("weight", *options.weight);
    }
    if (options.max_in_flight == 0) {
        json.key("max_in_flight").null();
    } else if (options.max_in_flight) {
        json.field("max_in_flight", *options.max_in_flight);
    }
    if (options.quota == "none") {
        json.key("quota").null();
    } else if (options.quota && !write_quota(json, *options.quota)) {
        return false;
    }
    json.end_object();
    return true;
}

int set(KeysApi& api, const SetOptions& options, bool as_json) {
    std::string body;
    JsonWriter json(body);
    if (!write_changes(json, options)) {
        print_error(std::string(kQuotaForm));
        return 2;
    }
    const Result<ServerAnswer> answer = api.send("PATCH", key_target(options.id), std::move(body));
    if (!succeeded(answer)) {
        return explain(answer);
    }
    print(as_json ? answer->body : "changed " + options.id + "\n");
    return 0;
}

int remove(KeysApi& api, const std::string& id, bool as_json) {
    const Result<ServerAnswer> answer = api.send("DELETE", key_target(id));
    if (!succeeded(answer)) {
        return explain(answer);
    }
    std::string out = "removed " + id;
    if (as_json) {
        out.clear();
        JsonWriter(out).begin_object().field("removed", id).end_object();
    }
    print(out + "\n");
    return 0;
}

// 0 when the provider takes the key.
int test(KeysApi& api, const std::string& id, bool as_json) {
    const Result<ServerAnswer> answer = try_key(api, id);
    if (!succeeded(answer)) {
        return explain(answer);
    }
    JsonReader reader;
    const auto body = reader.parse(answer->body);
    const std::string result(body.ok() ? body->string_at("result") : std::string_view());
    if (as_json) {
        print(answer->body);
    } else {
        const std::string detail(body.ok() ? body->string_at("detail") : std::string_view());
        print(id + " is " + result + (detail.empty() ? "" : ": " + detail) + "\n");
    }
    return result == "valid" ? 0 : 1;
}

int with_api(const ConfigOptions& options, StoreUse use,
             const std::function<int(KeysApi&, const Environment&)>& work) {
    const SystemEnvironment environment;
    const auto loaded = load_or_explain(options, environment);
    if (!loaded) {
        return 2;
    }
    const NewDirectoryNote note(loaded->config);
    auto api = KeysApi::connect(loaded->config, environment, use);
    if (!api.ok()) {
        print_error(api.error().message);
        return 1;
    }
    return work(*api, environment);
}

std::vector<std::string> provider_names() {
    const std::vector<std::string_view> names = web::provider_names();
    return {names.begin(), names.end()};
}

void add_add_command(CLI::App& keys, std::function<int()>& chosen) {
    CLI::App* command = keys.add_subcommand("add", "add a key; it is in force at once");
    const auto config = add_config_options(*command);
    const auto options = std::make_shared<AddOptions>();
    suggest(*command->add_option("provider", options->provider, "whose key it is")->required(),
            provider_names());
    auto* file = command->add_option("--secret-file", options->secret_file, "a file that holds it")
                     ->type_name("FILE");
    command->add_option("--secret-env", options->secret_env, "a variable that holds it")
        ->excludes(file);
    command->add_option("--label", options->label, "what it is, for people");
    command->add_option("--account", options->account,
                        "keys of one account share its quota at the provider");
    command->add_option("--weight", options->weight, "its share in the rotation weighted")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{web::kMaxKeyWeight}));
    command->add_option("--max-in-flight", options->max_in_flight, "calls at once")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{web::kMaxKeyInFlight}));
    command->add_option("--quota", options->quota,
                        "calls in a period: 1000/day, 5000/month, 60/1h");
    command->add_option("--engine-id", options->engine_id, "of a Google search engine");
    const auto as_json = add_json_flag(*command);
    command->footer(
        "The key is read from standard input unless an option names where it is.\n"
        "Examples:\n  sluice keys add serper < key.txt\n"
        "  sluice keys add tavily --secret-env TAVILY_KEY --quota 1000/month");
    command->callback([&chosen, config, options, as_json] {
        chosen = [=] {
            return with_api(*config, StoreUse::kMake,
                            [&](KeysApi& api, const Environment& environment) {
                                return add(api, *options, environment, *as_json);
                            });
        };
    });
}

void add_set_command(CLI::App& keys, std::function<int()>& chosen) {
    CLI::App* command = keys.add_subcommand("set", "change what a key was added with");
    const auto config = add_config_options(*command);
    const auto options = std::make_shared<SetOptions>();
    command->add_option("id", options->id, "as `sluice keys list` shows it")->required();
    command->add_option("--label", options->label, "what it is, for people");
    command->add_option("--account", options->account,
                        "keys of one account share its quota at the provider");
    command->add_option("--weight", options->weight, "its share in the rotation weighted")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{web::kMaxKeyWeight}));
    command
        ->add_option("--max-in-flight", options->max_in_flight,
                     "calls at once; 0: what keys.max_in_flight says")
        ->check(CLI::Range(std::int64_t{0}, std::int64_t{web::kMaxKeyInFlight}));
    command->add_option("--quota", options->quota,
                        "calls in a period: 1000/day, 5000/month, 60/1h; none: no quota");
    command->add_option("--engine-id", options->engine_id, "of a Google search engine");
    const auto as_json = add_json_flag(*command);
    command->footer(
        "What is not given stays as it is; the key itself is never changed.\n"
        "Example: sluice keys set ID --weight 3 --quota 1000/month");
    command->callback([&chosen, config, options, as_json] {
        chosen = [=] {
            return with_api(*config, StoreUse::kChange, [&](KeysApi& api, const Environment&) {
                return set(api, *options, *as_json);
            });
        };
    });
}

using OnKey = std::function<int(KeysApi&, const std::string& id, bool as_json)>;

void add_key_command(CLI::App& keys, std::function<int()>& chosen, const std::string& name,
                     const std::string& help, const OnKey& work) {
    CLI::App* command = keys.add_subcommand(name, help);
    const auto config = add_config_options(*command);
    const auto id = std::make_shared<std::string>();
    command->add_option("id", *id, "as `sluice keys list` shows it")->required();
    const auto as_json = add_json_flag(*command);
    command->callback([&chosen, config, id, as_json, work] {
        chosen = [=] {
            return with_api(*config, StoreUse::kChange, [&](KeysApi& api, const Environment&) {
                return work(api, *id, *as_json);
            });
        };
    });
}

}  // namespace

void add_keys(CLI::App& app, std::function<int()>& chosen) {
    CLI::App* keys =
        app.add_subcommand("keys", "provider keys: list, add, set, enable, disable, remove, test");
    keys->require_subcommand(1);
    CLI::App* list_command = keys->add_subcommand("list", "every key and how it fares");
    const auto config = add_config_options(*list_command);
    const auto as_json = add_json_flag(*list_command);
    list_command->callback([&chosen, config, as_json] {
        chosen = [=] {
            return with_api(*config, StoreUse::kRead,
                            [&](KeysApi& api, const Environment&) { return list(api, *as_json); });
        };
    });
    add_add_command(*keys, chosen);
    add_set_command(*keys, chosen);
    add_key_command(*keys, chosen, "enable", "use a key again",
                    [](KeysApi& api, const std::string& id, bool json) {
                        return set_state(api, id, "active", json);
                    });
    add_key_command(*keys, chosen, "disable", "do not use a key until it is enabled",
                    [](KeysApi& api, const std::string& id, bool json) {
                        return set_state(api, id, "disabled", json);
                    });
    add_key_command(*keys, chosen, "remove",
                    "forget a key; it stays away although the environment may still name it",
                    remove);
    add_key_command(*keys, chosen, "test",
                    "try a key with one call, which the provider charges for; exit code 0: valid",
                    test);
}

}  // namespace sluice::app
