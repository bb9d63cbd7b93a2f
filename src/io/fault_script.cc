#include "io/fault_script.h"

#include "base/hash.h"
#include "base/text.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace sluice::io {

namespace {

using namespace std::chrono_literals;

// The word for each upstream.
constexpr std::string_view kAny = "any";
constexpr std::int64_t kMaxCall = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kLargestCut = std::size_t{64} * 1024 * 1024;

using Words = std::span<const std::pair<std::string_view, Fault>>;
constexpr std::pair<std::string_view, Fault> kCallWords[] = {
    {"status", Fault::kStatus}, {"delay", Fault::kDelay},     {"stall", Fault::kStall},
    {"cut", Fault::kCut},       {"garbage", Fault::kGarbage}, {"rate_limit", Fault::kRateLimit},
    {"refuse", Fault::kRefuse},
};
constexpr std::pair<std::string_view, Fault> kTitleWords[] = {
    {"delay", Fault::kDelay},
    {"fail", Fault::kFail},
};

std::uint64_t seed_for(std::string_view upstream, std::uint64_t seed) {
    std::uint64_t mixed = 0;
    std::memcpy(&mixed, sha256(upstream).data(), sizeof mixed);
    return mixed ^ seed;
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

void read_fault(ConfigReader& in, FaultRule& rule, Words words) {
    std::string word;
    std::string expected;
    in.text({"fault", "what happens"}, word);
    std::vector<std::string_view> known;
    for (const auto& [name, fault] : words) {
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

// What rules about calls and about scorings have in common.
void read_choice(ConfigReader& in, FaultRule& rule) {
    in.integer({"from_call", "the first call that it is about, from 1"}, rule.from_call,
               std::uint64_t{1}, std::uint64_t{kMaxCall});
    in.integer({"to_call", "the last one"}, rule.to_call, std::uint64_t{1},
               std::uint64_t{kMaxCall});
    in.integer({"every", "only each so manyth of those calls"}, rule.every, std::uint64_t{1},
               std::uint64_t{kMaxCall});
    in.number({"probability", "how likely it happens to such a call"}, rule.probability, 0, 1);
    in.duration({"delay_s", "how long a call waits before it"}, rule.delay, 0ms, 1h);
    if (rule.to_call < rule.from_call) {
        in.fail("to_call", "expected at least from_call");
    }
}

FaultRule read_rule(ConfigReader in, std::string name,
                    std::span<const std::string_view> upstreams) {
    FaultRule rule;
    rule.name = std::move(name);
    read_upstream(in, rule, upstreams);
    read_fault(in, rule, kCallWords);
    read_choice(in, rule);
    in.integer({"status", "of the fault status"}, rule.status, 400, 599);
    in.size({"after_bytes", "of the fault cut: how much of the body still comes"}, rule.after_bytes,
            0, kLargestCut);
    in.duration({"retry_after_s", "of the fault rate_limit"}, rule.retry_after, 0ms, 24h);
    return rule;
}

FaultRule read_title_rule(ConfigReader in, std::string name) {
    FaultRule rule;
    rule.name = std::move(name);
    read_fault(in, rule, kTitleWords);
    read_choice(in, rule);
    return rule;
}

}  // namespace

std::string_view to_string(Fault fault) {
    for (const Words words : {Words(kCallWords), Words(kTitleWords)}) {
        for (const auto& [name, of] : words) {
            if (of == fault) {
                return name;
            }
        }
    }
    return "unset";
}

bool FaultRule::covers(std::string_view of_upstream, std::uint64_t call) const {
    const bool is_its = upstream.empty() || upstream == of_upstream;
    return is_its && call >= from_call && call <= to_call && (call - from_call) % every == 0;
}

const FaultRule* FaultPicker::next(std::string_view upstream) {
    auto found = lines_.find(upstream);
    if (found == lines_.end()) {
        Line line{0, SeededRandom(seed_for(upstream, seed_))};
        found = lines_.emplace(std::string(upstream), line).first;
    }
    Line& line = found->second;
    line.calls += 1;
    for (const FaultRule& rule : rules_) {
        if (rule.covers(upstream, line.calls) &&
            (rule.probability >= 1 || line.random.unit() < rule.probability)) {
            return &rule;
        }
    }
    return nullptr;
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
    for (const std::string& name : in.names("title_faults")) {
        script.title_rules.push_back(
            read_title_rule(in.section("title_faults").section(name), name));
    }
    if (script.empty() && layers.errors().empty()) {
        in.fail("faults", "expected at least one fault, [faults.<name>] or [title_faults.<name>]");
    }
    layers.finish();
    errors.insert(errors.end(), layers.errors().begin(), layers.errors().end());
    return script;
}

}  // namespace sluice::io
