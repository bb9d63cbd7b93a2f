#include "sim/repertoire.h"

#include "base/json.h"
#include "unit/web/case_file.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace sluice::sim {

namespace {

using namespace std::chrono_literals;
using web::Effect;
using web::Outcome;
using web::Reach;
namespace cases = web::testing;

constexpr std::array kEffects = {Effect::kCool,      Effect::kExhaust, Effect::kQuarantine,
                                 Effect::kKeyCannot, Effect::kCaller,  Effect::kProvider,
                                 Effect::kGateway,   Effect::kEmpty};
constexpr std::array kReaches = {Reach::kKey, Reach::kAccount, Reach::kProvider};

// Nothing that depends on the calendar lasts longer.
constexpr Millis kLongestRest = std::chrono::hours(24) * 32;

[[noreturn]] void unknown(std::string_view word, const std::string& path) {
    throw std::runtime_error(path + ": unknown word '" + std::string(word) + "'");
}

template <class Words>
auto named(const Words& words, std::string_view name, const std::string& path) {
    const auto found =
        std::ranges::find_if(words, [&](auto word) { return cases::name_of(word) == name; });
    if (found == words.end()) {
        unknown(name, path);
    }
    return *found;
}

Outcome outcome_named(std::string_view name, const std::string& path) {
    for (std::size_t i = 0; i < web::kOutcomeCount; ++i) {
        if (to_string(static_cast<Outcome>(i)) == name) {
            return static_cast<Outcome>(i);
        }
    }
    unknown(name, path);
}

bool is_number(std::string_view text) {
    return !text.empty() &&
           std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c); });
}

// A pause in seconds is the same at any time; one until a date or the end of a period is not.
RestTime rest_of(const Line& line, double penalty_s) {
    const Millis penalty(std::llround(penalty_s * 1000));
    const std::string_view asked = line.response.header("retry-after");
    const bool is_pause = asked.empty() ? line.effect == Effect::kCool : is_number(asked);
    if (is_pause) {
        return {penalty, penalty};
    }
    return {Millis(1), kLongestRest};
}

io::ClientResponse response_of(const JsonValue& root, const std::string& folder) {
    if (const auto inline_response = root.find("response")) {
        return cases::read_response(*inline_response);
    }
    const std::string fixture(root.string_at("fixture"));
    const cases::Document file(cases::read_file(folder + "fixtures/" + fixture + ".json"));
    return cases::read_response(file.root());
}

// Nothing when the case is about something else, or holds for a request of its own only.
std::optional<Line> read_line(const std::string& path, const std::string& folder) {
    const cases::Document file(cases::read_file(path));
    const JsonValue& root = file.root();
    const auto verdict = root.find("expect", "verdict");
    if (!verdict || root.find("request")) {
        return std::nullopt;
    }
    Line line;
    line.name = path;
    line.response = response_of(root, folder);
    line.effect = named(kEffects, verdict->string_at("effect"), path);
    line.outcome = outcome_named(verdict->string_at("outcome"), path);
    if (const std::string_view reach = verdict->string_at("reach"); !reach.empty()) {
        line.reach = named(kReaches, reach, path);
    }
    if (const auto penalty = verdict->find("penalty_s")) {
        line.rest = rest_of(line, penalty->as_number().value());
        if (root.find("now") && line.effect != Effect::kCool) {
            line.rest = RestTime{Millis(1), kLongestRest};
        }
    }
    return line;
}

}  // namespace

Repertoire::Repertoire() {
    for (const web::Provider* provider : web::all_providers()) {
        const std::string folder =
            "tests/cases/providers/" + std::string(provider->spec().name) + "/";
        std::vector<Line>& lines = lines_.emplace_back();
        for (const std::string& path : cases::json_files(folder)) {
            if (auto line = read_line(path, folder)) {
                lines.push_back(*std::move(line));
            }
        }
    }
}

}  // namespace sluice::sim
