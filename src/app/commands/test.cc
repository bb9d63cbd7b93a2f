// `sluice test`: does this configuration decide as a file of policies says?
#include "app/commands/commands.h"
#include "app/commands/common.h"
#include "app/policy_check.h"
#include "app/policy_decision.h"
#include "app/policy_file.h"
#include "app/yaml.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/rfc3339.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace sluice::app {

namespace {

struct Outcome {
    const Policy* policy;
    PolicyDecision decision;
    std::vector<PolicyDifference> differences;

    bool holds() const { return differences.empty(); }
};

std::string count(std::size_t n, const std::string& thing, const std::string& things) {
    return std::to_string(n) + " " + (n == 1 ? thing : things);
}

void print_errors(const std::string& path, const PolicyFile& file) {
    for (const PolicyFileError& error : file.errors) {
        print_to_stderr(path + ":" + std::to_string(error.line) + ": " + error.message + "\n");
    }
    print_error(path + " has " + count(file.errors.size(), "mistake", "mistakes") +
                "; docs/policy-tests.md shows what it may say");
}

std::string errors_as_json(const std::string& path, const PolicyFile& file) {
    std::string out;
    JsonWriter json(out);
    json.begin_object().field("ok", false).field("file", path).key("errors").begin_array();
    for (const PolicyFileError& error : file.errors) {
        json.begin_object().field("line", error.line).field("message", error.message).end_object();
    }
    json.end_array().end_object();
    return out + "\n";
}

void write_decision(JsonWriter& json, const PolicyDecision& decision) {
    json.begin_object();
    if (decision.refused) {
        json.key("refused").begin_object().field("code", to_string(decision.refused->code));
        json.field("detail", decision.refused->message).end_object();
    }
    if (!decision.is_turned_away) {
        json.field("lane", decision.lane).field("strategy", decision.strategy);
        json.field("asks", decision.asks()).key("skips").begin_array();
        for (const PolicyOutlook& outlook : decision.route) {
            if (!outlook.skip.empty()) {
                json.begin_object().field("provider", outlook.provider);
                json.field("reason", outlook.skip).field("detail", outlook.detail).end_object();
            }
        }
        json.end_array().field("usd", static_cast<double>(decision.micro_usd()) / 1e6);
    }
    json.end_object();
}

std::string as_json(const std::string& path, WallTime now, const std::vector<Outcome>& outcomes) {
    std::string out;
    JsonWriter json(out);
    const bool all_hold = std::ranges::all_of(outcomes, &Outcome::holds);
    json.begin_object().field("ok", all_hold).field("file", path).field("at", rfc3339(now));
    json.key("policies").begin_array();
    for (const Outcome& outcome : outcomes) {
        json.begin_object().field("name", outcome.policy->name);
        json.field("line", outcome.policy->line).field("holds", outcome.holds());
        json.key("differences").begin_array();
        for (const PolicyDifference& difference : outcome.differences) {
            json.begin_object().field("member", difference.member);
            json.field("message", difference.message).end_object();
        }
        json.end_array().key("decision");
        write_decision(json, outcome.decision);
        json.end_object();
    }
    json.end_array().end_object();
    return out + "\n";
}

void print_outcome(const std::string& path, const Outcome& outcome, bool coloured) {
    const std::string reset = coloured ? "\033[0m" : "";
    if (outcome.holds()) {
        print((coloured ? "\033[32m" : "") + std::string("ok    ") + reset + outcome.policy->name +
              "\n");
        return;
    }
    print((coloured ? "\033[31m" : "") + std::string("FAIL  ") + reset + outcome.policy->name +
          " (" + path + ":" + std::to_string(outcome.policy->line) + ")\n");
    for (const PolicyDifference& difference : outcome.differences) {
        print("      " + difference.member + ": " + difference.message + "\n");
    }
}

int run_policies(const Config& config, const std::string& path, const PolicyFile& file,
                 bool wants_json, bool coloured) {
    const WallTime now = SystemClock().wall_now();
    std::vector<Outcome> outcomes;
    for (const Policy& policy : file.policies) {
        PolicyDecision decision = decide(config, policy);
        auto found = differences(policy.expect, decision);
        outcomes.push_back({&policy, std::move(decision), std::move(found)});
        if (!wants_json) {
            print_outcome(path, outcomes.back(), coloured);
        }
    }
    const auto held = static_cast<std::size_t>(std::ranges::count_if(outcomes, &Outcome::holds));
    const std::size_t failed = outcomes.size() - held;
    if (wants_json) {
        print(as_json(path, now, outcomes));
    } else if (failed == 0) {
        print(count(held, "policy holds\n", "policies hold\n"));
    } else {
        print(count(failed, "policy fails", "policies fail") + ", " +
              count(held, "holds\n", "hold\n"));
    }
    return failed == 0 ? 0 : 1;
}

int test(const ConfigOptions& options, const std::string& path, bool wants_json) {
    const SystemEnvironment environment;
    const auto loaded = load_or_explain(options, environment);
    if (!loaded) {
        return 2;
    }
    const Result<std::string> text = environment.read_file(path, kMaxYamlBytes);
    if (!text.ok()) {
        print_error(path + ": " + text.error().message);
        return 2;
    }
    const PolicyFile file = read_policies(*text);
    if (!file.errors.empty()) {
        if (wants_json) {
            print(errors_as_json(path, file));
        } else {
            print_errors(path, file);
        }
        return 2;
    }
    return run_policies(loaded->config, path, file, wants_json, colours_wanted(environment));
}

}  // namespace

void add_test(CLI::App& app, std::function<int()>& chosen) {
    CLI::App* command = app.add_subcommand(
        "test", "whether this configuration decides as a file of policies expects");
    const auto options = add_config_options(*command);
    const auto path = std::make_shared<std::string>();
    command->add_option("file", *path, "requests and what is to be decided about each, in YAML")
        ->required()
        ->type_name("FILE");
    const auto wants_json = add_json_flag(*command);
    command->footer(
        "Nobody is asked, no key is needed, and the data directory is left alone.\n"
        "Exit code 0: all policies hold; 1: some don't; 2: the file or the configuration can't be "
        "used.\n"
        "Example: sluice test policies.yaml --config sluice.toml");
    command->callback([&chosen, options, path, wants_json] {
        chosen = [=] { return test(*options, *path, *wants_json); };
    });
}

}  // namespace sluice::app
