// `sluice tokens add|list|revoke`: API tokens in the store of the configuration. A running gateway
// notices a change within a second, so the commands work the same beside one and without one.
#include "access/token_store.h"
#include "app/commands/commands.h"
#include "app/commands/common.h"
#include "app/private_loop.h"
#include "app/stores.h"
#include "base/clock.h"
#include "base/config_values.h"
#include "base/json.h"
#include "base/random.h"
#include "base/rfc3339.h"
#include "obs/metrics.h"

#include <CLI/CLI.hpp>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace sluice::app {

namespace {

constexpr Millis kShortestExpiry = std::chrono::seconds(1);
constexpr Millis kLongestExpiry = std::chrono::days(36'500);

struct AddOptions {
    std::string label;
    std::string scopes = "search";
    std::string expires_in;
    std::optional<std::int64_t> requests_per_minute = {};
    std::array<std::optional<std::int64_t>, access::kPeriods> budget_calls = {};
    std::array<std::optional<double>, access::kPeriods> budget_usd = {};
};

// The store of the configuration, for one command.
class OpenStore {
 public:
    static Result<std::unique_ptr<OpenStore>> open(const Config& config,
                                                   const Environment& environment, StoreUse use) {
        if (!has_shared_tokens(config)) {
            TRY_STATUS(use_data_dir(config.data_dir, use));
        }
        auto store = std::unique_ptr<OpenStore>(new OpenStore(config, environment));
        TRY_STATUS(store->stores_.open_tokens(use));
        TRY_STATUS(store->loop_.run(store->stores_.start()));
        return store;
    }
    ~OpenStore() { loop_.run(stores_.stop()); }
    OpenStore(const OpenStore&) = delete;
    OpenStore& operator=(const OpenStore&) = delete;

    template <class T>
    Result<T> run(Task<Result<T>> task) {
        return loop_.run(std::move(task));
    }

    access::TokenStore& tokens() { return stores_.tokens(); }

 private:
    OpenStore(const Config& config, const Environment& environment)
        : stores_(config, environment, loop_.executor(), clock_, random_, log_, metrics_) {}

    SystemClock clock_;
    SystemRandom random_;
    QuietLog log_{clock_};
    obs::Metrics metrics_;
    PrivateLoop loop_;
    Stores stores_;
};

void write_record(JsonWriter& json, const access::TokenRecord& record) {
    json.field("id", record.id).field("label", record.label);
    json.field("scopes", record.scopes.to_string()).field("last4", record.last4);
    json.field("created_at", rfc3339(record.created_at));
    if (record.expires_at) {
        json.field("expires_at", rfc3339(*record.expires_at));
    }
    if (record.revoked_at) {
        json.field("revoked_at", rfc3339(*record.revoked_at));
    }
    if (record.requests_per_minute) {
        json.field("requests_per_minute", *record.requests_per_minute);
    }
    for (const access::Period period : access::kEachPeriod) {
        const std::string name(to_string(period));
        if (const auto usd = record.budget.micro_usd[index_of(period)]) {
            json.field("budget_usd_" + name,
                       static_cast<double>(*usd) / static_cast<double>(access::kMicroUsd));
        }
        if (const auto calls = record.budget.calls[index_of(period)]) {
            json.field("budget_calls_" + name, *calls);
        }
    }
}

// Up to kLongestExpiry, with which no date passes what a clock here can say.
std::optional<Millis> parse_expiry(const std::string& text) {
    const std::optional<Millis> period = parse_duration(text);
    return period && *period >= kShortestExpiry && *period <= kLongestExpiry ? period
                                                                             : std::nullopt;
}

// A token that nobody has seen must not stay valid.
int take_back(OpenStore& store, const std::string& id) {
    const auto revoked = store.run(store.tokens().revoke(id));
    print_error("the token could not be written to the output" +
                (revoked.ok() ? ", so it was revoked"
                              : "; revoke it with `sluice tokens revoke " + id + "`"));
    return 1;
}

int add(OpenStore& store, const AddOptions& options, bool as_json) {
    access::NewToken token;
    token.label = options.label;
    const auto scopes = access::Scopes::parse(options.scopes);
    if (!scopes) {
        print_error("--scopes: expected some of search, status, admin, with commas");
        return 2;
    }
    token.scopes = *scopes;
    if (!options.expires_in.empty()) {
        const auto period = parse_expiry(options.expires_in);
        if (!period) {
            print_error("--expires-in: expected a period from " + format_duration(kShortestExpiry) +
                        " to " + format_duration(kLongestExpiry) + " such as 30d, 12h or 90m");
            return 2;
        }
        token.expires_at = SystemClock().wall_now() + *period;
    }
    token.requests_per_minute = options.requests_per_minute;
    token.budget.calls = options.budget_calls;
    for (std::size_t i = 0; i < access::kPeriods; ++i) {
        if (options.budget_usd[i]) {
            const std::optional<std::int64_t> budget = access::to_budget(*options.budget_usd[i]);
            if (!budget) {
                print_error("--budget-usd-" + std::string(to_string(access::kEachPeriod[i])) +
                            ": " + std::string(access::kSmallestBudget));
                return 2;
            }
            token.budget.micro_usd[i] = *budget;
        }
    }
    const auto issued = store.run(store.tokens().add(std::move(token)));
    if (!issued.ok()) {
        print_error(issued.error().message);
        return issued.error().code == Code::kInvalidRequest ? 2 : 1;
    }
    std::string out(issued->token.reveal());
    if (as_json) {
        out.clear();
        JsonWriter json(out);
        json.begin_object().field("token", issued->token.reveal());
        write_record(json, issued->record);
        json.end_object();
    }
    print(out + "\n");
    if (!flush_output()) {
        return take_back(store, issued->record.id);
    }
    if (as_json) {
        return 0;
    }
    print_to_stderr(
        "token " + issued->record.id + " with scope " + issued->record.scopes.to_string() +
        "; it is shown once and kept nowhere. Send it as: Authorization: Bearer TOKEN\n");
    return 0;
}

std::string state_of(const access::TokenRecord& record, WallTime now) {
    if (record.revoked_at) {
        return "revoked " + rfc3339(*record.revoked_at);
    }
    if (!record.expires_at) {
        return "active";
    }
    return (*record.expires_at <= now ? "expired " : "active until ") + rfc3339(*record.expires_at);
}

int list(OpenStore& store, bool as_json) {
    const auto set = store.run(store.tokens().load());
    if (!set.ok()) {
        print_error(set.error().message);
        return 1;
    }
    std::string out;
    if (as_json) {
        JsonWriter json(out);
        json.begin_object().key("tokens").begin_array();
        for (const access::StoredToken& token : set->tokens) {
            json.begin_object();
            write_record(json, token.record);
            json.end_object();
        }
        json.end_array().end_object();
        print(out + "\n");
        return 0;
    }
    if (set->tokens.empty()) {
        print("no tokens; make one with `sluice tokens add`\n");
        return 0;
    }
    const WallTime now = SystemClock().wall_now();
    for (const access::StoredToken& token : set->tokens) {
        const access::TokenRecord& record = token.record;
        out += record.id + "  ..." + record.last4 + "  " + record.scopes.to_string() + "  " +
               state_of(record, now) + (record.label.empty() ? "" : "  " + record.label) + "\n";
    }
    print(out);
    return 0;
}

int revoke(OpenStore& store, const std::string& id, bool as_json) {
    const auto record = store.run(store.tokens().revoke(id));
    if (!record.ok()) {
        print_error(record.error().message + "; `sluice tokens list` shows every id");
        return 1;
    }
    std::string out;
    if (as_json) {
        JsonWriter json(out);
        json.begin_object();
        write_record(json, *record);
        json.end_object();
    } else {
        out = "revoked " + record->id;
    }
    print(out + "\n");
    return 0;
}

int with_store(const ConfigOptions& options, StoreUse use,
               const std::function<int(OpenStore&)>& work) {
    const SystemEnvironment environment;
    const auto loaded = load_or_explain(options, environment);
    if (!loaded) {
        return 2;
    }
    const NewDirectoryNote note(loaded->config);
    auto store = OpenStore::open(loaded->config, environment, use);
    if (!store.ok()) {
        print_error(store.error().message);
        return 1;
    }
    return work(**store);
}

}  // namespace

void add_tokens(CLI::App& app, std::function<int()>& chosen) {
    CLI::App* tokens = app.add_subcommand("tokens", "API tokens: add, list, revoke");
    tokens->require_subcommand(1);

    CLI::App* add_command = tokens->add_subcommand("add", "make a token; it is printed once");
    const auto add_config = add_config_options(*add_command);
    const auto options = std::make_shared<AddOptions>();
    add_command->add_option("--label", options->label, "what it is for");
    add_command->add_option("--scopes", options->scopes, "of search, status, admin, with commas")
        ->capture_default_str();
    add_command->add_option("--expires-in", options->expires_in, "30d, 12h, 90m; default: never");
    add_command->add_option("--requests-per-minute", options->requests_per_minute,
                            "a limit of its own; 0 is none");
    for (const access::Period period : access::kEachPeriod) {
        const std::string name(to_string(period));
        const std::string when = period == access::Period::kTotal ? "in all" : "in one UTC " + name;
        add_command
            ->add_option("--budget-usd-" + name, options->budget_usd[index_of(period)],
                         "US dollars that it may spend " + when + "; 0 is no limit")
            ->check(CLI::Range(0.0, static_cast<double>(access::kMaxBudgetUsd)));
        add_command
            ->add_option("--budget-calls-" + name, options->budget_calls[index_of(period)],
                         "paid calls that it may cause " + when + "; 0 is no limit")
            ->check(CLI::Range(std::int64_t{0}, access::kMaxBudgetCalls));
    }
    const auto add_json = add_json_flag(*add_command);
    add_command->footer(
        "Example: sluice tokens add --label crawler --scopes search --expires-in 90d");
    add_command->callback([&chosen, add_config, options, add_json] {
        chosen = [=] {
            return with_store(*add_config, StoreUse::kMake,
                              [&](OpenStore& s) { return add(s, *options, *add_json); });
        };
    });

    CLI::App* list_command = tokens->add_subcommand("list", "every token, without its secret");
    const auto list_config = add_config_options(*list_command);
    const auto list_json = add_json_flag(*list_command);
    list_command->callback([&chosen, list_config, list_json] {
        chosen = [=] {
            return with_store(*list_config, StoreUse::kRead,
                              [&](OpenStore& s) { return list(s, *list_json); });
        };
    });

    CLI::App* revoke_command = tokens->add_subcommand("revoke", "refuse a token from now on");
    const auto revoke_config = add_config_options(*revoke_command);
    const auto id = std::make_shared<std::string>();
    revoke_command->add_option("id", *id, "as `sluice tokens list` shows it")->required();
    const auto revoke_json = add_json_flag(*revoke_command);
    revoke_command->callback([&chosen, revoke_config, id, revoke_json] {
        chosen = [=] {
            return with_store(*revoke_config, StoreUse::kChange,
                              [&](OpenStore& s) { return revoke(s, *id, *revoke_json); });
        };
    });
}

}  // namespace sluice::app
