#include "io/fault_script.h"

#include "base/text.h"

#include <algorithm>
#include <chrono>

namespace sluice::io {

namespace {

using namespace std::chrono_literals;

// The word for each upstream.
constexpr std::string_view kAny = "any";
constexpr std::int64_t kMaxCall = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kLargestCut = std::size_t{64} * 1024 * 1024;

const std::vector<std::pair<std::string_view, Fault>>& words() {
    static const std::vector<std::pair<std::string_view, Fault>> all = {
        {"status", Fault::kStatus}, {"delay", Fault::kDelay},     {"stall", Fault::kStall},
        {"cut", Fault::kCut},       {"garbage", Fault::kGarbage}, {"rate_limit", Fault::kRateLimit},
        {"refuse", Fault::kRefuse},
    };
    return all;
}

void read_upstream(ConfigReader& in, FaultRule& rule, std::span<const std::string_view> upstreams) {
    std::string name(kAny);
    in.text({"provider", "whose calls go wrong, or any"}, name);
    if (name == kAny) {
        return;
    }
    rule.upstream = name;
    std::vector<std::string_view> known(upstreams.begin(), upstreams.end());
    known.push_back(kAny);
    if (std::ranges::find(known, name) == known.end()) {
        const auto guess = nearest(name, known);
        in.fail("provider", "expected a provider, or any" +
                                (guess ? "; did you mean " + std::string(*guess) + "?" : ""));
    }
}

void read_fault(ConfigReader& in, FaultRule& rule) {
    std::string word;
    std::string expected;
    in.text({"fault", "what happens: status, delay, stall, cut, garbage, rate_limit or refuse"},
            word);
    std::vector<std::string_view> known;
    for (const auto& [name, fault] : words()) {
        known.push_back(name);
        expected.append(expected.empty() ? "" : ", ").append(name);
        if (name == word) {
            rule.fault = fault;
        }
    }
    if (rule.fault == Fault::kUnset) {
        const auto guess = nearest(word, known);
        in.fail("fault", "expected one of " + expected +
                             (guess ? "; did you mean " + std::string(*guess) + "?" : ""));
    }
}

FaultRule read_rule(ConfigReader in, std::string name,
                    std::span<const std::string_view> upstreams) {
    FaultRule rule;
    rule.name = std::move(name);
    read_upstream(in, rule, upstreams);
    read_fault(in, rule);
    in.integer({"from_call", "the first call that it is about, from 1"}, rule.from_call,
               std::uint64_t{1}, std::uint64_t{kMaxCall});
    in.integer({"to_call", "the last one"}, rule.to_call, std::uint64_t{1},
               std::uint64_t{kMaxCall});
    in.integer({"every", "only each so manyth of those calls"}, rule.every, std::uint64_t{1},
               std::uint64_t{kMaxCall});
    in.number({"probability", "how likely it happens to such a call"}, rule.probability, 0, 1);
    in.duration({"delay_s", "how long a call waits before it"}, rule.delay, 0ms, 1h);
    in.integer({"status", "of the fault status"}, rule.status, 400, 599);
    in.size({"after_bytes", "of the fault cut: how much of the body still comes"}, rule.after_bytes,
            0, kLargestCut);
    in.duration({"retry_after_s", "of the fault rate_limit"}, rule.retry_after, 0ms, 24h);
    if (rule.to_call < rule.from_call) {
        in.fail("to_call", "expected at least from_call");
    }
    return rule;
}

}  // namespace

std::string_view to_string(Fault fault) {
    const auto found =
        std::ranges::find(words(), fault, [](const auto& word) { return word.second; });
    return found == words().end() ? "unset" : found->first;
}

bool FaultRule::covers(std::string_view of_upstream, std::uint64_t call) const {
    const bool is_its = upstream.empty() || upstream == of_upstream;
    return is_its && call >= from_call && call <= to_call && (call - from_call) % every == 0;
}

FaultScript read_fault_script(const std::string& file, std::string_view toml,
                              std::span<const std::string_view> upstreams,
                              std::vector<ConfigError>& errors) {
    FaultScript script;
    ConfigLayers layers;
    layers.add_file(file, toml);
    ConfigReader in(layers);
    in.integer({"seed", "of the calls that a probability picks"}, script.seed, std::uint64_t{0},
               std::uint64_t{kMaxCall});
    for (const std::string& name : in.names("faults")) {
        script.rules.push_back(read_rule(in.section("faults").section(name), name, upstreams));
    }
    if (script.empty() && layers.errors().empty()) {
        in.fail("faults", "expected at least one fault, [faults.<name>]");
    }
    layers.finish();
    errors.insert(errors.end(), layers.errors().begin(), layers.errors().end());
    return script;
}

}  // namespace sluice::io
