// `sluice usage`: what was spent, from a running gateway or, where none runs, from where it is
// kept.
#include "surface/rest/usage.h"

#include "app/commands/commands.h"
#include "app/commands/common.h"
#include "app/private_loop.h"
#include "app/server_call.h"
#include "app/stores.h"
#include "app/wire.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/random.h"
#include "base/text.h"
#include "obs/metrics.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::app {

namespace {

struct UsageOptions {
    std::string by = "provider";
    std::string since;
    std::string until;
    std::string provider;
    std::string token;
    std::string key;

    // As the query string of /v1/usage.
    std::string query() const {
        std::string text = "by=" + percent_encode(by);
        for (const auto& [name, value] : {std::pair("since", &since), std::pair("until", &until),
                                          std::pair("provider", &provider),
                                          std::pair("token", &token), std::pair("key", &key)}) {
            if (!value->empty()) {
                text.append("&").append(name).append("=").append(percent_encode(*value));
            }
        }
        return text;
    }
};

Task<Result<access::Usage>> read_usage(Stores& stores, access::UsageQuery query) {
    CO_TRY_STATUS(co_await stores.start());
    co_return co_await stores.spending().usage(std::move(query));
}

// The report as JSON, read from the store. A file that is not there has nothing to tell.
Result<std::string> read_store(const Config& config, const Environment& environment,
                               const std::string& query) {
    const UtcDay today = utc_day(SystemClock().wall_now());
    TRY(surface::UsageRequest request, surface::parse_usage_query(query, today));
    TRY_STATUS(surface::complete_usage(request));
    if (!has_shared_keys(config)) {
        TRY_STATUS(use_data_dir(config.data_dir, StoreUse::kRead));
    }
    SystemClock clock;
    SystemRandom random;
    QuietLog log(clock);
    obs::Metrics metrics;
    PrivateLoop loop;
    Stores stores(config, environment, loop.executor(), clock, random, log, metrics);
    TRY_STATUS(stores.open_spending(StoreUse::kRead));
    const Result<access::Usage> found = loop.run(read_usage(stores, request.query));
    loop.run(stores.stop());
    if (!found.ok()) {
        return found.error();
    }
    return surface::render_usage(request, *found);
}

Result<std::string> ask(const Config& config, const Environment& environment,
                        const std::string& query) {
    ServerCall call;
    call.socket_path = admin_socket_path(config.data_dir);
    call.target = "/v1/usage?" + query;
    const Result<ServerAnswer> answer = call_server(call);
    if (!answer.ok() && answer.error().code != Code::kNotFound) {
        return answer.error();
    }
    if (!answer.ok()) {
        return read_store(config, environment, query);
    }
    if (answer->status == 200) {
        return answer->body;
    }
    JsonReader reader;
    const auto body = reader.parse(answer->body);
    const std::string detail(body.ok() ? body->string_at("detail") : std::string_view());
    return Error{answer->status == 400 ? Code::kInvalidRequest : Code::kUnavailable, Blame::kCaller,
                 detail.empty() ? "the gateway answered " + std::to_string(answer->status) : detail,
                 std::nullopt};
}

constexpr std::size_t kColumns = 4;
using Row = std::array<std::string, kColumns>;

Row row_of(std::string name, const JsonValue& spent) {
    const auto number = [&](std::string_view field) {
        const auto value = spent.find(field);
        return std::to_string(value ? value->as_integer().value_or(0) : 0);
    };
    const auto usd = spent.find("cost_usd");
    const double dollars = usd ? usd->as_number().value_or(0) : 0;
    const auto micro_usd = static_cast<std::int64_t>(dollars * 1e6 + 0.5);
    return {std::move(name), number("calls"), number("units"), access::format_usd(micro_usd)};
}

void print_table(const std::vector<Row>& rows) {
    std::array<std::size_t, kColumns> widths{};
    for (const Row& row : rows) {
        for (std::size_t i = 0; i < kColumns; ++i) {
            widths[i] = std::max(widths[i], row[i].size());
        }
    }
    std::string out;
    for (const Row& row : rows) {
        out += row[0] + std::string(widths[0] - row[0].size(), ' ');
        for (std::size_t i = 1; i < kColumns; ++i) {
            out += "  " + std::string(widths[i] - row[i].size(), ' ') + row[i];
        }
        out += '\n';
    }
    print(out);
}

int show(const std::string& report, const std::string& by) {
    JsonReader reader(JsonLimits{.max_bytes = kMaxServerAnswerBytes});
    const auto body = reader.parse(report);
    const auto rows = body.ok() ? body->find("rows") : std::nullopt;
    const auto sum = body.ok() ? body->find("sum") : std::nullopt;
    if (!rows || !sum) {
        print_error("the answer is not as this version writes it");
        return 1;
    }
    const std::string period =
        std::string(body->string_at("since")) + " to " + std::string(body->string_at("until"));
    std::vector<Row> table = {{by, "calls", "units", "usd"}};
    for (const JsonValue& row : rows->elements()) {
        const std::string_view name = row.string_at(by);
        table.push_back(row_of(name.empty() ? "(no token)" : std::string(name), row));
    }
    if (table.size() == 1) {
        print("nothing was spent from " + period + "\n");
        return 0;
    }
    table.push_back(row_of("sum", *sum));
    print(period + " (UTC)\n");
    print_table(table);
    if (body->find("truncated") && body->find("truncated")->as_boolean().value_or(false)) {
        print_to_stderr("further rows are left out; the sum has them all\n");
    }
    return 0;
}

int usage(const ConfigOptions& config, const UsageOptions& options, bool as_json) {
    const SystemEnvironment environment;
    const auto loaded = load_or_explain(config, environment);
    if (!loaded) {
        return 2;
    }
    const Result<std::string> report = ask(loaded->config, environment, options.query());
    if (!report.ok()) {
        print_error(report.error().message);
        return report.error().code == Code::kInvalidRequest ? 2 : 1;
    }
    if (as_json) {
        print(std::string(trim(*report)) + "\n");
        return 0;
    }
    return show(*report, options.by);
}

}  // namespace

void add_usage(CLI::App& app, std::function<int()>& chosen) {
    CLI::App* command = app.add_subcommand("usage", "what was spent, by provider, token or key");
    const auto config = add_config_options(*command);
    const auto options = std::make_shared<UsageOptions>();
    restrict_to(*command->add_option("--by", options->by, "provider, token, key or day")
                     ->capture_default_str(),
                {"provider", "token", "key", "day"});
    command->add_option("--since", options->since, "the first day (UTC); default: 30 days ago");
    command->add_option("--until", options->until, "the last day; default: today");
    command->add_option("--provider", options->provider, "with --by day: this one only");
    command->add_option("--token", options->token, "with --by day: the token of this id only");
    command->add_option("--key", options->key, "with --by day: the key of this id only");
    const auto as_json = add_json_flag(*command);
    command->footer("Example: sluice usage --by token --since 2026-11-01");
    command->callback([&chosen, config, options, as_json] {
        chosen = [=] { return usage(*config, *options, *as_json); };
    });
}

}  // namespace sluice::app
