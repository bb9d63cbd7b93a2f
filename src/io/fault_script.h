// Which calls to upstreams, and which scorings of titles, are to go wrong, and how. A TOML file
// that is checked like the settings; docs/record-and-replay.md describes it.
#pragma once

#include "base/clock.h"
#include "base/config_reader.h"
#include "base/random.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::io {

enum class Fault : std::uint8_t {
    kUnset,
    kStatus,     // an answer with a status of its own
    kDelay,      // the answer, later
    kStall,      // nothing until the deadline
    kCut,        // the connection ends after so many bytes of the body
    kGarbage,    // 200, with something that is not the provider's
    kRateLimit,  // 429 with Retry-After
    kRefuse,     // no connection
    kFail,       // of a scoring: it breaks
};

std::string_view to_string(Fault fault);

// Applies to the calls of one upstream, counted from 1, or to those of each.
struct FaultRule {
    std::string name;
    std::string upstream;  // empty: every one, each with a count of its own
    Fault fault = Fault::kUnset;
    std::uint64_t from_call = 1;
    std::uint64_t to_call = std::numeric_limits<std::int64_t>::max();
    std::uint64_t every = 1;  // of the calls from from_call on, each so manyth
    double probability = 1;
    Millis delay{};  // before whatever happens
    int status = 500;
    std::size_t after_bytes = 0;
    Millis retry_after{30'000};

    // Whether it speaks about that call, its probability aside.
    bool covers(std::string_view of_upstream, std::uint64_t call) const;
};

struct FaultScript {
    std::uint64_t seed = 1;
    std::vector<FaultRule> rules;        // in order of name; the first that applies is what happens
    std::vector<FaultRule> title_rules;  // the same, of scorings: kDelay and kFail

    bool empty() const { return rules.empty() && title_rules.empty(); }
};

// Finds the rule that a call falls under. The same rules and seed pick the same calls of an
// upstream, in order. Not thread-safe.
class FaultPicker {
 public:
    FaultPicker(std::vector<FaultRule> rules, std::uint64_t seed)
        : rules_(std::move(rules)), seed_(seed) {}

    // That of the next call of `upstream`; null: nothing happens to it.
    const FaultRule* next(std::string_view upstream);

 private:
    // What is remembered of one upstream.
    struct Line {
        std::uint64_t calls = 0;
        SeededRandom random;
    };

    const std::vector<FaultRule> rules_;
    const std::uint64_t seed_;
    std::map<std::string, Line, std::less<>> lines_;
};

// `upstreams` are the names that there are. Mistakes are added to `errors`, with file, line and
// key.
FaultScript read_fault_script(const std::string& file, std::string_view toml,
                              std::span<const std::string_view> upstreams,
                              std::vector<ConfigError>& errors);

}  // namespace sluice::io
