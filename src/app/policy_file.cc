#include "app/policy_file.h"

#include "app/yaml.h"
#include "base/text.h"
#include "surface/common/errors.h"
#include "surface/common/responses.h"
#include "surface/rest/search_fields.h"
#include "web/provider.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <span>
#include <utility>

namespace sluice::app {

namespace {

using Kind = YamlNode::Kind;
using Names = std::vector<std::string_view>;

class Errors {
 public:
    explicit Errors(std::vector<PolicyFileError>& list) : list_(list) {}

    void add(std::size_t line, const std::string& where, std::string_view message) {
        if (list_.size() < kMaxPolicyErrors) {
            list_.push_back({line, (where.empty() ? "" : where + ": ").append(message)});
        }
    }
    bool any() const { return !list_.empty(); }

 private:
    std::vector<PolicyFileError>& list_;
};

std::string unknown(std::string_view what, std::string_view name, const Names& known) {
    std::string text = "unknown " + std::string(what) + " " + surface::shown_name(name) + "; ";
    if (const auto guess = nearest(name, known)) {
        return text + "did you mean '" + std::string(*guess) + "'?";
    }
    text += "expected one of:";
    for (const std::string_view candidate : known) {
        text.append(" ").append(candidate);
    }
    return text;
}

// A value and where it stands, as messages name it.
struct Place {
    const YamlNode& node;
    std::string where;
    Errors& errors;

