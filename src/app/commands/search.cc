// `sluice search "..."`: asks a running gateway and shows the results to a person.
#include "app/commands/commands.h"
#include "app/commands/common.h"
#include "app/server_call.h"
#include "app/terminal_text.h"
#include "app/wire.h"
#include "base/json.h"
#include "io/egress.h"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

namespace sluice::app {

namespace {

// Of a gateway's answer: the size is what call_server() reads at most.
constexpr JsonLimits kAnswerLimits{.max_bytes = kMaxServerAnswerBytes, .max_depth = 32};

struct SearchOptions {
    std::vector<std::string> words;
    std::string lane;
    std::string freshness;
    std::string country;
    std::vector<std::string> providers;
    int max_results = 0;
    std::string strategy;
    bool answer = false;
    bool trace = false;
    bool explain = false;
    bool as_json = false;
    std::string server;
    std::string token;
};

std::string request_body(const SearchOptions& options) {
    std::string query;
    for (const std::string& word : options.words) {
        query += (query.empty() ? "" : " ") + word;
    }
    std::string body;
    JsonWriter json(body);
    json.begin_object().field("query", query);
    if (!options.lane.empty()) {
        json.field("lane", options.lane);
    }
    if (!options.freshness.empty()) {
        json.field("freshness", options.freshness);
    }
    if (!options.country.empty()) {
        json.field("country", options.country);
    }
    if (!options.strategy.empty()) {
        json.field("strategy", options.strategy);
    }
    if (options.max_results != 0) {
        json.field("max_results", options.max_results);
    }
    if (!options.providers.empty()) {
        json.key("providers").begin_array();
        for (const std::string& provider : options.providers) {
            json.value(provider);
        }
        json.end_array();
    }
    if (options.answer) {
        json.field("answer", true);
    }
    if (options.trace) {
        json.field("trace", true);
    }
    if (options.explain) {
        json.field("explain", true);
    }
    json.end_object();
    return body;
}

struct Style {
    std::string title;
    std::string url;
    std::string dim;
    std::string off;
};

Style style_for(bool colours) {
    return colours ? Style{"\x1b[1m", "\x1b[36m", "\x1b[2m", "\x1b[0m"} : Style{};
}

std::string number_at(const JsonValue& value, std::string_view key) {
    const auto found = value.find(key);
    const auto integer = found ? found->as_integer() : std::nullopt;
    if (integer) {
        return std::to_string(*integer);
    }
    const auto number = found ? found->as_number() : std::nullopt;
    return number ? std::to_string(static_cast<std::int64_t>(*number)) : "?";
}

std::string render_attempts(const JsonValue& root, const Style& style) {
    std::string text;
    const auto attempts = root.find("attempts");
    for (const JsonValue& attempt : attempts ? attempts->elements() : JsonElements()) {
        text += style.dim + "  " + plain(attempt.string_at("provider")) + ": " +
                plain(attempt.string_at("outcome")) + ", " + number_at(attempt, "latency_ms") +
                " ms";
        if (const auto way = attempt.string_at("egress"); !way.empty() && way != "direct") {
            text += ", through " + plain(way);
        }
        if (const auto detail = attempt.string_at("detail"); !detail.empty()) {
            text += ": " + plain(detail);
        }
        text += style.off + "\n";
    }
    return text;
}

std::string render_results(const JsonValue& root, const Style& style) {
    std::string text;
    if (const auto answer = root.string_at("answer"); !answer.empty()) {
        text += plain(answer) + "\n\n";
    }
    const auto results = root.find("results");
    const auto hits = results ? results->elements() : JsonElements();
    for (const JsonValue& hit : hits) {
        text += number_at(hit, "rank") + ". " + style.title + plain(hit.string_at("title")) +
                style.off + "\n";
        text += "   " + style.url + plain(hit.string_at("url")) + style.off + "\n";
        if (const auto snippet = hit.string_at("snippet"); !snippet.empty()) {
            text += "   " + plain(snippet) + "\n";
        }
        text += "\n";
    }
    const auto flag = [&](std::string_view key) {
        const auto found = root.find(key);
        return found && found->as_boolean().value_or(false);
    };
    text += style.dim + std::to_string(hits.size()) + (hits.size() == 1 ? " result" : " results") +
            " from " + plain(root.string_at("provider")) + " in " + number_at(root, "elapsed_ms") +
            " ms";
    if (flag("stale")) {
        text += ", stale: every provider failed";
    } else if (flag("cached")) {
        text += ", cached";
    }
    return text + style.off + "\n" + render_attempts(root, style);
}

// "serper: would be asked with key 1af..., 1 requests, $0.0010".
std::string render_outlook(const JsonValue& outlook, const Style& style) {
    const auto usable = outlook.find("usable");
    std::string text = style.title + plain(outlook.string_at("provider")) + style.off + ": ";
    if (!usable || !usable->as_boolean().value_or(false)) {
        return text + "passed over: " + plain(outlook.string_at("detail")) + "\n";
    }
    if (const auto kept = outlook.find("kept"); kept && kept->as_boolean().value_or(false)) {
        return text + "its answer is there from before\n";
    }
    text += "would be asked with key " + plain(outlook.string_at("key_id"));
    const std::string_view egress = outlook.string_at("egress");
    if (!egress.empty() && egress != io::kDirectEgress) {
        text += " through " + plain(egress);
    }
    if (const auto price = outlook.find("price")) {
        const double usd = price->find("usd") ? price->find("usd")->as_number().value_or(0) : 0;
        text += ", " + number_at(*price, "units") + " " + plain(price->string_at("unit")) + " ($" +
                std::to_string(usd) + ")";
    }
    if (const auto recent = outlook.find("recent"); recent && recent->find("p95_ms")) {
        text += ", 95 of 100 answers within " + number_at(*recent, "p95_ms") + " ms";
    }
    if (outlook.find("turn_in_ms")) {
        text += ", after waiting " + number_at(outlook, "turn_in_ms") + " ms for its turn";
    }
    return text + "\n";
}

std::string render_explanation(const JsonValue& root, const Style& style) {
    std::string text = "lane " + plain(root.string_at("lane")) + ", strategy " +
                       plain(root.string_at("strategy")) + ", deadline " +
                       number_at(root, "deadline_ms") + " ms\n";
    text += "cache: " + plain(root.string_at("cache", "entry")) + " entry, mode " +
            plain(root.string_at("cache", "mode")) + "\n";
    if (const auto scheduler = root.find("scheduler")) {
        text += "running " + number_at(*scheduler, "running") + " of " +
                number_at(*scheduler, "concurrency") + ", queued " +
                number_at(*scheduler, "queued") + "\n";
    }
    const auto route = root.find("route");
    for (const JsonValue& outlook : route ? route->elements() : JsonElements()) {
        text += render_outlook(outlook, style);
    }
    return text;
}

int show(const ServerAnswer& answer, const SearchOptions& options, const Environment& environment) {
    JsonReader reader(kAnswerLimits);
    const auto root = reader.parse(answer.body);
    if (!root.ok()) {
        print_error("the gateway answered " + std::to_string(answer.status) +
                    " with something that is not JSON");
        return 1;
    }
    if (options.as_json) {
        print(plain_json(answer.body));
        return answer.status == 200 ? 0 : 1;
    }
    if (answer.status != 200) {
        print_error(plain(root->string_at("detail")) + " (" + plain(root->string_at("code")) + ")");
        print_to_stderr(render_attempts(*root, Style{}));
        return 1;
    }
    const Style style = style_for(colours_wanted(environment));
    print(options.explain ? render_explanation(*root, style) : render_results(*root, style));
    return 0;
}

int search(const ConfigOptions& config_options, const SearchOptions& options) {
    const SystemEnvironment environment;
    ServerCall call;
    call.method = "POST";
    call.target = "/v1/search";
    call.body = request_body(options);
    call.url = options.server;
    while (call.url.ends_with('/')) {
        call.url.pop_back();
    }
    call.token = Secret(options.token.empty() ? environment.get("SLUICE_TOKEN").value_or("")
                                              : options.token);
    if (call.url.empty()) {
        call.socket_path = admin_socket_path(data_dir_of(config_options, environment));
    }
    const Result<ServerAnswer> answer = call_server(call);
    if (!answer.ok()) {
        print_error(answer.error().message);
        return 1;
    }
    return show(*answer, options, environment);
}

}  // namespace

void add_search(CLI::App& app, std::function<int()>& chosen) {
    CLI::App* command = app.add_subcommand("search", "search through a running gateway");
    const auto config_options = add_config_options(*command);
    const auto options = std::make_shared<SearchOptions>();
    command->add_option("query", options->words, "what to search for")
        ->required()
        ->type_name("WORDS");
    command->add_option("-n,--max-results", options->max_results, "results at most, 1 to 50")
        ->check(CLI::Range(1, 50));
    suggest(*command->add_option("--lane", options->lane, "which route is asked"),
            {"fast", "deep"});
    suggest(*command->add_option("--freshness", options->freshness, "how old, or FROM..TO"),
            {"day", "week", "month", "year"});
    command->add_option("--country", options->country, "two-letter country code");
    command->add_option("--providers", options->providers, "providers to ask, in order")
        ->delimiter(',');
    suggest(*command->add_option("--strategy", options->strategy, "how providers are asked"),
            {"failover", "merge", "hedge"});
    command->add_flag("--answer", options->answer, "ask for a short written answer too");
    command->add_flag("--trace", options->trace, "show every attempt");
    command->add_flag("--explain", options->explain,
                      "show what would be done, provider by provider, and do nothing");
    command->add_flag("--json", options->as_json, "the gateway's answer as it is");
    command
        ->add_option("--server", options->server,
                     "URL of a gateway (default: the one that uses this data directory)")
        ->type_name("URL");
    command->add_option("--token", options->token,
                        "API token for --server (default: SLUICE_TOKEN)");
    command->footer(
        "Examples:\n  sluice search stoneware glaze chemistry\n"
        "  sluice search --lane deep --answer --json \"what is a glaze\"\n"
        "  sluice search --server http://127.0.0.1:8080 --trace kiln");
    command->callback([&chosen, config_options, options] {
        chosen = [config_options, options] { return search(*config_options, *options); };
    });
}

}  // namespace sluice::app