    void fail(std::string_view message) const { errors.add(node.line, where, message); }
    Place at(const YamlMember& member) const {
        return {member.value, where.empty() ? member.name : where + "." + member.name, errors};
    }
    Place at(std::size_t index) const {
        return {node.items[index], where + "[" + std::to_string(index) + "]", errors};
    }
};

const std::string* text_of(const Place& place) {
    if (place.node.kind != Kind::kText) {
        place.fail("expected a text");
        return nullptr;
    }
    return &place.node.text;
}

// A text that is one of `known`.
const std::string* word_of(const Place& place, std::string_view what, const Names& known) {
    const std::string* const text = text_of(place);
    if (text != nullptr && std::ranges::find(known, *text) == known.end()) {
        place.fail(unknown(what, *text, known));
        return nullptr;
    }
    return text;
}

std::vector<std::string> words_of(const Place& place, std::string_view what, const Names& known) {
    std::vector<std::string> words;
    if (place.node.kind != Kind::kList) {
        place.fail("expected a list");
        return words;
    }
    for (std::size_t i = 0; i < place.node.items.size(); ++i) {
        const Place item = place.at(i);
        const std::string* const word = word_of(item, what, known);
        if (word != nullptr && std::ranges::find(words, *word) != words.end()) {
            item.fail(*word + " is in the list twice");
        } else if (word != nullptr) {
            words.push_back(*word);
        }
    }
    return words;
}

// Calls `read(name, place)` for each member of a map whose names are `known`.
void each_member(const Place& place, std::string_view what, const Names& known,
                 const std::invocable<const std::string&, const Place&> auto& read) {
    if (place.node.kind != Kind::kMap) {
        place.fail("expected members, such as " + std::string(known.front()) + ": ...");
        return;
    }
    for (const YamlMember& member : place.node.members) {
        if (std::ranges::find(known, member.name) == known.end()) {
            place.errors.add(member.line, place.where, unknown(what, member.name, known));
        } else {
            read(member.name, place.at(member));
        }
    }
}

std::optional<double> number_of(const Place& place, double most) {
    double number = -1;
    if (place.node.kind == Kind::kText && !place.node.is_quoted) {
        const std::string& text = place.node.text;
        const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
        if (read.ec != std::errc() || read.ptr != text.data() + text.size()) {
            number = -1;
        }
    }
    if (!(number >= 0 && number <= most)) {
        place.fail("expected a number from 0 to " +
                   std::to_string(static_cast<std::int64_t>(most)));
        return std::nullopt;
    }
    return number;
}

// usd_day, calls_day and so on, as the settings of budgets are called. `take(period, is_usd,
// amount)` has the amount in millionths of a dollar, or in calls.
void read_amounts(const Place& place,
                  const std::invocable<access::Period, bool, std::int64_t> auto& take) {
    static const Names kKnown = {"usd_day",   "usd_month",   "usd_total",
                                 "calls_day", "calls_month", "calls_total"};
    each_member(place, "amount", kKnown, [&](const std::string& name, const Place& value) {
        const bool is_usd = name.starts_with("usd_");
        const auto most = is_usd ? access::kMaxBudgetUsd : access::kMaxBudgetCalls;
        const auto amount = number_of(value, static_cast<double>(most));
        if (!amount) {
            return;
        }
        if (!is_usd && *amount != std::floor(*amount)) {
            value.fail("expected a whole number of calls");
            return;
        }
        for (const access::Period period : access::kEachPeriod) {
            if (name.ends_with(std::string("_").append(to_string(period)))) {
                take(period, is_usd,
                     is_usd ? access::to_micro_usd(*amount) : static_cast<std::int64_t>(*amount));
            }
        }
    });
}

// What was spent in a day was spent in its month, too.
SpentByPeriod read_spent(const Place& place) {
    SpentByPeriod spent{};
    read_amounts(place, [&](access::Period period, bool is_usd, std::int64_t amount) {
        for (std::size_t longer = index_of(period); longer < access::kPeriods; ++longer) {
            std::int64_t& sum = is_usd ? spent[longer].micro_usd : spent[longer].calls;
            sum = std::max(sum, amount);
        }
    });
    return spent;
}

std::map<std::string, SpentByPeriod> read_provider_spent(const Place& place) {
    std::map<std::string, SpentByPeriod> spent;
    each_member(place, "provider", web::provider_names(),
                [&](const std::string& name, const Place& value) {
                    spent.emplace(name, read_spent(value));
                });
    return spent;
}

void read_all_spent(const Place& place, PolicyGiven& given) {
    given.gateway_spent = {};
    given.caller_spent = {};
    given.spent.clear();
    each_member(place, "member", {"gateway", "caller", "providers"},
                [&](const std::string& name, const Place& value) {
                    if (name == "gateway") {
                        given.gateway_spent = read_spent(value);
                    } else if (name == "caller") {
                        given.caller_spent = read_spent(value);
                    } else {
                        given.spent = read_provider_spent(value);
                    }
                });
}

access::OwnLimits read_budget(const Place& place) {
    access::OwnLimits limits;
    read_amounts(place, [&](access::Period period, bool is_usd, std::int64_t amount) {
        (is_usd ? limits.micro_usd : limits.calls)[index_of(period)] = amount;
    });
    return limits;
}

access::Scopes read_scopes(const Place& place) {
    std::string list;
    for (const std::string& word : words_of(place, "scope", {"search", "status", "admin"})) {
        list += (list.empty() ? "" : ",") + word;
    }
    return access::Scopes::parse(list).value_or(access::Scopes());
}

PolicyCaller read_caller(const Place& place) {
    PolicyCaller caller;
    if (place.node.kind == Kind::kText) {
        caller.is_anonymous = word_of(place, "caller", {"anonymous"}) != nullptr;
        return caller;
    }
    each_member(place, "member", {"scopes", "budget"},
                [&](const std::string& name, const Place& value) {
                    if (name == "scopes") {
                        caller.scopes = read_scopes(value);
                    } else {
                        caller.budget = read_budget(value);
                    }
                });
    return caller;
}

void read_key_states(const Place& place, PolicyGiven& given) {
    static const Names kStates = {"cooling", "exhausted", "quarantined", "disabled"};
    given.resting.clear();
    given.disabled.clear();
    each_member(place, "provider", web::provider_names(),
                [&](const std::string& name, const Place& value) {
                    const std::string* const state = word_of(value, "state of a key", kStates);
                    if (state == nullptr) {
                        return;
                    }
                    if (*state == "disabled") {
                        given.disabled.push_back(name);
                        return;
                    }
                    for (const auto status : {web::KeyStatus::kCooling, web::KeyStatus::kExhausted,
                                              web::KeyStatus::kQuarantined}) {
                        if (to_string(status) == *state) {
                            given.resting.emplace(name, status);
                        }
                    }
                });
}

// Each member that is there takes the place of what `given` has.
void read_given(const Place& place, PolicyGiven& given) {
    each_member(place, "member", {"keys", "key_states", "open_circuits", "spent", "caller"},
                [&](const std::string& name, const Place& value) {
                    if (name == "keys") {
                        given.keys = words_of(value, "provider", web::provider_names());
                    } else if (name == "key_states") {
                        read_key_states(value, given);
                    } else if (name == "open_circuits") {
                        given.open_circuits = words_of(value, "provider", web::provider_names());
                    } else if (name == "spent") {
                        read_all_spent(value, given);
                    } else {
                        given.caller = read_caller(value);
                    }
                });
}

// Why a provider is passed over, as traces have it, and ours for one that no search looks at.
const Names& skip_words() {
    static const Names kWords = {to_string(web::Outcome::kSkippedCapability),
                                 to_string(web::Outcome::kSkippedCircuit),
                                 to_string(web::Outcome::kSkippedNoKey),
                                 to_string(web::Outcome::kSkippedBudget), kSwitchedOff};
    return kWords;
}

// What no search here can end with: nothing comes over HTTP, nobody is asked, and windows, rates,
// lanes and time have room.
constexpr std::array kNeverHere = {Code::kQueryRejected,
                                   Code::kNotFound,
                                   Code::kMethodNotAllowed,
                                   Code::kNotAcceptable,
                                   Code::kRequestTimeout,
                                   Code::kPayloadTooLarge,
                                   Code::kUriTooLong,
                                   Code::kHeadersTooLarge,
                                   Code::kUnsupportedMediaType,
                                   Code::kExpectationFailed,
                                   Code::kConflict,
                                   Code::kRateLimited,
                                   Code::kOverloaded,
                                   Code::kTimeout,
                                   Code::kCancelled,
                                   Code::kDeadlineExceeded,
                                   Code::kVersionNotSupported};

const Names& error_codes() {
    static const Names kCodes = [] {
        Names codes;
        for (const surface::ErrorRow& row : surface::all_error_rows()) {
            if (std::ranges::find(kNeverHere, row.code) == kNeverHere.end()) {
                codes.push_back(to_string(row.code));
            }
        }
        return codes;
    }();
    return kCodes;
}

// An expectation that could never hold is a mistake, not a policy that fails.
bool can_hold(const Place& place) {
    const bool is_never = place.node.kind == Kind::kText &&
                          std::ranges::find(kNeverHere, place.node.text, [](Code code) {
                              return to_string(code);
                          }) != kNeverHere.end();
    if (is_never) {
        place.fail("'" + place.node.text +
                   "' can't be expected: nobody is asked here, and windows, rates and lanes have "
                   "room; leave it out");
    }
    return !is_never;
}

std::optional<std::string> copied(const std::string* text) {
    return text == nullptr ? std::nullopt : std::optional(*text);
}

std::map<std::string, std::string> read_skips(const Place& place) {
    std::map<std::string, std::string> skips;
    each_member(place, "provider", web::provider_names(),
                [&](const std::string& name, const Place& value) {
                    if (!can_hold(value)) {
                        return;
                    }
                    if (const std::string* word = word_of(value, "reason", skip_words())) {
                        skips.emplace(name, *word);
                    }
                });
    return skips;
}

void read_one_expectation(const std::string& name, const Place& value, PolicyExpectation& expect) {
    const Names providers = web::provider_names();
    if (name == "asks") {
        expect.asks = words_of(value, "provider", providers);
    } else if (name == "first") {
        expect.first = copied(word_of(value, "provider", providers));
    } else if (name == "never") {
        expect.never = words_of(value, "provider", providers);
    } else if (name == "skips") {
        expect.skips = read_skips(value);
    } else if (name == "strategy") {
        expect.strategy = copied(word_of(value, "strategy", {"failover", "merge", "hedge"}));
    } else if (name == "max_usd") {
        if (const auto usd = number_of(value, static_cast<double>(access::kMaxBudgetUsd))) {
            expect.max_micro_usd = access::to_micro_usd(*usd);
        }
    } else if (can_hold(value)) {
        expect.refused = copied(word_of(value, "error code", error_codes()));
    }
}

void read_expectation(const Place& place, PolicyExpectation& expect) {
    each_member(place, "member",
                {"asks", "first", "never", "skips", "strategy", "max_usd", "refused"},
                [&](const std::string& name, const Place& value) {
                    read_one_expectation(name, value, expect);
                });
    if (place.node.kind == Kind::kMap && place.node.members.empty()) {
        place.fail("expected something, such as first: ...");
    }
    if (expect.refused && (expect.first || (expect.asks && !expect.asks->empty()))) {
        place.fail("a search that is refused asks nobody; leave out refused, or first and asks");
    }
}

// YAML reads 2024 as a number, and the gateway would turn the request away for that.
void check_texts(const Place& request) {
    const auto check = [](const Place& place) {
        if (place.node.kind == Kind::kText && !is_yaml_text(place.node)) {
            place.fail("expected a text; in quotes it is one: \"" + place.node.text + "\"");
        }
    };
    for (const YamlMember& member : request.node.members) {
        const auto fields = surface::search_fields();
        const auto field = std::ranges::find(fields, member.name, &surface::SearchField::name);
        if (field == fields.end()) {
            continue;
        }
        const Place value = request.at(member);
        if (field->type == surface::FieldType::kText) {
            check(value);
        } else if (field->type == surface::FieldType::kTextList) {
            for (std::size_t i = 0; i < value.node.items.size(); ++i) {
                check(value.at(i));
            }
        }
    }
}

// The state of a key that a provider does not have would say nothing.
void check_key_states(const Place& place, const PolicyGiven& given) {
    const auto check = [&](const std::string& provider) {
        if (given.keys && std::ranges::find(*given.keys, provider) == given.keys->end()) {
            place.fail(provider +
                       " has no key by `keys`, so its state says nothing; add it there, "
                       "or leave it out of key_states");
        }
    };
    for (const auto& [provider, unused] : given.resting) {
        check(provider);
    }
    std::ranges::for_each(given.disabled, check);
}

void read_name(const Place& place, Policy& policy) {
    const std::string* const name = text_of(place);
    if (name == nullptr) {
        return;
    }
    if (name->empty() || name->size() > kMaxPolicyNameBytes || has_control_characters(*name)) {
        place.fail("expected 1 to " + std::to_string(kMaxPolicyNameBytes) + " bytes in one line");
        return;
    }
    policy.name = *name;
}

// Otherwise it was checked where it is given for all.
bool sets_keys(const YamlNode& given) {
    return std::ranges::any_of(given.members, [](const YamlMember& member) {
        return member.name == "keys" || member.name == "key_states";
    });
}

Policy read_policy(const Place& place, const PolicyGiven& given) {
    Policy policy;
    policy.line = place.node.line;
    policy.given = given;
    each_member(place, "member", {"name", "request", "given", "expect"},
                [&](const std::string& name, const Place& value) {
                    if (name == "name") {
                        read_name(value, policy);
                    } else if (name == "given") {
                        read_given(value, policy.given);
                        if (sets_keys(value.node)) {
                            check_key_states(value, policy.given);
                        }
                    } else if (name == "expect") {
                        read_expectation(value, policy.expect);
                    } else if (value.node.kind != Kind::kMap) {
                        value.fail("expected members, such as query: ...");
                    } else {
                        check_texts(value);
                        policy.request = yaml_to_json(value.node);
                    }
                });
    if (place.node.kind != Kind::kMap) {
        return policy;
    }
    for (const std::string_view needed : {"name", "request", "expect"}) {
        if (std::ranges::find(place.node.members, needed, &YamlMember::name) ==
            place.node.members.end()) {
            place.fail("has no " + std::string(needed));
        }
    }
    return policy;
}

void read_list(const Place& place, const PolicyGiven& given, PolicyFile& file) {
    if (place.node.kind != Kind::kList || place.node.items.empty()) {
        place.fail("expected a list of policies");
        return;
    }
    if (place.node.items.size() > kMaxPolicies) {
        place.fail("expected at most " + std::to_string(kMaxPolicies));
        return;
    }
    for (std::size_t i = 0; i < place.node.items.size(); ++i) {
        Policy policy = read_policy(place.at(i), given);
        for (const Policy& other : file.policies) {
            if (!policy.name.empty() && other.name == policy.name) {
                place.at(i).fail("the policy on line " + std::to_string(other.line) +
                                 " has the same name");
            }
        }
        file.policies.push_back(std::move(policy));
    }
}

}  // namespace

PolicyFile read_policies(std::string_view text) {
    PolicyFile file;
    Errors errors(file.errors);
    std::vector<YamlError> mistakes;
    const YamlNode root = parse_yaml(text, mistakes);
    for (const YamlError& mistake : mistakes) {
        errors.add(mistake.line, {}, mistake.message);
    }
    if (errors.any()) {
        return file;
    }
    const Place top{root, {}, errors};
    if (root.kind == Kind::kNull) {
        top.fail("the file is empty; expected policies: and a list of them");
        return file;
    }
    // What is given for all of them may stand behind them.
    PolicyGiven given;
    const YamlMember* list = nullptr;
    each_member(top, "member", {"policies", "given"},
                [&](const std::string& name, const Place& value) {
                    if (name == "given") {
                        read_given(value, given);
                        check_key_states(value, given);
                        return;
                    }
                    list = &*std::ranges::find(root.members, name, &YamlMember::name);
                });
    if (list != nullptr) {
        read_list(top.at(*list), given, file);
    } else if (!errors.any()) {
        top.fail("has no policies");
    }
    return file;
}

}  // namespace sluice::app
